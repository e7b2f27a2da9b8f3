//! What is waited for, and how its health is read.

use serde_json::json;

use crate::ground::{Ground, config_map_file, kustomization, said};

#[tokio::test(start_paused = true)]
async fn objects_that_are_named_are_waited_for() {
    let a = config_map_file("a", "1");
    let ground = Ground::with(&[("app/a.yaml", &a)], |_| {}).await;
    let checks = json!([{"kind": "Deployment", "name": "other", "namespace": "apps"}]);
    let app = kustomization(
        "app",
        "app",
        json!({"healthChecks": checks, "timeout": "1m", "retryInterval": "30s"}),
    );
    ground.apply(app.clone()).await;
    let waits = "Unknown Progressing: Running health checks for revision main@sha1:";
    ground.until(&app, |it| said(it, "Healthy").starts_with(waits)).await;
    let failed =
        ground.until(&app, |it| said(it, "Ready").starts_with("False HealthCheckFailed")).await;
    let words = "False HealthCheckFailed: health check failed after 1m";
    assert!(said(&failed, "Ready").starts_with(words), "{}", said(&failed, "Ready"));
    assert!(
        said(&failed, "Ready")
            .ends_with("timeout waiting for: [Deployment/apps/other status: 'NotFound']"),
        "{}",
        said(&failed, "Ready")
    );
    assert_eq!(
        said(&failed, "Healthy"),
        "False HealthCheckFailed: timeout waiting for: [Deployment/apps/other status: 'NotFound']"
    );
    assert_eq!(failed["status"]["history"][0]["lastReconciledStatus"], "HealthCheckFailed");
    ground
        .apply(json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "other", "namespace": "apps"},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "registry.test/c"}]}}}}))
        .await;
    let ready = ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    assert!(said(&ready, "Healthy").starts_with("True Succeeded: Health check passed in "));
    let events = ground.events("app").await;
    assert!(
        events.iter().any(|it| it.starts_with("Normal Progressing: Health check passed in ")),
        "{events:#?}"
    );
    // Without anything to wait for, nothing is said about health.
    ground.apply(kustomization("app", "app", json!({"healthChecks": []}))).await;
    ground.until(&app, |it| said(it, "Healthy").is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn expressions_read_health() {
    let a = config_map_file("a", "wait");
    let ground = Ground::with(&[("app/a.yaml", &a)], |_| {}).await;
    let exprs = |current: &str| {
        json!({"wait": true, "timeout": "1m", "retryInterval": "30s", "healthCheckExprs": [{
        "apiVersion": "v1", "kind": "ConfigMap", "inProgress": "data.value == 'wait'", "failed": "data.value == 'bad'", "current": current}]})
    };
    let app = kustomization("app", "app", exprs("data.value =="));
    ground.apply(app.clone()).await;
    let words =
        "InvalidCELExpression: Reconciliation failed terminally due to configuration error: ";
    let stalled =
        ground.until(&app, |it| said(it, "Ready").starts_with(&format!("False {words}"))).await;
    assert!(said(&stalled, "Stalled").starts_with(&format!("True {words}")));
    ground.apply(kustomization("app", "app", exprs("data.value == 'good'"))).await;
    let words = "timeout waiting for: [ConfigMap/apps/a status: 'InProgress'";
    ground.until(&app, |it| said(it, "Ready").contains(words)).await;
    ground.commit("bad", &[("app/a.yaml", &config_map_file("a", "bad"))]);
    ground
        .until(&app, |it| {
            said(it, "Ready").contains(
                "failed early due to stalled resources: [ConfigMap/apps/a status: 'Failed'",
            )
        })
        .await;
    let revision = ground.commit("good", &[("app/a.yaml", &config_map_file("a", "good"))]);
    ground
        .until_ready_says(
            &app,
            &format!("True ReconciliationSucceeded: Applied revision: {revision}"),
        )
        .await;
}
