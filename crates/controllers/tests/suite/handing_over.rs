//! Objects that move from one Kustomization to another are never deleted, whoever comes first.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::ground::{
    Ground, config_map, config_map_file, kustomization, namespace, repository, repository_with,
    said,
};

const OLD: &str = "old";
const NEW: &str = "new";

fn old() -> Value {
    kustomization(OLD, "old", json!({}))
}

fn new() -> Value {
    kustomization(NEW, "new", json!({}))
}

/// `x` is the old one's; both have something of their own.
fn before() -> Vec<(&'static str, String)> {
    vec![
        ("old/a.yaml", config_map_file("a", "1")),
        ("old/x.yaml", config_map_file("x", "old")),
        ("new/b.yaml", config_map_file("b", "1")),
    ]
}

/// `x` is the new one's.
fn after() -> Vec<(&'static str, String)> {
    vec![
        ("old/a.yaml", config_map_file("a", "1")),
        ("new/b.yaml", config_map_file("b", "1")),
        ("new/x.yaml", config_map_file("x", "new")),
    ]
}

fn commit(ground: &Ground, message: &str, files: &[(&str, String)]) -> String {
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    ground.commit(message, &files)
}

fn is_at(object: &Value, revision: &str) -> bool {
    said(object, "Ready") == format!("True ReconciliationSucceeded: Applied revision: {revision}")
}

fn inventory(object: &Value) -> Vec<String> {
    let entries = object.pointer("/status/inventory/entries").and_then(Value::as_array);
    let ids = entries.into_iter().flatten().map(|entry| entry["id"].as_str().unwrap().to_owned());
    ids.collect()
}

async fn uid(ground: &Ground) -> String {
    let found = ground.get(&config_map("x")).await.expect("x is there");
    found["metadata"]["uid"].as_str().unwrap().to_owned()
}

/// Both are installed, with `x` at the old one.
async fn installed() -> (Ground, String) {
    let ground = Ground::new().await;
    let first = commit(&ground, "x is the old one's", &before());
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    ground.apply(old()).await;
    ground.apply(new()).await;
    ground.until(&old(), |it| is_at(it, &first)).await;
    ground.until(&new(), |it| is_at(it, &first)).await;
    let uid = uid(&ground).await;
    (ground, uid)
}

/// In the end it is the same object, it is the new one's, and each inventory is right.
async fn assert_moved(ground: &Ground, before: &str) {
    let x = ground
        .until(&config_map("x"), |it| {
            it["metadata"]["labels"]["kustomize.toolkit.fluxcd.io/name"] == NEW
        })
        .await;
    assert_eq!(x["metadata"]["uid"], before, "it was never deleted");
    assert_eq!(x["data"]["value"], "new");
    let holds = |it: &Value| inventory(it).contains(&"apps_x__ConfigMap".to_owned());
    ground.until(&new(), holds).await;
    let old = ground.until(&old(), |it| !holds(it)).await;
    assert_eq!(said(&old, "HandingOver"), "");
}

#[tokio::test(start_paused = true)]
async fn one_commit_moves_an_object_whoever_is_first() {
    // What is suspended while the commit arrives comes second.
    for (first, second) in [(NEW, OLD), (OLD, NEW)] {
        let (ground, uid) = installed().await;
        let suspend = |name: &str, is: bool| kustomization(name, name, json!({"suspend": is}));
        ground.apply(suspend(second, true)).await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        let moved = commit(&ground, "x is the new one's", &after());
        let first = kustomization(first, first, json!({}));
        ground.until(&first, |it| is_at(it, &moved)).await;
        tokio::time::sleep(Duration::from_mins(45)).await;
        assert!(ground.get(&config_map("x")).await.is_some(), "the other is suspended");
        if second == NEW {
            let waiting = ground.get(&old()).await.unwrap();
            let expected = "True Claimed: ConfigMap/apps/x stays for Kustomization apps/new";
            assert_eq!(said(&waiting, "HandingOver"), expected);
            assert!(is_at(&waiting, &moved));
            assert!(inventory(&waiting).contains(&"apps_x__ConfigMap".to_owned()), "not orphaned");
        }
        ground.apply(suspend(second, false)).await;
        let started = tokio::time::Instant::now();
        assert_moved(&ground, &uid).await;
        assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_owner_that_depends_on_the_old_one_waits_and_then_takes_it() {
    let (ground, uid) = installed().await;
    ground.apply(kustomization(NEW, "new", json!({"dependsOn": [{"name": OLD}]}))).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    commit(&ground, "x is the new one's", &after());
    assert_moved(&ground, &uid).await;
}

#[tokio::test(start_paused = true)]
async fn an_old_owner_that_depends_on_the_new_one_lets_go_at_once() {
    let (ground, uid) = installed().await;
    ground.apply(kustomization(OLD, "old", json!({"dependsOn": [{"name": NEW}]}))).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    commit(&ground, "x is the new one's", &after());
    assert_moved(&ground, &uid).await;
}

#[tokio::test(start_paused = true)]
async fn a_new_owner_that_fails_keeps_the_object_alive() {
    let (ground, uid) = installed().await;
    let mut broken = after();
    broken.push(("new/kustomization.yaml", "resources: [b.yaml, x.yaml, missing.yaml]".to_owned()));
    let revision = commit(&ground, "x is the new one's, which is broken", &broken);
    ground.until(&old(), |it| is_at(it, &revision)).await;
    ground.until(&new(), |it| said(it, "Ready").starts_with("False BuildFailed")).await;
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert_eq!(self::uid(&ground).await, uid);
    commit(&ground, "mended", &after());
    assert_moved(&ground, &uid).await;
}

#[tokio::test(start_paused = true)]
async fn who_no_longer_wants_it_does_not_keep_it() {
    let (ground, _) = installed().await;
    ground.apply(kustomization(NEW, "new", json!({"suspend": true}))).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let moved = commit(&ground, "x is the new one's", &after());
    ground.until(&old(), |it| is_at(it, &moved)).await;
    let nobody: Vec<_> = after().into_iter().filter(|(path, _)| *path != "new/x.yaml").collect();
    let gone = commit(&ground, "x is nobody's", &nobody);
    let done = ground.until(&old(), |it| is_at(it, &gone)).await;
    assert!(ground.get(&config_map("x")).await.is_none(), "nobody wants it");
    assert!(!inventory(&done).contains(&"apps_x__ConfigMap".to_owned()));
    assert_eq!(said(&done, "HandingOver"), "");
}

#[tokio::test(start_paused = true)]
async fn the_owner_itself_may_go_in_the_same_commit() {
    let (ground, uid) = installed().await;
    ground.apply(kustomization(NEW, "new", json!({"suspend": true}))).await;
    let everything = vec![
        ("new/a.yaml", config_map_file("a", "1")),
        ("new/b.yaml", config_map_file("b", "1")),
        ("new/x.yaml", config_map_file("x", "new")),
    ];
    commit(&ground, "all is the new one's", &everything);
    tokio::time::sleep(Duration::from_mins(2)).await;
    ground.delete(&old()).await;
    tokio::time::sleep(Duration::from_mins(2)).await;
    // Until the new one has them, the old one remembers them.
    let lingering = ground.get(&old()).await.expect("it is still needed");
    let remembered: BTreeSet<String> = inventory(&lingering).into_iter().collect();
    let both = ["apps_a__ConfigMap", "apps_x__ConfigMap"].map(str::to_owned);
    assert_eq!(remembered, BTreeSet::from(both));
    let words = "stays for Kustomization apps/new";
    assert!(said(&lingering, "HandingOver").contains(words), "{}", said(&lingering, "HandingOver"));
    assert_eq!(self::uid(&ground).await, uid);
    ground.apply(new()).await;
    ground
        .until(&config_map("x"), |it| {
            it["metadata"]["labels"]["kustomize.toolkit.fluxcd.io/name"] == NEW
        })
        .await;
    assert_eq!(self::uid(&ground).await, uid);
    assert!(ground.get(&config_map("a")).await.is_some());
    tokio::time::sleep(Duration::from_secs(35)).await;
    assert!(ground.get(&old()).await.is_none(), "it has nothing left to remember");
}

/// The new owner changes its mind after the old one was deleted, and before it took anything.
#[tokio::test(start_paused = true)]
async fn who_is_deleted_remembers_until_nobody_wants_it() {
    let (ground, _) = installed().await;
    ground.apply(kustomization(NEW, "new", json!({"suspend": true}))).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let moved = commit(&ground, "x is the new one's", &after());
    ground.until(&old(), |it| is_at(it, &moved)).await;
    ground.delete(&old()).await;
    tokio::time::sleep(Duration::from_mins(2)).await;
    assert!(ground.get(&config_map("a")).await.is_none(), "nobody else wants it");
    assert!(ground.get(&config_map("x")).await.is_some(), "the new one wants it");
    commit(&ground, "x is nobody's", &[("new/b.yaml", config_map_file("b", "1"))]);
    tokio::time::sleep(Duration::from_mins(3)).await;
    assert!(ground.get(&config_map("x")).await.is_none(), "nobody is left who would delete it");
    assert!(ground.get(&old()).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn sources_may_differ() {
    let (ground, uid) = installed().await;
    let url = "https://git.test/other";
    let (b, x) = (config_map_file("b", "1"), config_map_file("x", "new"));
    ground.commit_to(url, "x and b", &[("new/b.yaml", &b), ("new/x.yaml", &x)]);
    ground.apply(kustomization(NEW, "new", json!({"suspend": true}))).await;
    ground.apply(repository_with("other", json!({"url": url}))).await;
    tokio::time::sleep(Duration::from_mins(1)).await;
    let from_other = |suspend: bool| {
        let source = json!({"kind": "GitRepository", "name": "other"});
        kustomization(NEW, "new", json!({"sourceRef": source, "suspend": suspend}))
    };
    ground.apply(from_other(true)).await;
    let a = config_map_file("a", "1");
    let moved = ground.commit("x went elsewhere", &[("old/a.yaml", &a)]);
    ground.until(&old(), |it| is_at(it, &moved)).await;
    assert_eq!(self::uid(&ground).await, uid);
    ground.apply(from_other(false)).await;
    assert_moved(&ground, &uid).await;
}

/// Nobody keeps another's object alive by naming it: only who may apply it can want it.
#[tokio::test(start_paused = true)]
async fn a_tenant_cannot_hold_on_to_what_is_not_its_own() {
    let (a, x) = (config_map_file("a", "1"), config_map_file("x", "mine"));
    let ground = Ground::with(&[("old/a.yaml", &a), ("old/x.yaml", &x)], |_| {}).await;
    ground.apply(old()).await;
    ground.until(&old(), |it| said(it, "Ready").starts_with("True")).await;
    let tenant = kustomization(NEW, "new", json!({"serviceAccountName": "tenant"}));
    ground.apply(tenant.clone()).await;
    let claimed = ground.commit("a tenant names x", &[("old/a.yaml", &a), ("new/x.yaml", &x)]);
    ground.until(&tenant, |it| said(it, "Ready").contains("(Forbidden)")).await;
    let done = ground.until(&old(), |it| is_at(it, &claimed)).await;
    assert!(ground.get(&config_map("x")).await.is_none(), "the tenant has no right to it");
    assert_eq!(said(&done, "HandingOver"), "");
}

/// The controllers are killed after each of their writes in turn, with either order before them.
#[tokio::test(start_paused = true)]
async fn a_crash_in_between_deletes_nothing() {
    for depends in [json!({}), json!({"dependsOn": [{"name": OLD}]})] {
        for writes in 1..=7 {
            let (mut ground, uid) = installed().await;
            ground.apply(kustomization(NEW, "new", depends.clone())).await;
            tokio::time::sleep(Duration::from_secs(5)).await;
            let sent = ground.sent();
            commit(&ground, "x is the new one's", &after());
            ground.crash_after(sent + writes).await;
            assert_eq!(self::uid(&ground).await, uid, "after {writes} writes");
            ground.start();
            assert_moved(&ground, &uid).await;
            ground.stop().await;
        }
    }
}
