//! More that a tenant tries with its Kustomizations, its objects and their statuses.

use std::time::Duration;

use serde_json::{Value, json};
use sluice_source::artifact::ArtifactPath;
use sluice_source::store::ArtifactStore as _;

use crate::ground::{Ground, config_map, config_map_file, kustomization, said};

/// Many Kustomizations of another namespace claim many objects, each under an account of its own, so that
/// whoever deletes them has to ask about each pair.
#[tokio::test(start_paused = true)]
async fn forged_claims_do_not_drown_a_deletion_in_questions() {
    let files: Vec<(String, String)> = (0..20)
        .map(|number| (format!("app/{number}.yaml"), config_map_file(&format!("m{number}"), "1")))
        .collect();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, it)| (path.as_str(), it.as_str())).collect();
    let ground = Ground::with(&files, |settings| settings.no_cross_namespace_refs = true).await;
    let app = kustomization("app", "app", json!({}));
    ground.apply(app.clone()).await;
    let ready = ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    let inventory = ready["status"]["inventory"].clone();
    let team = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}});
    ground.apply(team).await;
    for number in 0..40 {
        let account = format!("account-{number}");
        let spec = json!({"serviceAccountName": account, "suspend": true});
        let mut claim = kustomization(&format!("claim-{number}"), "app", spec);
        claim["metadata"]["namespace"] = json!("team");
        ground.apply(claim.clone()).await;
        ground.set_status(&claim, json!({"inventory": inventory})).await;
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    let before = ground.asked("selfsubjectaccessreviews");
    ground.delete(&app).await;
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert!(ground.get(&app).await.is_none(), "it is gone");
    let asked = ground.asked("selfsubjectaccessreviews") - before;
    assert!(asked <= 150, "{asked} questions were asked");
}

/// A status that cannot be read does not keep a Kustomization, and its namespace, from being deleted.
#[tokio::test(start_paused = true)]
async fn a_forged_inventory_does_not_hang_a_deletion() {
    let a = config_map_file("a", "1");
    let ground = Ground::with(&[("app/a.yaml", &a)], |_| {}).await;
    let app = kustomization("app", "app", json!({}));
    ground.apply(app.clone()).await;
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    let entries = json!([{"id": "apps_a__ConfigMap", "v": "v1"}, {"id": "nonsense", "v": "v1"}, {"id": "____", "v": ""}]);
    ground.set_status(&app, json!({"inventory": {"entries": entries}})).await;
    ground.delete(&app).await;
    tokio::time::sleep(Duration::from_mins(5)).await;
    assert!(ground.get(&app).await.is_none(), "its deletion hangs");
    assert!(ground.get(&config_map("a")).await.is_none(), "what can be read is deleted");
}

/// Labels of another Kustomization on a changed object do not keep the change: the other has no such object.
#[tokio::test(start_paused = true)]
async fn forged_labels_do_not_stop_repairs() {
    let (a, b) = (config_map_file("a", "1"), config_map_file("b", "1"));
    let ground = Ground::with(&[("app/a.yaml", &a), ("other/b.yaml", &b)], |_| {}).await;
    let mut app = kustomization("app", "app", json!({"interval": "1h"}));
    app["metadata"]["annotations"] = json!({"sluice.dev/drift": "repair"});
    let other = kustomization("other", "other", json!({}));
    for object in [&app, &other] {
        ground.apply(object.clone()).await;
        ground.until(object, |it| said(it, "Ready").starts_with("True")).await;
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    let mut forged = config_map("a");
    forged["metadata"]["labels"] = json!({"kustomize.toolkit.fluxcd.io/name": "other", "kustomize.toolkit.fluxcd.io/namespace": "apps"});
    forged["data"] = json!({"value": "mine"});
    ground.apply(forged).await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    let found = ground.get(&config_map("a")).await.unwrap();
    assert_eq!(found["data"]["value"], "1", "it is repaired");
}

/// A circle of dependencies through other namespaces names none of their Kustomizations but the one that the
/// tenant named itself.
#[tokio::test(start_paused = true)]
async fn a_circle_does_not_show_what_others_depend_on() {
    let a = config_map_file("a", "1");
    let ground = Ground::with(&[("app/a.yaml", &a)], |_| {}).await;
    let team = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}});
    ground.apply(team).await;
    let of_team = |name: &str, on: Value| {
        let mut object = kustomization(name, "app", json!({"dependsOn": [on]}));
        object["metadata"]["namespace"] = json!("team");
        object
    };
    let front = of_team("front", json!({"name": "hidden"}));
    let hidden = of_team("hidden", json!({"name": "app", "namespace": "apps"}));
    ground.apply(front).await;
    ground.apply(hidden).await;
    let app =
        kustomization("app", "app", json!({"dependsOn": [{"name": "front", "namespace": "team"}]}));
    ground.apply(app.clone()).await;
    let waiting = ground.until(&app, |it| said(it, "Ready").contains("cycle")).await;
    let ready = said(&waiting, "Ready");
    assert!(ready.contains("team/front") && !ready.contains("hidden"), "{ready}");
}

/// What an artifact says about its origin goes into the status and into events: no more of it than fits there.
#[tokio::test(start_paused = true)]
async fn an_endless_origin_does_not_fill_the_status() {
    let a = config_map_file("a", "1");
    let ground = Ground::with(&[("app/a.yaml", &a)], |settings| {
        settings.external_artifacts = true;
        settings.external_artifact_hosts = vec!["source.test".to_owned()];
    })
    .await;
    let platform = crate::ground::repository();
    let source = ground.until(&platform, |it| it["status"]["artifact"].is_object()).await;
    let mut artifact = source["status"]["artifact"].clone();
    artifact["metadata"] = json!({"org.opencontainers.image.revision": "x".repeat(300_000)});
    let place = ArtifactPath::new("ExternalArtifact", "apps", "x", "a.tar.gz").unwrap();
    ground.sandbox.artifacts.put(&place, ground.packed(&source).await).await.unwrap();
    artifact["path"] = json!(place.path());
    artifact["url"] = json!(place.url("source.test"));
    let external = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "ExternalArtifact",
        "metadata": {"name": "x", "namespace": "apps"}, "spec": {},
    });
    ground.apply(external.clone()).await;
    ground.set_status(&external, json!({"artifact": artifact, "conditions": []})).await;
    let app = kustomization(
        "app",
        "app",
        json!({"sourceRef": {"kind": "ExternalArtifact", "name": "x"}}),
    );
    ground.apply(app.clone()).await;
    let ready = ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    assert!(
        ready["status"].to_string().len() < 20_000,
        "{} bytes",
        ready["status"].to_string().len()
    );
}
