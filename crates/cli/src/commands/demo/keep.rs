//! The demo with `--keep`: the sandbox on its loopback ports, and the controllers, in real time.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use sluice_sandbox::Ports;

use super::stage::Stage;
use crate::commands::cluster::write_private;
use crate::outcome::Failure;
use crate::screen::{Screen, Tone};
use crate::signals::Signals;

/// Serves everything until it is stopped.
pub(super) async fn serve(
    mut stage: Stage,
    ports: Ports,
    kubeconfig: Option<&Path>,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let behind = Timestamp::now().duration_since(stage.now());
    // The story happened in the recent past; from here on the cluster's time is the real one.
    tokio::time::advance(Duration::try_from(behind).unwrap_or_default()).await;
    tokio::time::resume();
    let path = kubeconfig.map_or_else(default_kubeconfig, Path::to_owned);
    write_private(&path, &sluice_yaml::from_json(ports.kubeconfig())).map_err(|error| {
        Failure::caused(format!("cannot write the kubeconfig {}", path.display()), error)
    })?;
    screen.line("");
    screen.line("  The cluster and the controllers go on. Look around:");
    for (command, what) in [
        (format!("export KUBECONFIG={}", path.display()), ""),
        ("kubectl get pods -A".to_owned(), "pods are simulated, the API is not"),
        ("flux get all".to_owned(), "the objects are Flux's"),
        ("flux tree kustomization flux-system".to_owned(), "all that was applied, by whom"),
        (format!("git clone {}", stage.url()), "the repository"),
    ] {
        let line = format!("    {command:<43} {}", screen.tone(Tone::Faint, what));
        screen.line(line.trim_end());
    }
    screen.line("  Stop it with Ctrl-C; nothing stays behind.");
    let mut signals = Signals::listen();
    tokio::select! {
        biased;
        () = signals.next() => {}
        () = ports.run() => {}
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
