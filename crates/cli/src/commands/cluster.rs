//! `sluice cluster`: the embedded cluster on a loopback port.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Subcommand;
use jiff::Timestamp;
use sluice_cluster::Cluster;

use crate::outcome::{Failure, Outcome};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serves a fresh cluster until it is stopped.
    ///
    /// It is bare Kubernetes: no custom resources, nothing installed. Nodes and workloads are
    /// simulated. One line on stdout says that it is ready.
    Serve(Serve),
}

#[derive(Debug, clap::Args)]
struct Serve {
    /// Where to listen; a loopback address, port 0 takes a free one.
    #[arg(long, value_name = "A", default_value = "127.0.0.1:0")]
    addr: SocketAddr,
    /// The kubeconfig to write; whoever reads it is administrator.
    #[arg(long, value_name = "F")]
    kubeconfig: PathBuf,
    /// The source of all chance in the cluster: uids, names, delays.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How much faster than in life simulated delays pass.
    #[arg(long, default_value_t = 1.0)]
    speed: f64,
    /// Whether the simulated nodes run pods; without them pods stay pending.
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    workloads: bool,
}

/// Runs `sluice cluster`.
pub(crate) fn run(arguments: Arguments) -> Result<Outcome, Failure> {
    let Command::Serve(wanted) = arguments.command;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::caused("cannot start the runtime", error))?;
    runtime.block_on(serve(wanted))
}

async fn serve(wanted: Serve) -> Result<Outcome, Failure> {
    let cluster = Cluster::builder()
        .seed(wanted.seed)
        .epoch(Timestamp::now())
        .private_keys()
        .speed(wanted.speed)
        .workloads(wanted.workloads)
        .build();
    let served = cluster.listen(wanted.addr).await.map_err(|error| {
        Failure::caused("cannot serve the cluster", error)
            .hint("choose another address with --addr 127.0.0.1:0")
    })?;
    let path = wanted.kubeconfig.display().to_string();
    let kubeconfig = sluice_yaml::from_json(served.kubeconfig());
    write_private(&wanted.kubeconfig, &kubeconfig)
        .map_err(|error| Failure::caused(format!("cannot write the kubeconfig {path}"), error))?;
    let ready = format!("ready https://{} kubeconfig {path}", served.address());
    writeln!(std::io::stdout(), "{ready}")
        .map_err(|error| Failure::caused("cannot write to stdout", error))?;
    tokio::select! {
        biased;
        () = stopped() => {}
        () = served.run() => {}
    }
    Ok(Outcome::Fine)
}

/// Writes a file that only its owner can read: it holds an administrator's token.
pub(super) fn write_private(path: &std::path::Path, text: &str) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}

/// Waits for Ctrl-C or, on Unix, a polite kill.
pub(super) async fn stopped() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminated) = signal(SignalKind::terminate()) {
            tokio::select! {
                biased;
                _ = tokio::signal::ctrl_c() => {}
                _ = terminated.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}
