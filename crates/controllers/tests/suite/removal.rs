//! What is deleted, and what is not.

use std::time::Duration;

use serde_json::{Value, json};

use crate::ground::{Ground, config_map, config_map_file, kustomization, said};

#[tokio::test(start_paused = true)]
async fn deletion_follows_its_policy() {
    let cases = [
        ("mirror", json!({"prune": true}), true),
        ("mirror-keep", json!({"prune": false, "deletionPolicy": "MirrorPrune"}), false),
        ("delete", json!({"prune": false, "deletionPolicy": "Delete"}), true),
        ("wait", json!({"prune": false, "deletionPolicy": "WaitForTermination"}), true),
        ("orphan", json!({"prune": true, "deletionPolicy": "Orphan"}), false),
    ];
    let files: Vec<(String, String)> = cases
        .iter()
        .map(|(name, ..)| (format!("{name}/a.yaml"), config_map_file(name, "1")))
        .collect();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, content)| (path.as_str(), content.as_str())).collect();
    let ground = Ground::with(&files, |_| {}).await;
    for (name, spec, is_deleted) in cases {
        let app = kustomization(name, name, spec);
        ground.apply(app.clone()).await;
        ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
        ground.delete(&app).await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert!(ground.get(&app).await.is_none(), "{name}");
        assert_eq!(ground.get(&config_map(name)).await.is_none(), is_deleted, "{name}");
        let events = ground.events(name).await;
        let told = format!("Normal ReconciliationSucceeded: ConfigMap/apps/{name} deleted");
        assert_eq!(events.contains(&told), is_deleted, "{name}: {events:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_does_not_go_is_waited_for_and_then_let_go() {
    let file = config_map_file("a", "1")
        .replace("  name: a\n", "  name: a\n  finalizers: [test.sluice.dev/hold]\n");
    let ground = Ground::with(&[("app/a.yaml", &file)], |_| {}).await;
    let app = kustomization(
        "app",
        "app",
        json!({"deletionPolicy": "WaitForTermination", "timeout": "1m"}),
    );
    ground.apply(app.clone()).await;
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    ground.delete(&app).await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert!(ground.get(&app).await.is_some(), "it waits");
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert!(ground.get(&app).await.is_none(), "it gives up");
    let events = ground.events("app").await;
    let told =
        "Warning ReconciliationSucceeded: failed to wait for resources termination".to_owned();
    assert!(events.contains(&told), "{events:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_guard_and_an_empty_build_keep_what_is_there() {
    let names = ["a", "b", "c", "d"];
    let files: Vec<(String, String)> =
        names.iter().map(|name| (format!("app/{name}.yaml"), config_map_file(name, "1"))).collect();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, content)| (path.as_str(), content.as_str())).collect();
    let ground = Ground::with(&files, |_| {}).await;
    let guarded = |guard: Value| {
        let mut app = kustomization("app", "app", json!({"retryInterval": "30s"}));
        app["metadata"]["annotations"] = guard;
        app
    };
    let app = guarded(json!({"sluice.dev/prune-guard": "30%"}));
    ground.apply(app.clone()).await;
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    ground.commit("half of them", &files[..2]);
    let words = "False PruneFailed: 2 of 4 objects would be deleted, and sluice.dev/prune-guard allows 30%: none is deleted";
    let kept = ground.until_ready_says(&app, words).await;
    assert_eq!(kept["status"]["inventory"]["entries"].as_array().unwrap().len(), 4);
    assert_eq!(kept["status"]["history"][0]["lastReconciledStatus"], "PruneFailed");
    ground.apply(guarded(json!({"sluice.dev/prune-guard": "50%"}))).await;
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    assert!(ground.get(&config_map("d")).await.is_none());
    ground.commit("nothing", &[("app/kustomization.yaml", "resources: []\n")]);
    let words =
        "False PruneFailed: nothing was built, and 2 objects were applied before: none is deleted.";
    ground.until(&app, |it| said(it, "Ready").starts_with(words)).await;
    assert!(ground.get(&config_map("a")).await.is_some());
    ground.apply(guarded(json!({"sluice.dev/prune-guard": "off"}))).await;
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    assert!(ground.get(&config_map("a")).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn marks_keep_objects_and_without_pruning_nothing_goes() {
    let kept = config_map_file("kept", "1").replace(
        "  name: kept\n",
        "  name: kept\n  annotations: {kustomize.toolkit.fluxcd.io/prune: disabled}\n",
    );
    let (a, b) = (config_map_file("a", "1"), config_map_file("b", "1"));
    let ground =
        Ground::with(&[("app/kept.yaml", &kept), ("app/a.yaml", &a), ("app/b.yaml", &b)], |_| {})
            .await;
    let app = kustomization("app", "app", json!({}));
    ground.apply(app.clone()).await;
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    let applied =
        |revision: &str| format!("True ReconciliationSucceeded: Applied revision: {revision}");
    let revision = ground.commit("drop one", &[("app/a.yaml", &a), ("app/b.yaml", &b)]);
    ground.until_ready_says(&app, &applied(&revision)).await;
    assert!(ground.get(&config_map("kept")).await.is_some());
    ground.apply(kustomization("app", "app", json!({"prune": false}))).await;
    let revision = ground.commit("drop another", &[("app/a.yaml", &a)]);
    ground.until_ready_says(&app, &applied(&revision)).await;
    assert!(ground.get(&config_map("b")).await.is_some());
}
