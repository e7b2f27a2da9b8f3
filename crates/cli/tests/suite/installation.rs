//! What has no counterpart in Flux: installing in two ways, twice, over others, and looking whether
//! a cluster is ready to join.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::world::{What, World};

struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

fn sluice(world: &World, line: &str) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_sluice"))
        .args(line.split_whitespace())
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .env("KUBECONFIG", world.kubeconfig())
        .output()
        .expect("sluice starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

fn installed() -> World {
    World::start(&What { installed: true, ..What::default() })
}

#[test]
fn controllers_without_a_cluster_say_so_and_wait() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_sluice"))
        .args(["serve", "--kubeconfig", "tests/own/unreachable.yaml"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::piped())
        .spawn()
        .expect("sluice starts");
    let lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    let told = lines.map_while(Result::ok).find(|line| line.contains("does not answer"));
    child.kill().expect("it still runs");
    child.wait().expect("it ends");
    let told: Value = serde_json::from_str(&told.expect("it is told")).expect("lines are JSON");
    let why = "failed to get server groups: Get \"https://127.0.0.1:1/api\": dial tcp 127.0.0.1:1: connect: connection refused";
    assert_eq!((&told["level"], &told["error"]), (&"error".into(), &why.into()));
}

#[test]
fn a_second_installation_changes_nothing_and_another_profile_is_another() {
    let world = installed();
    let again = sluice(&world, "install");
    assert_eq!(again.code, Some(0), "{}", again.err);
    let changed: Vec<&str> = again.err.lines().filter(|it| it.contains('/')).collect();
    assert!(changed.len() > 30, "{}", again.err);
    assert!(changed.iter().all(|line| line.ends_with(" unchanged")), "{}", again.err);
    let single = sluice(&world, "install --profile single --network-policy=false");
    assert_eq!(single.code, Some(0), "{}", single.err);
    assert!(single.err.contains("Deployment/flux-system/sluice created"), "{}", single.err);
    assert!(single.err.contains("✔ sluice: deployment ready"), "{}", single.err);
}

/// An administrator that was installed does not outlive `--lockdown`.
#[test]
fn a_lockdown_takes_back_what_was_installed_without_it() {
    let world = installed();
    let locked = sluice(&world, "install --lockdown");
    assert_eq!(locked.code, Some(0), "{}", locked.err);
    let gone = "ClusterRoleBinding/cluster-reconciler-flux-system deleted";
    assert!(locked.err.contains(gone), "{}", locked.err);
    let again = sluice(&world, "install --lockdown");
    assert!(!again.err.contains(" deleted"), "{}", again.err);
}

#[test]
fn what_cannot_be_installed_is_refused_in_words() {
    let world = World::start(&What::default());
    for (line, told) in [
        ("install --components helm-controller", "✗ component helm-controller is not available"),
        ("install --components no-controller", "✗ component no-controller is not available"),
        ("install -n Flux", "✗ namespace must be a valid DNS label"),
    ] {
        let ran = sluice(&world, line);
        assert_eq!(ran.code, Some(1), "{line}");
        assert!(ran.err.starts_with(told), "{line}: {}", ran.err);
    }
}

/// The rows of `check --cluster`: area, object, found.
fn rows(ran: &Ran) -> Vec<String> {
    let told: Value = serde_json::from_str(&ran.out).expect("findings are JSON");
    let text = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
    let row = |row: &Value| {
        format!("{} {} {}", text(row, "area"), text(row, "object"), text(row, "found"))
    };
    told["findings"].as_array().expect("findings are a list").iter().map(row).collect()
}

#[test]
fn a_cluster_that_is_not_ready_to_join_is_told_why() {
    let world = installed();
    let ran = sluice(&world, "check --cluster examples/four-layers/clusters/demo -o json");
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let rows = rows(&ran);
    for row in [
        "controller source-controller ok",
        "controller kustomize-controller ok",
        "definition Kustomization ok",
        "source GitRepository/flux-system/flux-system not ok",
        "config ConfigMap/flux-system/cluster-settings ok",
        "dependency Kustomization/flux-system/services ok",
        "route Ingress/shop/web ok",
        "reconcile Kustomization/flux-system/shop not ok",
    ] {
        assert!(rows.iter().any(|found| found == row), "{row}: {}", ran.out);
    }
    let table = sluice(&world, "check --cluster examples/four-layers/clusters/demo");
    assert!(table.out.starts_with("AREA"), "{}", table.out);
    assert_eq!(table.code, Some(1));
    let nowhere = sluice(&world, "check --cluster examples/four-layers/services");
    assert_eq!(nowhere.code, Some(2), "{}", nowhere.err);
    assert!(nowhere.err.starts_with("error: no Kustomization of Flux in "), "{}", nowhere.err);
}
