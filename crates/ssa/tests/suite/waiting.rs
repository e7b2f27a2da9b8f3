//! Waiting for health on simulated machines.

use std::time::Duration;

use serde_json::{Value, json};
use sluice_api::shared::health::CustomHealthCheck;
use sluice_kstatus::Status;
use sluice_ssa::{
    ChangeSet, HealthChecks, Owner, WaitError, WaitOptions, WaitTarget, jobs_with_ttl,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::ground::{Ground, config_map, deployment, owned, widget, widget_definition};

fn targets(changes: &ChangeSet) -> Vec<WaitTarget> {
    changes.entries.iter().map(WaitTarget::from).collect()
}

fn within(seconds: u64) -> WaitOptions {
    WaitOptions { timeout: Duration::from_secs(seconds), fail_fast: true, ..WaitOptions::default() }
}

fn job(name: &str, ttl: Option<i64>) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"ttlSecondsAfterFinished": ttl, "backoffLimit": 0, "template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "i:1"}],
        }}},
    })
}

#[tokio::test(start_paused = true)]
async fn what_is_known_to_be_well_costs_no_request() {
    let ground = Ground::still();
    let objects: Vec<Value> = (0..10).map(|i| config_map(&format!("c{i}"), "1")).collect();
    let changes = ground.apply(objects).await.unwrap();
    ground.asked();
    ground.applier.wait(targets(&changes), &within(60)).await.unwrap();
    assert_eq!(ground.asked(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_rollout_is_waited_for_with_one_watch() {
    let ground = Ground::running();
    let changes = ground.apply(vec![deployment("web", 3)]).await.unwrap();
    ground.asked();
    ground.applier.wait(targets(&changes), &within(120)).await.unwrap();
    assert_eq!(ground.asked(), 1);
    let path = "/apis/apps/v1/namespaces/default/deployments/web";
    assert_eq!(ground.get(path).await.unwrap()["status"]["availableReplicas"], 3);
}

#[tokio::test(start_paused = true)]
async fn many_rollouts_of_a_namespace_share_a_watch() {
    let ground = Ground::running();
    let objects: Vec<Value> = (0..8).map(|i| deployment(&format!("web{i}"), 1)).collect();
    let changes = ground.apply(objects).await.unwrap();
    ground.asked();
    let labels = Some(Owner::kustomize().selector("apps", "flux-system"));
    let options = WaitOptions { labels, ..within(120) };
    ground.applier.wait(targets(&changes), &options).await.unwrap();
    // A list and a watch.
    assert_eq!(ground.asked(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_come_is_named_with_its_last_status() {
    let ground = Ground::still();
    let changes = ground.apply(vec![deployment("web", 1), config_map("a", "1")]).await.unwrap();
    let mut waited = targets(&changes);
    waited.push(WaitTarget::from(sluice_ssa::ObjectKey::of(&config_map("missing", ""))));
    let begun = Instant::now();
    let error = ground.applier.wait(waited, &within(30)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "timeout waiting for: [ConfigMap/default/missing status: 'NotFound', \
         Deployment/default/web status: 'InProgress']"
    );
    assert_eq!(begun.elapsed().as_secs(), 30);
    let messages: Vec<&str> =
        error.objects().iter().map(|object| object.seen.message.as_str()).collect();
    assert_eq!(messages, ["Resource not found", "Replicas: 0/1"]);
}

#[tokio::test(start_paused = true)]
async fn a_job_counts_when_it_is_done_and_a_failed_one_ends_the_wait() {
    let ground = Ground::still();
    let changes = ground.apply(vec![job("j", None)]).await.unwrap();
    let path = "/apis/batch/v1/namespaces/default/jobs/j/status";
    let waiting = tokio::spawn({
        let (applier, waited) = (ground.applier.clone(), targets(&changes));
        async move { applier.wait(waited, &within(600)).await }
    });
    tokio::time::sleep(Duration::from_secs(5)).await;
    let now = "2026-01-01T00:00:00Z";
    let conditions = json!([
        {"type": "FailureTarget", "status": "True", "lastTransitionTime": now, "reason": "BackoffLimitExceeded"},
        {"type": "Failed", "status": "True", "lastTransitionTime": now, "reason": "BackoffLimitExceeded"},
    ]);
    let patch = json!({"status": {"failed": 1, "startTime": now, "conditions": conditions}});
    ground.send("PATCH", path, "application/merge-patch+json", &patch).await;
    let error = waiting.await.unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed early due to stalled resources: [Job/default/j status: 'Failed']"
    );
    assert_eq!(error.objects().first().unwrap().seen.message, "Job Failed. failed: 1/1");
}

#[tokio::test(start_paused = true)]
async fn a_job_that_cleans_up_after_itself_is_fine_when_it_is_gone() {
    let ground = Ground::running();
    let objects = owned(vec![job("j", Some(0))]);
    let ttl = jobs_with_ttl(&objects);
    assert_eq!(ttl.len(), 1);
    let changes = ground.applier.apply(objects, &crate::ground::options()).await.unwrap();
    let options = WaitOptions { jobs_with_ttl: ttl, ..within(300) };
    ground.applier.wait(targets(&changes), &options).await.unwrap();
    // Long after, it is not found, and still fine.
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert!(ground.get("/apis/batch/v1/namespaces/default/jobs/j").await.is_none());
    let key = changes.entries.first().unwrap().key.clone();
    ground.applier.wait(vec![key.into()], &options).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn expressions_tell_the_health_of_custom_resources() {
    let checks = HealthChecks::compile(&[CustomHealthCheck {
        api_version: "example.com/v1".to_owned(),
        kind: Some("Widget".to_owned()),
        current: "status.phase == 'Done'".to_owned(),
        failed: Some("status.phase == 'Broken'".to_owned()),
        ..CustomHealthCheck::default()
    }])
    .unwrap();
    let ground = Ground::still().with_health_checks(checks);
    let changes = ground.apply(vec![widget_definition(), widget("w", 1)]).await.unwrap();
    let error = ground.applier.wait(targets(&changes), &within(30)).await.unwrap_err();
    let WaitError::TimedOut(unhealthy) = &error else { panic!("{error}") };
    // Nothing to evaluate yet.
    assert_eq!(unhealthy.first().unwrap().seen.status, Status::Unknown);
    assert!(
        error.to_string().contains("Widget/default/w status: 'Unknown': failed to evaluate"),
        "{error}"
    );

    let path = "/apis/example.com/v1/namespaces/default/widgets/w/status";
    for (phase, good) in [("Broken", false), ("Done", true)] {
        let patch = json!({"status": {"phase": phase}});
        ground.send("PATCH", path, "application/merge-patch+json", &patch).await;
        let waited = ground.applier.wait(targets(&changes), &within(30)).await;
        assert_eq!(waited.is_ok(), good, "{phase}: {waited:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_is_called_off() {
    let ground = Ground::still();
    let changes = ground.apply(vec![deployment("web", 1)]).await.unwrap();
    let cancel = CancellationToken::new();
    let options = WaitOptions { cancel: cancel.clone(), ..within(600) };
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(7)).await;
        cancel.cancel();
    });
    let begun = Instant::now();
    let ended = ground.applier.wait(targets(&changes), &options).await;
    assert_eq!(ended, Err(WaitError::Canceled));
    assert_eq!(begun.elapsed().as_secs(), 7);
}

#[tokio::test(start_paused = true)]
async fn watches_that_end_and_histories_that_are_forgotten_lose_nothing() {
    let ground = Ground::running();
    let changes = ground.apply(vec![deployment("web", 2)]).await.unwrap();
    let cluster = ground.cluster.clone();
    tokio::spawn(async move {
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_millis(500)).await;
            cluster.compact();
            cluster.close_watches();
        }
    });
    ground.applier.wait(targets(&changes), &within(120)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn whoever_may_not_watch_asks_now_and_then() {
    let ground = Ground::running();
    let rules = json!([
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "create", "patch"]},
    ]);
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": "tenant", "namespace": "default"}, "rules": rules,
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": "tenant", "namespace": "default"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "tenant"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "tenant"}],
    });
    let authenticated = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "tenant-discovery"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:discovery"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "tenant"}],
    });
    ground.apply(vec![role, binding, authenticated]).await.unwrap();
    let ground = ground.impersonating("tenant");
    let changes = ground.apply(vec![deployment("web", 1)]).await.unwrap();
    ground.asked();
    ground.applier.wait(targets(&changes), &within(120)).await.unwrap();
    let asked = ground.asked();
    assert!((2..20).contains(&asked), "{asked} requests");
}

#[tokio::test(start_paused = true)]
async fn a_stateful_set_fails_with_its_pods() {
    let ground = Ground::still();
    let set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {
            "replicas": 1, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
            "template": {
                "metadata": {"labels": {"app": "db"}},
                "spec": {"containers": [{"name": "db", "image": "db:1"}]},
            },
        },
    });
    let changes = ground.apply(vec![set]).await.unwrap();
    // The namespace gets its account in the meantime.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "db-0", "namespace": "default", "labels": {"app": "db"}},
        "spec": {"containers": [{"name": "db", "image": "db:1"}]},
    });
    ground.send("POST", "/api/v1/namespaces/default/pods", "application/json", &pod).await;
    let waiting = tokio::spawn({
        let (applier, waited) = (ground.applier.clone(), targets(&changes));
        async move { applier.wait(waited, &within(600)).await }
    });
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert!(!waiting.is_finished());
    let waits = json!({"reason": "CrashLoopBackOff", "message": "back-off"});
    let status = json!({"status": {"phase": "Running", "conditions": [], "containerStatuses": [{
        "name": "db", "image": "db:1", "imageID": "", "ready": false, "restartCount": 3,
        "state": {"waiting": waits},
    }]}});
    let path = "/api/v1/namespaces/default/pods/db-0/status";
    ground.send("PATCH", path, "application/merge-patch+json", &status).await;
    let error = waiting.await.unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed early due to stalled resources: [StatefulSet/default/db status: 'Failed']"
    );
    assert_eq!(error.objects().first().unwrap().seen.message, "1 pods have failed");
}
