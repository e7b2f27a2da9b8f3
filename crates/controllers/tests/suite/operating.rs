//! How controllers are operated: shards, one namespace, what they count, kinds that come later.

use std::time::Duration;

use serde_json::{Value, json};
use sluice_runtime::selector::Selector;

use crate::ground::{
    Ground, config_map_file, kustomization, namespace, repository, repository_with, said,
};

const SHARD: &str = "sharding.fluxcd.io/key";

fn labelled(mut object: Value, shard: &str) -> Value {
    object["metadata"]["labels"] = json!({SHARD: shard});
    object
}

#[tokio::test(start_paused = true)]
async fn a_shard_looks_after_its_own_and_builds_from_everybodys() {
    let mut ground = Ground::idle().await;
    let file = config_map_file("a", "1");
    ground.commit("a", &[("app/a.yaml", &file)]);
    ground.apply(namespace()).await;
    // The other shard, for a while: it makes an artifact and goes.
    ground.operation().shard = Selector::parse(&format!("{SHARD}!=one")).unwrap();
    ground.apply(repository()).await;
    ground.start();
    ground.until(&repository(), |it| said(it, "Ready").starts_with("True")).await;
    ground.stop().await;
    ground.operation().shard = Selector::parse(&format!("{SHARD}=one")).unwrap();
    let own = kustomization("own", "app", json!({}));
    let other = kustomization("other", "app", json!({}));
    let source = repository_with("mine", json!({"url": crate::ground::URL}));
    ground.apply(labelled(own.clone(), "one")).await;
    ground.apply(labelled(other.clone(), "two")).await;
    ground.apply(labelled(source.clone(), "one")).await;
    ground.start();
    ground.until(&own, |it| said(it, "Ready").starts_with("True")).await;
    ground.until(&source, |it| said(it, "Ready").starts_with("True")).await;
    let file = config_map_file("a", "2");
    ground.commit("changed", &[("app/a.yaml", &file)]);
    tokio::time::sleep(Duration::from_mins(5)).await;
    let untouched = ground.get(&other).await.unwrap();
    assert_eq!(untouched.pointer("/status/conditions"), None);
    let applied = ground.get(&own).await.unwrap();
    let theirs = ground.get(&repository()).await.unwrap();
    assert_eq!(applied["status"]["lastAppliedRevision"], theirs["status"]["artifact"]["revision"]);
    let mine = ground.get(&source).await.unwrap();
    assert_ne!(theirs["status"]["artifact"]["revision"], mine["status"]["artifact"]["revision"]);
    // Who changes the label changes hands.
    ground.apply(labelled(other.clone(), "one")).await;
    ground.until(&other, |it| said(it, "Ready").starts_with("True")).await;
}

#[tokio::test(start_paused = true)]
async fn one_namespace_can_be_all_that_is_seen() {
    let mut ground = Ground::idle().await;
    let file = config_map_file("a", "1");
    ground.commit("a", &[("app/a.yaml", &file)]);
    ground.apply(namespace()).await;
    let elsewhere =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}});
    ground.apply(elsewhere).await;
    let mut sourced = repository();
    sourced["metadata"]["namespace"] = "elsewhere".into();
    ground.apply(sourced.clone()).await;
    ground.apply(repository()).await;
    ground.operation().namespace = Some("apps".to_owned());
    ground.start();
    ground.until(&repository(), |it| said(it, "Ready").starts_with("True")).await;
    tokio::time::sleep(Duration::from_mins(5)).await;
    assert_eq!(ground.get(&sourced).await.unwrap().pointer("/status/conditions"), None);
}

#[tokio::test(start_paused = true)]
async fn what_is_done_is_counted_and_forgotten_with_its_object() {
    let mut ground = Ground::idle().await;
    let file = config_map_file("a", "1");
    ground.commit("a", &[("app/a.yaml", &file)]);
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    let app = kustomization("app", "app", json!({"wait": true}));
    ground.apply(app.clone()).await;
    ground.start();
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let metrics = std::sync::Arc::clone(&ground.operation().metrics);
    let counted = metrics.render();
    for series in [
        "gotk_reconcile_duration_seconds_count{kind=\"Kustomization\",name=\"app\",namespace=\"apps\"}",
        "gotk_reconcile_duration_seconds_count{kind=\"GitRepository\",name=\"platform\",namespace=\"apps\"}",
        "controller_runtime_reconcile_total{controller=\"kustomization\",result=\"requeue_after\"}",
        "controller_runtime_max_concurrent_reconciles{controller=\"gitrepository\"} 4",
        "controller_runtime_active_workers{controller=\"kustomization\"} 0",
        "workqueue_depth{controller=\"kustomization\",name=\"kustomization\",priority=\"\"} 0",
        "workqueue_adds_total{controller=\"kustomization\",name=\"kustomization\"}",
        "sluice_phase_duration_seconds_count{kind=\"Kustomization\",phase=\"fetch\"}",
        "sluice_phase_duration_seconds_count{kind=\"Kustomization\",phase=\"build\"}",
        "sluice_phase_duration_seconds_count{kind=\"Kustomization\",phase=\"apply\"}",
        "sluice_phase_duration_seconds_count{kind=\"Kustomization\",phase=\"health\"}",
        "sluice_artifact_size_bytes{kind=\"GitRepository\",name=\"platform\",namespace=\"apps\"}",
        "sluice_reconcile_lag_seconds_count{controller=\"kustomization\"}",
    ] {
        assert!(counted.lines().any(|line| line.starts_with(series)), "{series}\n{counted}");
    }
    ground.delete(&app).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(!metrics.render().contains("name=\"app\""), "forgotten with the object");
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_comes_later_is_served_within_seconds() {
    let mut ground = Ground::idle().await;
    let crd = sluice_api::crds()
        .into_iter()
        .find(|crd| crd["spec"]["names"]["kind"] == "Kustomization")
        .unwrap();
    ground.delete(&crd).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let file = config_map_file("a", "1");
    ground.commit("a", &[("app/a.yaml", &file)]);
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    ground.start();
    ground.until(&repository(), |it| said(it, "Ready").starts_with("True")).await;
    tokio::time::sleep(Duration::from_mins(30)).await;
    ground.apply(crd).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let app = kustomization("app", "app", json!({}));
    ground.apply(app.clone()).await;
    let started = tokio::time::Instant::now();
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}
