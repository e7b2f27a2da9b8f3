//! What holds over time: health, crashes, and nothing to do.

use std::time::Duration;

use serde_json::json;

use crate::ground::{
    Ground, config_map, config_map_file, kustomization, namespace, repository, said,
};

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: apps
spec:
  replicas: 2
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
        - name: web
          image: registry.test/web:1
";

#[tokio::test(start_paused = true)]
async fn a_deployment_is_waited_for() {
    let ground = Ground::new().await;
    ground.commit("web", &[("app/web.yaml", DEPLOYMENT)]);
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    let app = kustomization("app", "app", json!({"wait": true}));
    ground.apply(app.clone()).await;
    let ready = ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    let healthy = said(&ready, "Healthy");
    assert!(healthy.starts_with("True Succeeded: Health check passed in "), "{healthy}");
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "apps"}});
    assert_eq!(ground.get(&deployment).await.unwrap()["status"]["readyReplicas"], 2);
}

#[tokio::test(start_paused = true)]
async fn what_never_gets_well_is_told_and_a_new_commit_ends_the_wait() {
    let ground = Ground::new().await;
    let too_large = DEPLOYMENT.replace(
        "image: registry.test/web:1",
        "image: registry.test/web:1\n          resources: {requests: {cpu: '4000'}}",
    );
    ground.commit("too large", &[("app/web.yaml", &too_large)]);
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    let app =
        kustomization("app", "app", json!({"wait": true, "timeout": "5m", "interval": "30m"}));
    ground.apply(app.clone()).await;
    ground
        .until(&app, |it| {
            said(it, "Healthy").starts_with("Unknown Progressing: Running health checks")
        })
        .await;
    let heard = ground.listen(&app);
    let file = config_map_file("a", "1");
    let mended = ground.commit("nothing large", &[("app/a.yaml", &file)]);
    let expected = format!("True ReconciliationSucceeded: Applied revision: {mended}");
    let started = tokio::time::Instant::now();
    ground.until_ready_says(&app, &expected).await;
    assert!(started.elapsed() < Duration::from_mins(2), "{:?}", started.elapsed());
    let canceled =
        "False HealthCheckCanceled: New reconciliation triggered by GitRepository/apps/platform";
    let heard = heard.lock().unwrap().clone();
    assert!(heard.iter().any(|it| it == canceled), "{heard:#?}");
    let events = ground.events("app").await;
    let told = "Normal HealthCheckCanceled: Health checks canceled due to new reconciliation triggered by GitRepository/apps/platform";
    assert!(events.iter().any(|it| it == told), "{events:#?}");
    ground.commit("too large again", &[("app/web.yaml", &too_large)]);
    let failed =
        ground.until(&app, |it| said(it, "Ready").starts_with("False HealthCheckFailed")).await;
    let ready = said(&failed, "Ready");
    assert!(ready.contains("health check failed after 5m"), "{ready}");
    assert!(
        ready.contains("timeout waiting for: [Deployment/apps/web status: 'InProgress'"),
        "{ready}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_idle_hour_writes_nothing_to_workloads() {
    let ground = Ground::new().await;
    let file = config_map_file("a", "1");
    ground.commit("web", &[("app/web.yaml", DEPLOYMENT), ("app/a.yaml", &file)]);
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    let app = kustomization("app", "app", json!({"wait": true}));
    ground.apply(app.clone()).await;
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    ground.writes();
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert_eq!(ground.writes(), Vec::<String>::new());
    let history = ground.get(&app).await.unwrap()["status"]["history"].clone();
    assert_eq!(history.as_array().unwrap().len(), 1);
    assert!(history[0]["totalReconciliations"].as_i64().unwrap() >= 6, "{history}");
}

/// The controllers are killed after their first write, after their second, and so on; in the end nothing is
/// orphaned.
#[tokio::test(start_paused = true)]
async fn a_crash_orphans_nothing() {
    let (a, b) = (config_map_file("a", "1"), config_map_file("b", "1"));
    let (mut remembered, mut applied) = (0, 0);
    for writes in 1..=12 {
        let mut ground = Ground::idle().await;
        ground.apply(namespace()).await;
        ground.apply(repository()).await;
        let app = kustomization("app", "app", json!({}));
        ground.apply(app.clone()).await;
        ground.commit("a and b", &[("app/a.yaml", &a), ("app/b.yaml", &b)]);
        ground.start();
        ground.crash_after(writes).await;
        let left = ground.get(&app).await.unwrap();
        let is_remembered = left["status"]["inventory"]["entries"].as_array().is_some();
        let is_applied = ground.get(&config_map("b")).await.is_some();
        assert!(is_remembered || !is_applied, "applied before it was remembered");
        remembered += usize::from(is_remembered && !is_applied);
        applied += usize::from(is_applied);
        // Meanwhile the source moves on, and no longer holds what may have been applied.
        let moved = ground.commit("only a", &[("app/a.yaml", &a)]);
        ground.start();
        let expected = format!("True ReconciliationSucceeded: Applied revision: {moved}");
        ground.until_ready_says(&app, &expected).await;
        assert!(ground.get(&config_map("a")).await.is_some(), "after {writes} writes");
        assert!(ground.get(&config_map("b")).await.is_none(), "after {writes} writes");
        ground.stop().await;
    }
    assert!(remembered > 0 && applied > 0, "{remembered} crashes before, {applied} after");
}
