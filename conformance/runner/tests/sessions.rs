//! `kubectl` prints the same on the embedded server as it did on the real one.

use std::path::{Path, PathBuf};

use sluice_cluster::Cluster;
use sluice_conformance::{KnownDifferences, session};

/// Where `peers/build` puts the real programs.
fn kubectl() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache");
    let cache = || std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from);
    let peers = std::env::var_os("SLUICE_PEERS")
        .map_or_else(|| cache().join("sluice-peers"), PathBuf::from);
    peers.join("bin/kubectl")
}

#[expect(clippy::print_stdout, reason = "a skipped comparison says so")]
async fn prints_the_same(name: &str, workloads: bool) {
    let kubectl = kubectl();
    if !kubectl.exists() {
        println!("skipped: no {}", kubectl.display());
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let known = KnownDifferences::read(&folder.join("known-differences.txt")).expect("the list");
    let golden = folder.join(format!("goldens/1.35.4/kubectl/{name}.txt"));
    let real = session::parse(&std::fs::read_to_string(golden).expect("a golden"));
    let scratch = tempfile::tempdir().expect("a folder");
    let cluster = Cluster::builder()
        .seed(7)
        .epoch(jiff::Timestamp::now())
        .workloads(workloads)
        .rollouts(workloads)
        .build();
    let served = cluster.listen(([127, 0, 0, 1], 0).into()).await.expect("a port");
    let kubeconfig = scratch.path().join("config");
    std::fs::write(&kubeconfig, served.kubeconfig().to_string()).expect("a kubeconfig");
    let serving = tokio::spawn(served.run());
    let sessions = folder.join("kubectl");
    let file = sessions.join(format!("{name}.session"));
    let run = move || session::run(&file, &sessions, &kubectl, &kubeconfig);
    let ours = tokio::task::spawn_blocking(run).await.expect("it ends").expect("it runs");
    serving.abort();
    assert_eq!(real.len(), ours.len(), "the session was edited after it was recorded");
    let mut wrong = String::new();
    for (real, ours) in real.iter().zip(&ours) {
        let listed = known.allows(&format!("kubectl/{name}"), &real.command);
        if (real == ours) == listed {
            let lines = session::difference(&real.printed, &ours.printed).join("\n  ");
            wrong.extend([
                "$ ",
                &real.command,
                if listed { " (listed)" } else { "" },
                "\n  ",
                &lines,
                "\n",
            ]);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_without_running_pods_prints_the_same() {
    prints_the_same("plain", false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_rollouts_prints_the_same() {
    prints_the_same("rollout", true).await;
}
