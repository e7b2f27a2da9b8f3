//! What stays of the demo with `--keep`: the cluster, the repository and the artifacts, each on a
//! loopback port, and the controllers, in real time.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use jiff::Timestamp;
use sluice_base::clock::Clock;
use sluice_source::git::{GitServer, MemoryTransport};
use sluice_source::server::ArtifactServer;
use sluice_source::store::{ArtifactStore, MemoryStore};

use super::stage::Stage;
use crate::commands::cluster::write_private;
use crate::outcome::Failure;
use crate::screen::{Screen, Tone};
use crate::signals::Signals;

const FREE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Ports that are named in objects of the story, so they are taken before it begins. Nobody
/// answers there until it is over.
pub(super) struct Ports {
    pub(super) git: MemoryTransport,
    pub(super) git_address: SocketAddr,
    pub(super) artifacts_address: SocketAddr,
    pub(super) store: Arc<dyn ArtifactStore>,
    git_server: BoxFuture<'static, ()>,
    artifact_server: BoxFuture<'static, ()>,
}

impl Ports {
    /// Takes free ports.
    pub(super) async fn open(clock: Arc<dyn Clock>) -> Result<Self, Failure> {
        let failed = |error| Failure::caused("cannot open a loopback port", error);
        let git = MemoryTransport::default();
        let (git_address, git_server) =
            GitServer::new(git.clone()).listen(FREE).await.map_err(failed)?;
        let store: Arc<dyn ArtifactStore> = Arc::new(MemoryStore::new(clock));
        let (artifacts_address, artifact_server) =
            ArtifactServer::new(Arc::clone(&store)).listen(FREE).await.map_err(failed)?;
        Ok(Self {
            git,
            git_address,
            artifacts_address,
            store,
            git_server: git_server.boxed(),
            artifact_server: artifact_server.boxed(),
        })
    }
}

/// Serves everything until it is stopped.
pub(super) async fn serve(
    mut stage: Stage,
    ports: Ports,
    kubeconfig: Option<&Path>,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let behind = Timestamp::now().duration_since(stage.clock.now());
    // The story happened in the recent past; from now on the cluster's time is everybody's.
    tokio::time::advance(Duration::try_from(behind).unwrap_or_default()).await;
    tokio::time::resume();
    let served = stage
        .cluster
        .listen(FREE)
        .await
        .map_err(|error| Failure::caused("cannot serve the cluster", error))?;
    let path = kubeconfig.map_or_else(default_kubeconfig, Path::to_owned);
    write_private(&path, &sluice_yaml::from_json(served.kubeconfig())).map_err(|error| {
        Failure::caused(format!("cannot write the kubeconfig {}", path.display()), error)
    })?;
    screen.line("");
    screen.line("  The cluster and the controllers go on. Look around:");
    for (command, what) in [
        (format!("export KUBECONFIG={}", path.display()), ""),
        ("kubectl get pods -A".to_owned(), "pods are simulated, the API is not"),
        ("flux get all".to_owned(), "the objects are Flux's"),
        ("flux tree kustomization flux-system".to_owned(), "all that was applied, by whom"),
        (format!("git clone {}", stage.url), "the repository"),
    ] {
        let line = format!("    {command:<43} {}", screen.tone(Tone::Faint, what));
        screen.line(line.trim_end());
    }
    screen.line("  Stop it with Ctrl-C; nothing stays behind.");
    let mut signals = Signals::listen();
    tokio::select! {
        biased;
        () = signals.next() => {}
        () = served.run() => {}
        () = ports.git_server => {}
        () = ports.artifact_server => {}
    }
    tokio::select! {
        biased;
        () = stage.stop() => {}
        () = signals.next() => {}
    }
    // It opens nothing any more.
    let _ = std::fs::remove_file(&path);
    Ok(())
}

fn default_kubeconfig() -> PathBuf {
    std::env::temp_dir().join(format!("sluice-demo-{}.kubeconfig", std::process::id()))
}
