//! Two sources of one repository: what moves between their Kustomizations is not deleted, whichever is
//! fetched first, and nobody waits for ever for a source that does not fetch.

use std::time::Duration;

use serde_json::{Value, json};
use sluice_base::fault::Fault;

use crate::ground::{
    Ground, URL, config_map, config_map_file, kustomization, namespace, repository_with, said,
};

/// The same repository under another address.
const ALIAS: &str = "https://git.test/platform.git";

fn files(x: &'static str) -> Vec<(&'static str, String)> {
    let mut files =
        vec![("old/a.yaml", config_map_file("a", "1")), ("new/b.yaml", config_map_file("b", "1"))];
    match x {
        "old" => files.push(("old/x.yaml", config_map_file("x", "old"))),
        "new" => files.push(("new/x.yaml", config_map_file("x", "new"))),
        _ => {}
    }
    files
}

/// Commits to both addresses; they are one repository, so the commit is the same.
fn commit(ground: &Ground, message: &str, files: &[(&str, String)]) -> String {
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let revision = ground.commit_to(URL, message, &files);
    assert_eq!(ground.commit_to(ALIAS, message, &files), revision);
    revision
}

fn one() -> Value {
    repository_with("platform", json!({"url": URL, "interval": "1m"}))
}

fn two(more: Value) -> Value {
    let mut spec = json!({"url": ALIAS, "interval": "10m"});
    crate::ground::merge(&mut spec, more);
    repository_with("two", spec)
}

fn old() -> Value {
    kustomization("old", "old", json!({}))
}

fn new() -> Value {
    kustomization("new", "new", json!({"sourceRef": {"kind": "GitRepository", "name": "two"}}))
}

fn is_at(object: &Value, revision: &str) -> bool {
    said(object, "Ready") == format!("True ReconciliationSucceeded: Applied revision: {revision}")
}

/// The old one builds from `platform`, the new one from `two`; `x` is the old one's.
async fn installed(second: Value) -> (Ground, String) {
    let ground = Ground::new().await;
    let first = commit(&ground, "x is the old one's", &files("old"));
    ground.apply(namespace()).await;
    for object in [one(), second, old(), new()] {
        ground.apply(object).await;
    }
    ground.until(&old(), |it| is_at(it, &first)).await;
    ground.until(&new(), |it| is_at(it, &first)).await;
    // From here on the sources fetch at their intervals, `platform` first.
    let uid = uid(&ground).await;
    (ground, uid)
}

async fn uid(ground: &Ground) -> String {
    let found = ground.get(&config_map("x")).await.expect("x is there");
    found["metadata"]["uid"].as_str().unwrap().to_owned()
}

async fn assert_moved(ground: &Ground, before: &str) {
    let x = ground
        .until(&config_map("x"), |it| {
            it["metadata"]["labels"]["kustomize.toolkit.fluxcd.io/name"] == "new"
        })
        .await;
    assert_eq!(x["metadata"]["uid"], before, "it was deleted and made anew");
    ground.until(&old(), |it| said(it, "HandingOver").is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn a_move_between_two_sources_of_one_repository_deletes_nothing() {
    for (url, first, second) in
        [(ALIAS, "1m", "9m"), (URL, "1m", "9m"), (ALIAS, "9m", "1m"), (URL, "9m", "9m")]
    {
        let (ground, uid) = installed(two(json!({"url": url, "interval": second}))).await;
        ground.apply(repository_with("platform", json!({"url": URL, "interval": first}))).await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        let moved = commit(&ground, "x is the new one's", &files("new"));
        ground.until(&old(), |it| is_at(it, &moved)).await;
        assert_moved(&ground, &uid).await;
    }
}

/// What is not alike but for its address is waited for; what nobody wants then goes.
#[tokio::test(start_paused = true)]
async fn a_source_that_selects_other_files_is_waited_for() {
    for (at, is_moved) in [("new", true), ("nowhere", false)] {
        let (ground, uid) = installed(two(json!({"ignore": "docs/"}))).await;
        let revision = commit(&ground, "x leaves the old one", &files(at));
        let waiting = ground.until(&old(), |it| is_at(it, &revision)).await;
        let words = format!(
            "True Claimed: ConfigMap/apps/x stays until GitRepository/apps/two has read {revision}"
        );
        assert_eq!(said(&waiting, "HandingOver"), words);
        if is_moved {
            assert_moved(&ground, &uid).await;
        } else {
            ground.until(&new(), |it| is_at(it, &revision)).await;
            ground.until(&old(), |it| said(it, "HandingOver").is_empty()).await;
            assert!(ground.get(&config_map("x")).await.is_none(), "nobody wants it");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_that_does_not_fetch_is_not_waited_for() {
    for (obstacle, words) in [("suspended", "is suspended"), ("failing", "is failing")] {
        let (ground, _) = installed(two(json!({"ignore": "docs/", "interval": "1m"}))).await;
        if obstacle == "failing" {
            ground.fail_git(ALIAS, Fault::refuse(503), Duration::from_hours(24));
        } else {
            let suspended = json!({"ignore": "docs/", "interval": "1m", "suspend": true});
            ground.apply(two(suspended)).await;
        }
        tokio::time::sleep(Duration::from_mins(3)).await;
        let revision = commit(&ground, "x is nobody's", &files("nowhere"));
        ground.until(&old(), |it| is_at(it, &revision)).await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert!(ground.get(&config_map("x")).await.is_none(), "{obstacle}");
        let line = format!(
            "Normal Claimed: GitRepository/apps/two reads the same repository and {words}: it is not waited for"
        );
        let events = ground.events("old").await;
        assert!(events.contains(&line), "{obstacle}: {events:#?}");
    }
}

/// What will be wanted is known from the other source; the deletion waits for a source that does not fetch no
/// longer than its patience lasts, and the object stays.
#[tokio::test(start_paused = true)]
async fn a_deletion_does_not_hang_on_a_source_that_is_suspended() {
    let (ground, uid) = installed(two(json!({}))).await;
    ground.apply(two(json!({"suspend": true}))).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let moved = commit(&ground, "x is the new one's", &files("new"));
    let waiting = ground.until(&old(), |it| is_at(it, &moved)).await;
    let words = "True Claimed: ConfigMap/apps/x stays for Kustomization apps/new, the source of which is suspended";
    assert_eq!(said(&waiting, "HandingOver"), words);
    ground.delete(&old()).await;
    tokio::time::sleep(Duration::from_mins(15)).await;
    assert!(ground.get(&old()).await.is_none(), "its deletion hangs");
    assert!(ground.get(&config_map("a")).await.is_none());
    assert_eq!(self::uid(&ground).await, uid);
    ground.apply(two(json!({"suspend": false}))).await;
    let x = ground.until(&config_map("x"), |it| it["data"]["value"] == "new").await;
    assert_eq!(x["metadata"]["uid"], uid, "it is taken over");
}

/// A claim to read the same repository gives a tenant no hold on another's objects.
#[tokio::test(start_paused = true)]
async fn kinship_gives_another_tenant_no_hold() {
    for (account, locked) in [("nobody", false), ("nobody", true), ("lead", true)] {
        let mut ground = Ground::idle().await;
        ground.settings().no_cross_namespace_refs = locked;
        let first = commit(&ground, "x is the old one's", &files("old"));
        ground.apply(namespace()).await;
        let team = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}});
        ground.apply(team).await;
        for (kind, more) in [
            (
                "Role",
                json!({"rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]}),
            ),
            (
                "RoleBinding",
                json!({
                    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "lead"},
                    "subjects": [{"kind": "ServiceAccount", "name": "lead", "namespace": "team"}],
                }),
            ),
        ] {
            let metadata = json!({"name": "lead", "namespace": "apps"});
            let mut object = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata});
            crate::ground::merge(&mut object, more);
            ground.apply(object).await;
        }
        // It never fetches anything, and that it is about to is forged.
        let mut source = two(json!({"secretRef": {"name": "missing"}, "interval": "1000h"}));
        source["metadata"]["namespace"] = json!("team");
        ground.apply(source.clone()).await;
        let mut hold = new();
        hold["metadata"]["namespace"] = json!("team");
        hold["spec"]["serviceAccountName"] = json!(account);
        ground.apply(hold).await;
        ground.apply(one()).await;
        ground.apply(old()).await;
        ground.start();
        ground.until(&old(), |it| is_at(it, &first)).await;
        let conditions = json!([{"type": "Ready", "status": "Unknown", "reason": "Progressing", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
        ground.set_status(&source, json!({"conditions": conditions})).await;
        let revision = commit(&ground, "x is nobody's", &files("nowhere"));
        let done = ground.until(&old(), |it| is_at(it, &revision)).await;
        assert_eq!(said(&done, "HandingOver"), "", "{account} {locked}");
        assert!(ground.get(&config_map("x")).await.is_none(), "{account} {locked}");
    }
}
