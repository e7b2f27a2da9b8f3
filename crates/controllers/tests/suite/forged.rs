//! What a tenant gains by writing the status of its own sources and ArtifactGenerators: nothing.
//!
//! The platform has a repository in the namespace `platform` and an artifact in the store. The tenant owns
//! `apps` and may write `/status` of what is there. Cross-namespace references are blocked.

use std::time::Duration;

use serde_json::{Value, json};
use sluice_source::artifact::ArtifactPath;
use sluice_source::store::ArtifactStore as _;

use crate::ground::{Ground, config_map, config_map_file, kustomization, repository_with, said};

const VICTIM_URL: &str = "https://git.test/victim";

fn in_platform(mut object: Value) -> Value {
    object["metadata"]["namespace"] = json!("platform");
    object
}

fn victim() -> Value {
    in_platform(repository_with("victim", json!({"url": VICTIM_URL, "suspend": true})))
}

/// The platform's artifact is in the store, and its source is suspended: what is deleted stays deleted.
async fn ground() -> (Ground, Value) {
    let mut ground = Ground::idle().await;
    ground.settings().no_cross_namespace_refs = true;
    ground.settings().external_artifacts = true;
    ground.start();
    for name in ["apps", "platform"] {
        let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        ground.apply(space).await;
    }
    let secret = config_map_file("secret", "of the platform");
    ground.commit_to(VICTIM_URL, "secret", &[("secret.yaml", &secret)]);
    let own = config_map_file("own", "1");
    ground.commit("own", &[("own.yaml", &own)]);
    let mut running = victim();
    running["spec"]["suspend"] = json!(false);
    ground.apply(running).await;
    let ready = ground.until(&victim(), |it| said(it, "Ready").starts_with("True")).await;
    ground.apply(victim()).await;
    tokio::time::sleep(Duration::from_mins(2)).await;
    let artifact = ready["status"]["artifact"].clone();
    assert_eq!(ground.sandbox.artifacts.paths(), [artifact["path"].as_str().unwrap()]);
    (ground, artifact)
}

/// The tenant's repository, at work.
fn own() -> Value {
    repository_with("own", json!({"url": crate::ground::URL}))
}

/// Lets the tenant's own source make its artifact, and then say something else about it.
async fn forge(ground: &Ground, suspended: bool, change: impl FnOnce(&mut Value)) {
    ground.apply(own()).await;
    let ready = ground.until(&own(), |it| said(it, "Ready").starts_with("True")).await;
    let mut status = ready["status"].clone();
    change(&mut status);
    if suspended {
        let mut still = own();
        still["spec"]["suspend"] = json!(true);
        ground.apply(still).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    ground.set_status(&own(), status).await;
}

/// The tenant's source names a file of the victim; then the tenant's source recovers by itself.
async fn name_a_file(ground: &Ground, named: &str) {
    forge(ground, false, |status| status["artifact"]["path"] = json!(named)).await;
    tokio::time::sleep(Duration::from_mins(10)).await;
    let ready = ground.until(&own(), |it| said(it, "Ready").starts_with("True")).await;
    let path = ready["status"]["artifact"]["path"].as_str().unwrap();
    assert!(path.starts_with("gitrepository/apps/own/"), "{path}");
}

#[tokio::test(start_paused = true)]
async fn a_forged_path_deletes_no_file_of_others() {
    let (ground, artifact) = ground().await;
    let path = artifact["path"].as_str().unwrap().to_owned();
    name_a_file(&ground, &path).await;
    assert!(ground.sandbox.artifacts.paths().contains(&path), "the victim's file is gone");
}

#[tokio::test(start_paused = true)]
async fn a_forged_path_collects_no_file_of_others() {
    let (ground, artifact) = ground().await;
    let path = artifact["path"].as_str().unwrap().to_owned();
    name_a_file(&ground, "gitrepository/platform/victim/another.tar.gz").await;
    assert!(ground.sandbox.artifacts.paths().contains(&path), "the victim's file is gone");
}

#[tokio::test(start_paused = true)]
async fn a_forged_path_does_not_reveal_the_digest_of_others() {
    let (ground, artifact) = ground().await;
    name_a_file(&ground, artifact["path"].as_str().unwrap()).await;
    let digest = artifact["digest"].as_str().unwrap();
    let told = ground.events("own").await;
    assert!(!told.iter().any(|it| it.contains(digest)), "{told:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_forged_digest_deletes_no_file() {
    let (ground, _) = ground().await;
    forge(&ground, true, |_| {}).await;
    let kustomization =
        kustomization("app", ".", json!({"sourceRef": {"kind": "GitRepository", "name": "own"}}));
    let before = ground.get(&own()).await.unwrap()["status"]["artifact"].clone();
    let digest = format!("sha256:{}", "0".repeat(64));
    ground.set_status(&own(), json!({"artifact": {"digest": digest}})).await;
    ground.apply(kustomization.clone()).await;
    ground.until(&kustomization, |it| said(it, "Ready").starts_with("False ArtifactFailed")).await;
    tokio::time::sleep(Duration::from_mins(1)).await;
    let path = before["path"].as_str().unwrap().to_owned();
    assert!(ground.sandbox.artifacts.paths().contains(&path), "deleted because a status said so");
}

/// What the tenant says about its own source: the victim's artifact under the tenant's name.
async fn build_forged(what: &str) {
    let (ground, artifact) = ground().await;
    // The platform's own Kustomization has it unpacked.
    let of_victim = json!({
        "sourceRef": {"kind": "GitRepository", "name": "victim"}, "targetNamespace": "platform",
    });
    let platform = in_platform(kustomization("platform", ".", of_victim));
    ground.apply(platform.clone()).await;
    ground.until(&platform, |it| said(it, "Ready").starts_with("True")).await;
    let source = if what == "url" {
        ground.apply(external("apps", "own")).await;
        ground.set_status(&external("apps", "own"), json!({"artifact": artifact})).await;
        "ExternalArtifact"
    } else {
        forge(&ground, true, |status| {
            status["artifact"]["digest"] = artifact["digest"].clone();
            if what == "path" {
                status["artifact"] = artifact.clone();
            }
        })
        .await;
        "GitRepository"
    };
    let own = json!({"sourceRef": {"kind": source, "name": "own"}, "targetNamespace": "apps"});
    let theft = kustomization("theft", ".", own);
    ground.apply(theft.clone()).await;
    let end = ground.until(&theft, |it| said(it, "Ready").starts_with(['F', 'T'])).await;
    assert!(said(&end, "Ready").starts_with("False"), "{}", said(&end, "Ready"));
    tokio::time::sleep(Duration::from_mins(2)).await;
    assert!(ground.get(&config_map("secret")).await.is_none(), "built the victim's artifact");
}

#[tokio::test(start_paused = true)]
async fn a_forged_path_builds_nothing_of_others() {
    build_forged("path").await;
}

/// The digest alone: the cache of unpacked artifacts has it.
#[tokio::test(start_paused = true)]
async fn a_forged_digest_builds_nothing_of_others() {
    build_forged("digest").await;
}

/// An ExternalArtifact whose address is that of the victim's artifact.
#[tokio::test(start_paused = true)]
async fn a_forged_address_builds_nothing_of_others() {
    build_forged("url").await;
}

fn generator(name: &str) -> Value {
    json!({
        "apiVersion": "source.extensions.fluxcd.io/v1beta1", "kind": "ArtifactGenerator",
        "metadata": {"name": name, "namespace": "apps"},
        "spec": {
            "sources": [{"alias": "repo", "kind": "GitRepository", "name": "own"}],
            "artifacts": [{"name": name, "copy": [{"from": "@repo/**", "to": "@artifact/"}]}],
        },
    })
}

fn external(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "ExternalArtifact",
        "metadata": {"name": name, "namespace": namespace},
    })
}

/// An ExternalArtifact of the platform is named by the inventory of the tenant's generator.
#[tokio::test(start_paused = true)]
async fn a_forged_inventory_deletes_no_artifact_of_another_namespace() {
    forge_inventory("platform", "foreign").await;
}

/// One that another generator of the same namespace made.
#[tokio::test(start_paused = true)]
async fn a_forged_inventory_deletes_no_artifact_of_another_generator() {
    forge_inventory("apps", "theirs").await;
}

/// One that no generator made.
#[tokio::test(start_paused = true)]
async fn a_forged_inventory_deletes_no_artifact_of_no_generator() {
    forge_inventory("apps", "foreign").await;
}

/// A name that leads out of the namespace, in the API's path and in the store's.
#[tokio::test(start_paused = true)]
async fn a_forged_inventory_leads_nowhere_by_its_names() {
    forge_inventory("apps", "../../platform/externalartifacts/foreign").await;
    forge_inventory("../externalartifact/platform", "foreign").await;
}

async fn forge_inventory(namespace: &str, name: &str) {
    let (ground, _) = ground().await;
    ground.apply(own()).await;
    for name in ["theirs", "forger"] {
        ground.apply(generator(name)).await;
        ground.until(&generator(name), |it| said(it, "Ready").starts_with("True")).await;
    }
    let mut kept = vec![external("apps", "theirs")];
    let mut files = vec![
        ground.get(&kept[0]).await.unwrap()["status"]["artifact"]["path"]
            .as_str()
            .unwrap()
            .to_owned(),
    ];
    for namespace in ["platform", "apps"] {
        let object = external(namespace, "foreign");
        ground.apply(object.clone()).await;
        let place =
            ArtifactPath::new("ExternalArtifact", namespace, "foreign", "x.tar.gz").unwrap();
        ground.sandbox.artifacts.put(&place, "x".into()).await.unwrap();
        files.push(place.path());
        kept.push(object);
    }
    let forged = json!({"inventory": [{
        "digest": format!("sha256:{}", "0".repeat(64)), "filename": "x.tar.gz",
        "name": name, "namespace": namespace,
    }]});
    let check = async |when: &str| {
        for object in &kept {
            assert!(ground.get(object).await.is_some(), "{when}: {object}");
        }
        let there = ground.sandbox.artifacts.paths();
        for file in &files {
            assert!(there.contains(file), "{when}: {file} is gone");
        }
    };
    ground.set_status(&generator("forger"), forged.clone()).await;
    tokio::time::sleep(Duration::from_hours(3)).await;
    check("after a pass").await;
    ground.set_status(&generator("forger"), forged).await;
    ground.delete(&generator("forger")).await;
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert!(ground.get(&generator("forger")).await.is_none());
    check("after the deletion").await;
    assert!(ground.get(&external("apps", "forger")).await.is_none(), "its own is deleted");
}
