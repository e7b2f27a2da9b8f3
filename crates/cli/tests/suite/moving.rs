//! `sluice move`, from the plan to the end, stopped in the middle, and given up.

use std::process::{Command, Output};

use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::world::{What, World};

fn cluster() -> World {
    World::start(&What { cluster: Some("moving".to_owned()), ..What::default() })
}

fn sluice(world: &World, words: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
    command.args(words).env("KUBECONFIG", world.kubeconfig()).env("HOME", world.home());
    let Output { status, stdout, stderr } = command.output().expect("the program runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it writes text");
    (status.code().unwrap_or(-1), text(stdout), text(stderr))
}

/// `move configmap/x --from ks/old --to ks/new`, with more words.
fn moving(world: &World, more: &[&str]) -> (i32, String, String) {
    let words = ["move", "configmap/x", "--from", "ks/old", "--to", "ks/new", "-n", "apps"];
    let words: Vec<&str> = words.into_iter().chain(more.iter().copied()).collect();
    sluice(world, &words)
}

fn api(client: &Client, group: &str, kind: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk(group, "v1", kind);
    Api::namespaced_with(client.clone(), "apps", &ApiResource::from_gvk(&kind))
}

/// What a controller would write: who has the object.
fn holds(world: &World, name: &str, is: bool) {
    let entries = if is { json!([{"id": "apps_x__ConfigMap", "v": "v1"}]) } else { json!([]) };
    let patch = json!({"status": {"inventory": {"entries": entries}}});
    world.run(async |client| {
        let api = api(client, "kustomize.toolkit.fluxcd.io", "Kustomization");
        let params = PatchParams::default();
        api.patch_status(name, &params, &Patch::Merge(patch)).await.expect("a status")
    });
}

fn label(world: &World, owner: &str) {
    let labels = json!({"kustomize.toolkit.fluxcd.io/name": owner});
    let patch = json!({"metadata": {"labels": labels}});
    world.run(async |client| {
        let params = PatchParams::default();
        api(client, "", "ConfigMap").patch("x", &params, &Patch::Merge(patch)).await.expect("x")
    });
}

fn marks(world: &World) -> Value {
    let found = world.run(async |client| api(client, "", "ConfigMap").get("x").await.expect("x"));
    json!(found.metadata.annotations)
}

const MARKED: &str =
    r#"{"kustomize.toolkit.fluxcd.io/prune":"disabled","sluice.dev/move":"apps/old -> apps/new"}"#;

#[test]
fn a_move_is_planned_stopped_gone_on_with_and_verified() {
    let world = cluster();
    let (code, plan, _) = moving(&world, &["--dry-run"]);
    assert_eq!(code, 0);
    assert_eq!(
        plan,
        "ConfigMap/apps/x from apps/old to apps/new
  1  open  mark it, so that it is not pruned
  2  open  take it out of ./old in GitRepository/platform (apps/old), by a commit
  3  open  put it into ./new in GitRepository/platform (apps/new), by a commit
  4  open  check that it is the same object, and take the mark away
"
    );
    assert_eq!(marks(&world), Value::Null, "a plan changes nothing");

    let (code, _, told) = moving(&world, &["--timeout", "1s"]);
    assert_eq!(code, 1, "{told}");
    assert!(told.contains("✔ ConfigMap/apps/x is marked: it will not be pruned"), "{told}");
    assert!(told.contains("◎ commit: put it into ./new in GitRepository/platform"), "{told}");
    assert!(told.contains("run the same command again"), "{told}");
    assert_eq!(marks(&world).to_string(), MARKED);

    holds(&world, "old", false);
    let (code, _, told) = moving(&world, &["--abort"]);
    assert_eq!(code, 2, "nobody would have it: {told}");
    assert_eq!(marks(&world).to_string(), MARKED);
    let (code, plan, _) = moving(&world, &["--dry-run"]);
    assert_eq!((code, plan.matches("done").count()), (0, 2), "{plan}");

    holds(&world, "new", true);
    label(&world, "new");
    let (code, _, told) = moving(&world, &["--timeout", "5s"]);
    assert_eq!(code, 0, "{told}");
    assert!(told.contains("✔ ConfigMap/apps/x is moved from apps/old to apps/new"), "{told}");
    assert_eq!(marks(&world), Value::Null);
    let (code, _, told) = moving(&world, &[]);
    assert_eq!(code, 0, "once more does nothing: {told}");
    assert!(told.contains("is where it belongs already"), "{told}");
}

#[test]
fn a_move_can_be_given_up_and_what_cannot_be_moved_is_said() {
    let world = cluster();
    let (code, _, _) = moving(&world, &["--timeout", "1s"]);
    assert_eq!(code, 1);
    let (code, _, told) = moving(&world, &["--abort"]);
    assert_eq!((code, marks(&world)), (0, Value::Null), "{told}");
    let cases = [
        (
            ["configmap/foreign", "ks/old", "ks/new"],
            "error: ConfigMap/apps/foreign is nobody's, not of Kustomization apps/old",
        ),
        (["configmap/none", "ks/old", "ks/new"], "error: ConfigMap/apps/none not found"),
        (["configmap/x", "ks/old", "ks/none"], "error: Kustomization apps/none not found"),
        (
            ["configmap/x", "ks/old", "ks/old"],
            "error: Kustomization apps/old is both where it moves from and where it moves to",
        ),
        (["x", "ks/old", "ks/new"], "error: \"x\" is no object"),
        (["configmap/x", "hr/old", "ks/new"], "error: \"hr/old\" is no Kustomization"),
    ];
    for ([object, from, to], expected) in cases {
        let (code, _, told) =
            sluice(&world, &["move", object, "--from", from, "--to", to, "-n", "apps"]);
        assert_eq!((code, told.lines().next()), (2, Some(expected)));
    }
}
