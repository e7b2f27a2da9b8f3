//! `sluice cluster`: the embedded cluster on a loopback port.

mod audit_log;

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Subcommand;
use jiff::Timestamp;
use sluice_cluster::Cluster;

use crate::outcome::{Failure, Outcome};
use crate::signals::Signals;
use audit_log::AuditLog;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serves a fresh embedded cluster until it is stopped.
    ///
    /// It is plain Kubernetes: no custom resources, nothing installed. Nodes and workloads are simulated. It prints
    /// one line on stdout when it is ready.
    Serve(Serve),
}

#[derive(Debug, clap::Args)]
struct Serve {
    /// The address to listen on: a loopback address; port 0 takes a free port.
    #[arg(long, value_name = "A", default_value = "127.0.0.1:0")]
    addr: SocketAddr,
    /// The kubeconfig to write; it has the administrator's token.
    #[arg(long, value_name = "F")]
    kubeconfig: PathBuf,
    /// The seed of uids, names and delays.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The factor by which simulated delays are shorter than real ones.
    #[arg(long, default_value_t = 1.0)]
    speed: f64,
    /// Whether the simulated nodes run pods; without them pods stay pending.
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    workloads: bool,
    /// Writes an audit.k8s.io/v1 event for each request to this file, one line of JSON each; - is stdout.
    #[arg(long, value_name = "F")]
    audit_log: Option<PathBuf>,
    /// MiB after which the audit log is rotated.
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    audit_log_maxsize: u64,
    /// The number of rotated audit logs that are kept.
    #[arg(long, default_value_t = 3, value_name = "N")]
    audit_log_maxbackup: usize,
}

/// Runs `sluice cluster`.
pub(crate) fn run(arguments: Arguments) -> Result<Outcome, Failure> {
    let Command::Serve(wanted) = arguments.command;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::caused("cannot start the runtime", error))?;
    let outcome = runtime.block_on(serve(wanted));
    runtime.shutdown_background();
    outcome
}

async fn serve(wanted: Serve) -> Result<Outcome, Failure> {
    let mut builder = Cluster::builder()
        .seed(wanted.seed)
        .epoch(Timestamp::now())
        .private_keys()
        .speed(wanted.speed)
        .workloads(wanted.workloads);
    if let Some(path) = &wanted.audit_log {
        let limit = wanted.audit_log_maxsize.saturating_mul(1024 * 1024);
        let log = AuditLog::open(path, limit, wanted.audit_log_maxbackup).map_err(|error| {
            Failure::caused(format!("cannot write the audit log {}", path.display()), error)
        })?;
        builder = builder.audit(Arc::new(log));
    }
    let cluster = builder.build();
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
    let mut signals = Signals::listen();
    tokio::select! {
        biased;
        () = signals.next() => {}
        () = served.run() => {}
    }
    Ok(Outcome::Fine)
}

/// Writes a file that only its owner can read: it has an administrator's token. It is created anew and renamed, because
/// an existing file would keep its open readers, and a link would lead elsewhere.
pub(super) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let is_special =
        std::fs::symlink_metadata(path).is_ok_and(|found| !found.is_file() && !found.is_symlink());
    if is_special {
        // A pipe or a terminal is written directly.
        return std::fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes());
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{:016x}", RandomState::new().build_hasher().finish()));
    let beside = PathBuf::from(beside);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options
        .open(&beside)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        // A partial file is of no use.
        let _ = std::fs::remove_file(&beside);
    }
    written
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use super::*;

    /// Another user of the machine can neither read the token nor redirect it by creating the file first.
    #[test]
    fn a_kubeconfig_is_never_written_into_what_was_there() {
        let directory = tempfile::tempdir().unwrap();
        let [open, link, victim] =
            ["open", "link", "victim"].map(|name| directory.path().join(name));
        std::fs::write(&open, "old").unwrap();
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o666)).unwrap();
        let mut reader = std::fs::File::open(&open).unwrap();
        std::fs::write(&victim, "mine").unwrap();
        symlink(&victim, &link).unwrap();
        for path in [&open, &link, &directory.path().join("new")] {
            write_private(path, "token").unwrap();
            let found = std::fs::symlink_metadata(path).unwrap();
            assert!(found.is_file(), "{}", path.display());
            assert_eq!(found.mode() & 0o777, 0o600, "{}", path.display());
            assert_eq!(std::fs::read_to_string(path).unwrap(), "token");
        }
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "mine");
        assert_eq!(io::read_to_string(&mut reader).unwrap(), "old");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 4);
    }
}
