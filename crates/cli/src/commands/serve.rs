//! `sluice serve`: the controllers, against whatever cluster the kubeconfig or the pod's account reaches.

mod applying;

use std::collections::BTreeSet;
use std::future::Future;
use std::hash::{BuildHasher as _, Hasher as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use http::header::USER_AGENT;
use jiff::Timestamp;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::Value;
use sluice_base::clock::Clock;
use sluice_base::duration::GoDuration;
use sluice_controllers::artifacts::Served;
use sluice_controllers::compute::Compute;
use sluice_controllers::context::Settings;
use sluice_controllers::drift::DriftMode;
use sluice_controllers::outside::{Nobody, Outside, Reachable, Web};
use sluice_controllers::run::{Controller, World, run as run_controllers};
use sluice_controllers::sourcing::Workshop;
use sluice_runtime::events::Notify;
use sluice_source::git::{GitLimits, GitTransport, Network, SshOptions};
use sluice_source::http::{HttpClients, HttpOptions};
use sluice_source::oci::NetworkWire;
use sluice_source::server::ArtifactServer;
use sluice_source::store::{ArtifactStore, DiskStore, Retention};
use tokio_util::sync::CancellationToken;

use super::cluster::stopped;
use crate::log::JsonLines;
use crate::outcome::{Failure, Outcome};
use applying::Applying;

/// A server of artifacts at work.
type Serving = Pin<Box<dyn Future<Output = ()> + Send>>;

/// How long telling the notification receiver may take.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(5);

/// The flags, named as Flux names them.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Which controllers run, by Flux's names.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "NAMES",
        default_value = "source-controller,kustomize-controller"
    )]
    controllers: Vec<String>,
    /// The kubeconfig; without it KUBECONFIG, ~/.kube/config or the pod's own account.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Where artifacts are kept.
    #[arg(long, value_name = "DIRECTORY")]
    storage_path: Option<PathBuf>,
    /// Where artifacts are served; a loopback port outside a cluster, port 9090 inside one.
    #[arg(long, value_name = "ADDRESS")]
    storage_addr: Option<SocketAddr>,
    /// The host, with its port if need be, that artifact addresses name.
    #[arg(long, value_name = "HOST")]
    storage_adv_addr: Option<String>,
    /// The notification receiver that events are posted to.
    #[arg(long, value_name = "URL")]
    events_addr: Option<String>,
    /// How many objects of a kind are worked on at a time.
    #[arg(long, default_value_t = 4)]
    concurrent: usize,
    /// Whether references across namespaces are refused.
    #[arg(long)]
    no_cross_namespace_refs: bool,
    /// The service account that Kustomizations without one act as.
    #[arg(long, value_name = "NAME")]
    default_service_account: Option<String>,
    /// When dependencies that are not ready are looked at again, if nothing wakes earlier.
    #[arg(long, default_value = "30s", value_name = "DURATION")]
    requeue_dependency: GoDuration,
    /// How far intervals are moved either way, in percent.
    #[arg(long, default_value_t = 5, value_name = "PERCENT")]
    interval_jitter_percentage: u8,
    /// What is done about changes in the cluster where no annotation says it: interval, warn or repair.
    #[arg(long, default_value = "interval", value_name = "MODE")]
    default_drift: DriftMode,
    /// How long old artifacts stay.
    #[arg(long, default_value = "60s", value_name = "DURATION")]
    artifact_retention_ttl: GoDuration,
    /// How many old artifacts stay at most.
    #[arg(long, default_value_t = 2, value_name = "NUMBER")]
    artifact_retention_records: usize,
    #[command(flatten)]
    applying: Applying,
    /// What is logged: error, info, debug or trace.
    #[arg(long, default_value = "info", value_name = "LEVEL")]
    log_level: tracing::Level,
}

/// Runs `sluice serve`.
pub(crate) fn run(arguments: Arguments) -> Result<Outcome, Failure> {
    let subscriber = JsonLines::new(arguments.log_level);
    tracing::subscriber::set_global_default(subscriber)
        .map_err(|error| Failure::caused("cannot log", error))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::caused("cannot start the runtime", error))?;
    runtime.block_on(serve(arguments))
}

async fn serve(wanted: Arguments) -> Result<Outcome, Failure> {
    let controllers = controllers(&wanted.controllers)?;
    let client = client(wanted.kubeconfig.as_deref()).await?;
    let clock: Arc<dyn Clock> = Arc::new(Wall);
    let root = wanted.storage_path.unwrap_or_else(|| std::env::temp_dir().join("sluice-artifacts"));
    let store: Arc<dyn ArtifactStore> = Arc::new(DiskStore::new(root, Arc::clone(&clock)));
    let in_cluster = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
    let address = wanted.storage_addr.unwrap_or(if in_cluster {
        SocketAddr::from((Ipv4Addr::UNSPECIFIED, 9090))
    } else {
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
    });
    // Who only applies serves no artifacts: another process does, and may have the port.
    let (bound, serving): (SocketAddr, Serving) = if controllers.contains(&Controller::Source) {
        let server = ArtifactServer::new(Arc::clone(&store));
        let (bound, serving) = server.listen(address).await.map_err(|error| {
            Failure::caused(format!("cannot serve artifacts on {address}"), error)
                .hint("choose another address with --storage-addr")
        })?;
        (bound, Box::pin(serving))
    } else {
        (address, Box::pin(std::future::pending()))
    };
    let advertised = wanted.storage_adv_addr.unwrap_or_else(|| advertised(bound));
    let http = HttpClients::new();
    let fetcher = http
        .client(&HttpOptions::default())
        .map_err(|error| Failure::caused("cannot make an HTTP client", error))?;
    let receiver = wanted.events_addr.filter(|address| !address.is_empty()).map(|address| {
        let receiver: Arc<dyn Notify> = Arc::new(Receiver { client: fetcher.clone(), address });
        receiver
    });
    let network: Arc<dyn GitTransport> =
        Arc::new(Network::new(http.clone(), SshOptions::default(), GitLimits::default()));
    let web =
        Web::new(&http).map_err(|error| Failure::caused("cannot make an HTTP client", error))?;
    let outside = Outside {
        git: Arc::clone(&network),
        web: Arc::new(web),
        identity: Arc::new(Nobody),
        clusters: Arc::new(Reachable),
    };
    let retention = Retention {
        ttl: wanted.artifact_retention_ttl.to_std(),
        records: wanted.artifact_retention_records,
    };
    let own = if advertised.contains("://") {
        format!("{}/", advertised.trim_end_matches('/'))
    } else {
        format!("http://{advertised}/")
    };
    let packed = Arc::new(Served { local: Arc::clone(&store), own, client: fetcher });
    let world = World {
        client,
        clock,
        chance: Arc::new(chance),
        compute: Compute::Threads,
        workshop: Workshop {
            artifacts: store,
            advertised,
            retention,
            transport: network,
            registries: Arc::new(NetworkWire::new(http.clone())),
            http,
        },
        packed,
        outside,
        settings: Settings {
            no_cross_namespace_refs: wanted.no_cross_namespace_refs,
            default_service_account: wanted.default_service_account,
            requeue_dependency: wanted.requeue_dependency.to_std(),
            interval_jitter: wanted.interval_jitter_percentage,
            drift: wanted.default_drift,
            ..wanted.applying.settings()
        },
        receiver,
        instance: std::env::var("HOSTNAME").unwrap_or_else(|_| "sluice".to_owned()),
        concurrent: wanted.concurrent,
        controllers,
    };
    tracing::info!(storage = %bound, "serving");
    let stop = CancellationToken::new();
    let controllers = run_controllers(world, stop.clone());
    let stopping = async {
        stopped().await;
        tracing::info!("stopping");
        stop.cancel();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        biased;
        () = controllers => {}
        () = serving => {}
        () = stopping => {}
    }
    Ok(Outcome::Fine)
}

fn controllers(names: &[String]) -> Result<BTreeSet<Controller>, Failure> {
    let known = |name: &String| {
        let found = Controller::ALL.into_iter().find(|controller| controller.name() == name);
        found.ok_or_else(|| {
            let all: Vec<&str> =
                Controller::ALL.iter().map(|controller| controller.name()).collect();
            Failure::new(format!("there is no controller {name:?}"))
                .hint(format!("choose among {}", all.join(", ")))
        })
    };
    names.iter().map(known).collect()
}

async fn client(kubeconfig: Option<&std::path::Path>) -> Result<Client, Failure> {
    let mut config = match kubeconfig {
        Some(path) => {
            let failed = |error| {
                Failure::caused(format!("cannot read the kubeconfig {}", path.display()), error)
            };
            let read = Kubeconfig::read_from(path).map_err(failed)?;
            Config::from_custom_kubeconfig(read, &KubeConfigOptions::default())
                .await
                .map_err(failed)?
        }
        None => Config::infer().await.map_err(|error| {
            Failure::caused("no cluster is known", error)
                .hint("name a kubeconfig with --kubeconfig or in KUBECONFIG")
        })?,
    };
    // The API server's audit log tells by this who asked.
    let agent = HeaderValue::from_static(concat!("sluice/", env!("CARGO_PKG_VERSION")));
    config.headers.push((USER_AGENT, agent));
    Client::try_from(config).map_err(|error| Failure::caused("cannot reach the cluster", error))
}

/// The address that artifacts name: that of the pod's service account, or the loopback one.
fn advertised(bound: SocketAddr) -> String {
    let host = match bound.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => {
            std::env::var("HOSTNAME").unwrap_or_else(|_| Ipv4Addr::LOCALHOST.to_string())
        }
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    };
    format!("{host}:{}", bound.port())
}

/// The time of this machine.
pub(super) struct Wall;

impl Clock for Wall {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// Between 0 and 1; good enough to keep objects from coming all at once.
fn chance() -> f64 {
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    f64::from(u32::try_from(random >> 32).unwrap_or_default()) / f64::from(u32::MAX)
}

/// The notification receiver.
struct Receiver {
    client: reqwest::Client,
    address: String,
}

impl Notify for Receiver {
    fn post(
        &self,
        payload: Value,
    ) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>> {
        Box::pin(async move {
            let request = self
                .client
                .post(&self.address)
                .header("content-type", "application/json")
                .timeout(NOTIFY_TIMEOUT)
                .body(payload.to_string());
            let answer = request.send().await.and_then(reqwest::Response::error_for_status);
            answer.map(drop).map_err(|error| error.to_string())
        })
    }
}
