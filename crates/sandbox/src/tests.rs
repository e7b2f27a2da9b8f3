//! A sandbox in virtual time repeats itself, and its parts share one clock.

mod faults;
mod ports;

use std::time::Duration;

use serde_json::{Value, json};
use sluice_source::git::{GitAuth, GitTransport as _};
use sluice_source::tree::SourceTree;

use crate::Sandbox;

fn files(text: &str) -> SourceTree {
    let mut tree = SourceTree::default();
    tree.insert_file("a.yaml", text.as_bytes().to_vec()).unwrap();
    tree
}

fn config_map() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}})
}

#[tokio::test(start_paused = true)]
async fn a_seed_repeats_uids_and_revisions_and_another_does_not() {
    async fn run(seed: u64) -> (String, String) {
        let sandbox = Sandbox::new(seed);
        tokio::time::sleep(Duration::from_secs(30)).await;
        let objects = sandbox.objects("test");
        objects.apply(&config_map()).await.unwrap();
        let made = objects.get(&config_map()).await.unwrap().unwrap();
        let uid = made["metadata"]["uid"].as_str().unwrap().to_owned();
        assert_eq!(made["metadata"]["creationTimestamp"], "2026-01-01T00:00:30Z");
        (uid, sandbox.commit("platform.git", "a", &files("a: 1")))
    }
    let first = run(1).await;
    assert_eq!(first, run(1).await);
    assert_ne!(first.0, run(2).await.0);
}

#[tokio::test(start_paused = true)]
async fn a_repository_is_found_by_its_path_at_any_host() {
    let sandbox = Sandbox::new(1);
    let revision = sandbox.commit("platform.git", "a", &files("a: 1"));
    let second = sandbox.commit("platform.git", "b", &files("a: 2"));
    assert_ne!(revision, second);
    for url in [sandbox.git_url("platform.git"), "https://elsewhere.test/platform.git".to_owned()] {
        let remote = sandbox.git.open(&url, &GitAuth::default()).unwrap();
        let refs = remote.list_refs(&[]).await.unwrap();
        assert!(refs.iter().any(|it| second.ends_with(&it.id.to_string())), "{url}");
    }
    let other = sandbox.git.open(&sandbox.git_url("other.git"), &GitAuth::default()).unwrap();
    assert!(other.list_refs(&[]).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn definitions_are_served_once_they_are_installed() {
    let sandbox = Sandbox::new(1);
    let objects = sandbox.objects("test");
    let group = "source.toolkit.fluxcd.io";
    objects.install_definitions(|it| it == group).await.unwrap();
    let repository = json!({
        "apiVersion": format!("{group}/v1"), "kind": "GitRepository",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"interval": "1m", "url": sandbox.git_url("platform.git")},
    });
    objects.apply(&repository).await.unwrap();
    assert!(objects.get(&repository).await.unwrap().is_some());
    objects.delete(&repository).await.unwrap();
    assert!(objects.get(&repository).await.unwrap().is_none());
    let absent = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": "a", "namespace": "default"}, "spec": {},
    });
    assert!(objects.apply(&absent).await.is_err(), "its group was left out");
}
