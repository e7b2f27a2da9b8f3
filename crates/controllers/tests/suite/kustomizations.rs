//! What becomes of Kustomizations.

use std::time::Duration;

use serde_json::json;

use crate::ground::{
    Ground, config_map, config_map_file, kustomization, namespace, repository, said,
};

#[tokio::test(start_paused = true)]
async fn a_commit_is_installed_the_next_rolls_out_and_what_is_gone_is_pruned() {
    let ground = Ground::new().await;
    let (a, b) = (config_map_file("a", "1"), config_map_file("b", "1"));
    let first = ground.commit("add a and b", &[("app/a.yaml", &a), ("app/b.yaml", &b)]);
    ground.apply(namespace()).await;
    ground.apply(config_map("foreign")).await;
    ground.apply(repository()).await;
    let app = kustomization("app", "./app", json!({}));
    ground.apply(app.clone()).await;
    let applied =
        |revision: &str| format!("True ReconciliationSucceeded: Applied revision: {revision}");
    let ready = ground.until_ready_says(&app, &applied(&first)).await;
    let ids: Vec<&str> = ready["status"]["inventory"]["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["apps_a__ConfigMap", "apps_b__ConfigMap"]);
    assert_eq!(ready["status"]["observedGeneration"], 1);
    assert_eq!(ready["status"]["lastAppliedRevision"], first);
    assert_eq!(ready["status"]["lastAttemptedRevision"], first);
    assert_eq!(ready["status"]["history"][0]["lastReconciledStatus"], "ReconciliationSucceeded");
    assert_eq!(ready["metadata"]["finalizers"][0], "finalizers.fluxcd.io");
    assert_eq!(said(&ready, "Reconciling"), "");

    let a = config_map_file("a", "2");
    let second = ground.commit("change a, drop b", &[("app/a.yaml", &a)]);
    ground.until_ready_says(&app, &applied(&second)).await;
    assert_eq!(ground.get(&config_map("a")).await.unwrap()["data"]["value"], "2");
    assert!(ground.get(&config_map("b")).await.is_none(), "pruned");
    assert!(ground.get(&config_map("foreign")).await.is_some(), "not ours");
    let events = ground.events("app").await;
    let has = |text: &str| events.iter().any(|event| event.starts_with(text));
    assert!(
        has("Normal Progressing: ConfigMap/apps/a created\nConfigMap/apps/b created"),
        "{events:#?}"
    );
    assert!(has("Normal Progressing: ConfigMap/apps/b deleted"), "{events:#?}");
    assert!(has("Normal ReconciliationSucceeded: Reconciliation finished in "), "{events:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_broken_build_stops_and_the_next_commit_recovers() {
    let ground = Ground::new().await;
    let file = config_map_file("a", "1");
    ground.commit("break it", &[("app/kustomization.yaml", "resources: [missing.yaml]")]);
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    let app = kustomization("app", "./app", json!({}));
    ground.apply(app.clone()).await;
    let broken = ground.until(&app, |it| said(it, "Ready").starts_with("False BuildFailed")).await;
    assert!(
        said(&broken, "Ready").contains("kustomize build failed: "),
        "{}",
        said(&broken, "Ready")
    );
    assert!(
        said(&broken, "Reconciling").starts_with("True ProgressingWithRetry: Building manifests")
    );
    let fixed = ground.commit("mend it", &[("app/a.yaml", &file)]);
    let expected = format!("True ReconciliationSucceeded: Applied revision: {fixed}");
    ground.until_ready_says(&app, &expected).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_missing_is_named() {
    let ground = Ground::new().await;
    let file = config_map_file("a", "1");
    ground.apply(namespace()).await;
    let app = kustomization("app", "./nowhere", json!({"retryInterval": "30s"}));
    ground.apply(app.clone()).await;
    let expected =
        "False ArtifactFailed: GitRepository.source.toolkit.fluxcd.io \"platform\" not found";
    ground.until_ready_says(&app, expected).await;
    ground.commit("a file", &[("app/a.yaml", &file)]);
    ground.apply(repository()).await;
    let expected = "False ArtifactFailed: kustomization path not found: stat /nowhere: no such file or directory";
    ground.until_ready_says(&app, expected).await;
}

#[tokio::test(start_paused = true)]
async fn dependants_are_woken_and_need_not_ask() {
    let mut ground = Ground::idle().await;
    ground.settings().requeue_dependency = Duration::from_hours(1);
    ground.start();
    let (a, b, c) =
        (config_map_file("a", "1"), config_map_file("b", "1"), config_map_file("c", "1"));
    let files = [("a/a.yaml", a.as_str()), ("b/b.yaml", b.as_str()), ("c/c.yaml", c.as_str())];
    ground.commit("three layers", &files);
    ground.apply(namespace()).await;
    let third = kustomization("third", "c", json!({"dependsOn": [{"name": "second"}]}));
    let second = kustomization("second", "b", json!({"dependsOn": [{"name": "first"}]}));
    ground.apply(third.clone()).await;
    ground.apply(second).await;
    ground.apply(repository()).await;
    let expected = "False DependencyNotReady: dependency 'apps/second' is not ready";
    ground.until_ready_says(&third, expected).await;
    let started = tokio::time::Instant::now();
    ground.apply(kustomization("first", "a", json!({}))).await;
    ground.until(&third, |it| said(it, "Ready").starts_with("True")).await;
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_suspended_one_is_left_alone_and_goes_without_pruning() {
    let ground = Ground::new().await;
    let file = config_map_file("a", "1");
    ground.commit("a", &[("app/a.yaml", &file)]);
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    let app = kustomization("app", "app", json!({}));
    ground.apply(app.clone()).await;
    let ready = ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    ground.apply(kustomization("app", "app", json!({"suspend": true}))).await;
    let changed = config_map_file("a", "2");
    ground.commit("change a", &[("app/a.yaml", &changed)]);
    tokio::time::sleep(Duration::from_mins(30)).await;
    let still = ground.get(&app).await.unwrap();
    assert_eq!(still["status"]["lastAppliedRevision"], ready["status"]["lastAppliedRevision"]);
    assert_eq!(ground.get(&config_map("a")).await.unwrap()["data"]["value"], "1");
    ground.delete(&app).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(ground.get(&app).await.is_none());
    assert!(ground.get(&config_map("a")).await.is_some());
}

#[tokio::test(start_paused = true)]
async fn deletion_takes_along_what_was_applied() {
    let ground = Ground::new().await;
    let file = config_map_file("a", "1");
    ground.commit("a", &[("app/a.yaml", &file)]);
    ground.apply(namespace()).await;
    ground.apply(config_map("foreign")).await;
    ground.apply(repository()).await;
    let app = kustomization("app", "app", json!({}));
    ground.apply(app.clone()).await;
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    ground.delete(&app).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(ground.get(&app).await.is_none());
    assert!(ground.get(&config_map("a")).await.is_none());
    assert!(ground.get(&config_map("foreign")).await.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_missing_source_of_variables_applies_nothing_and_is_waited_for() {
    let ground = Ground::new().await;
    let (a, b) = (config_map_file("a", "1"), config_map_file("b", "${zone}"));
    ground.commit("a and b", &[("app/a.yaml", &a), ("app/b.yaml", &b)]);
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    let from = json!({"postBuild": {"substituteFrom": [{"kind": "ConfigMap", "name": "region"}]}});
    let app = kustomization("app", "app", from);
    ground.apply(app.clone()).await;
    let expected = "False BuildFailed: post build failed for 'ConfigMap.v1.[noGrp]/a': substitute from 'ConfigMap/region' error: configmaps \"region\" not found";
    ground.until_ready_says(&app, expected).await;
    assert!(ground.get(&config_map("a")).await.is_none(), "nothing is applied");
    let started = tokio::time::Instant::now();
    let mut region = config_map("region");
    region["data"] = json!({"zone": "north"});
    ground.apply(region).await;
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    assert_eq!(ground.get(&config_map("b")).await.unwrap()["data"]["value"], "north");
}

#[tokio::test(start_paused = true)]
async fn the_root_of_an_artifact_is_a_path_like_others() {
    let ground = Ground::new().await;
    let (a, b) = (config_map_file("a", "1"), config_map_file("b", "1"));
    ground.commit("a and b", &[("a.yaml", &a), ("deep/b.yaml", &b)]);
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    for path in ["./", "/", "", "./deep/.."] {
        let app = kustomization("app", path, json!({}));
        ground.apply(app.clone()).await;
        ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
        for name in ["a", "b"] {
            assert!(ground.get(&config_map(name)).await.is_some(), "{path:?}");
        }
        ground.delete(&app).await;
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
}
