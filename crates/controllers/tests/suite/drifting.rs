//! What others do to applied objects, and what is done about it.

use std::time::Duration;

use serde_json::{Value, json};
use sluice_controllers::drift::{DriftLimits, DriftMode};

use crate::ground::{
    Ground, config_map, config_map_file, kustomization, namespace, repository, said,
};

fn with_drift(mut object: Value, mode: &str) -> Value {
    object["metadata"]["annotations"] = json!({"sluice.dev/drift": mode});
    object
}

/// A ConfigMap with a value that is not the source's.
fn changed(name: &str, value: &str) -> Value {
    let mut object = config_map(name);
    object["data"] = json!({"value": value});
    object
}

fn is_ready(object: &Value) -> bool {
    said(object, "Ready").starts_with("True")
}

/// An app of two ConfigMaps, ready and watched, with its drift mode.
async fn installed(mode: &str, interval: &str) -> (Ground, Value) {
    let ground = Ground::new().await;
    let (a, b) = (config_map_file("a", "1"), config_map_file("b", "1"));
    ground.commit("a and b", &[("app/a.yaml", &a), ("app/b.yaml", &b)]);
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    let app = with_drift(kustomization("app", "app", json!({"interval": interval})), mode);
    ground.apply(app.clone()).await;
    ground.until(&app, is_ready).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    ground.writes();
    (ground, app)
}

#[tokio::test(start_paused = true)]
async fn in_repair_a_change_and_a_deletion_are_put_right_at_once() {
    let (ground, _) = installed("repair", "1h").await;
    let value = |it: &Value| it["data"]["value"] == "1";
    for round in 0..3 {
        ground.apply(changed("a", "foreign")).await;
        let started = tokio::time::Instant::now();
        ground.until(&config_map("a"), value).await;
        assert!(started.elapsed() < Duration::from_secs(2), "{round}: {:?}", started.elapsed());
        tokio::time::sleep(Duration::from_mins(5)).await;
    }
    ground.delete(&config_map("b")).await;
    let started = tokio::time::Instant::now();
    ground.until(&config_map("b"), value).await;
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    assert_eq!(ground.writes().len(), 4, "one for each");
}

#[tokio::test(start_paused = true)]
async fn own_writes_and_foreign_fields_wake_nobody() {
    let (ground, app) = installed("repair", "1h").await;
    let before = ground.get(&app).await.unwrap()["status"]["history"].clone();
    let mut foreign = config_map("a");
    foreign["data"] = json!({"more": "not ours"});
    ground.apply(foreign).await;
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert_eq!(ground.get(&app).await.unwrap()["status"]["history"], before, "no pass");
    let a = config_map_file("a", "2");
    ground.commit("only a, and changed", &[("app/a.yaml", &a)]);
    ground.until(&config_map("a"), |it| it["data"]["value"] == "2").await;
    tokio::time::sleep(Duration::from_mins(10)).await;
    let history = ground.get(&app).await.unwrap()["status"]["history"].clone();
    assert_eq!(history[0]["totalReconciliations"], 1, "one pass for one commit: {history:#}");
    assert_eq!(ground.get(&config_map("a")).await.unwrap()["data"]["more"], "not ours");
}

#[tokio::test(start_paused = true)]
async fn the_interval_is_the_default() {
    let (ground, _) = installed("interval", "10m").await;
    ground.apply(changed("a", "foreign")).await;
    tokio::time::sleep(Duration::from_mins(2)).await;
    assert_eq!(ground.get(&config_map("a")).await.unwrap()["data"]["value"], "foreign");
    let watches = ground.asked("labelSelector");
    assert_eq!(watches, 0, "nothing is watched");
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert_eq!(ground.get(&config_map("a")).await.unwrap()["data"]["value"], "1");
}

#[tokio::test(start_paused = true)]
async fn a_warning_comes_at_once_and_once_and_the_interval_puts_it_right() {
    let (ground, app) = installed("warn", "30m").await;
    ground.apply(changed("a", "foreign")).await;
    let started = tokio::time::Instant::now();
    let warned = ground.until(&app, |it| !said(it, "Drifted").is_empty()).await;
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    assert_eq!(
        said(&warned, "Drifted"),
        "True DriftDetected: ConfigMap/apps/a was changed by user"
    );
    assert!(is_ready(&warned), "nothing else is different");
    ground.delete(&config_map("b")).await;
    let both =
        "True DriftDetected: ConfigMap/apps/a was changed by user\nConfigMap/apps/b was deleted";
    ground.until(&app, |it| said(it, "Drifted") == both).await;
    tokio::time::sleep(Duration::from_mins(20)).await;
    assert_eq!(ground.writes(), Vec::<String>::new());
    let events = ground.events("app").await;
    let warnings: Vec<&String> = events.iter().filter(|it| it.contains("DriftDetected")).collect();
    assert_eq!(
        warnings,
        [
            "Warning DriftDetected: ConfigMap/apps/a was changed by user",
            "Warning DriftDetected: ConfigMap/apps/b was deleted",
        ]
    );
    let mended = ground.until(&app, |it| said(it, "Drifted").is_empty()).await;
    assert!(is_ready(&mended));
    assert_eq!(ground.get(&config_map("a")).await.unwrap()["data"]["value"], "1");
    assert!(ground.get(&config_map("b")).await.is_some());
}

/// What nobody touched is neither read nor tried at the interval; once an hour it is.
#[tokio::test(start_paused = true)]
async fn what_nobody_touched_is_not_looked_at() {
    let idle = async |mode: &str| {
        let (ground, app) = installed(mode, "10m").await;
        ground.asked("");
        tokio::time::sleep(Duration::from_mins(55)).await;
        let tries = ground.asked("dryRun=All");
        tokio::time::sleep(Duration::from_mins(15)).await;
        let history = ground.get(&app).await.unwrap()["status"]["history"].clone();
        assert!(history[0]["totalReconciliations"].as_i64().unwrap() >= 6, "{history}");
        (tries, ground.asked("dryRun=All") - tries)
    };
    let (within, after) = idle("repair").await;
    assert_eq!((within, after), (0, 2), "two objects, once an hour");
    let (within, _) = idle("interval").await;
    assert!(within >= 10, "{within}");
}

#[tokio::test(start_paused = true)]
async fn somebody_who_does_not_give_up_is_named_and_left_to_the_interval() {
    let (ground, app) = installed("repair", "20m").await;
    for round in 0..60 {
        ground.apply(changed("a", &format!("foreign {round}"))).await;
        tokio::time::sleep(Duration::from_mins(1)).await;
    }
    let writes = ground.writes();
    assert!(writes.len() >= 7 && writes.len() <= 9, "5 at once, then each 20 minutes: {writes:#?}");
    let fighting = ground.get(&app).await.unwrap();
    let expected =
        "True Contested: ConfigMap/apps/a is changed again and again by user: .data.value";
    assert_eq!(said(&fighting, "Fighting"), expected);
    assert!(is_ready(&fighting));
    let events = ground.events("app").await;
    let told = events.iter().filter(|it| it.starts_with("Warning Contested: ")).count();
    assert_eq!(told, 1, "{events:#?}");
    // The other side gives up; after a while a change is put right at once again.
    ground.until(&config_map("a"), |it| it["data"]["value"] == "1").await;
    tokio::time::sleep(Duration::from_hours(2)).await;
    assert_eq!(said(&ground.get(&app).await.unwrap(), "Fighting"), "");
    ground.apply(changed("a", "foreign")).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(ground.get(&config_map("a")).await.unwrap()["data"]["value"], "1");
}

#[tokio::test(start_paused = true)]
async fn two_kustomizations_that_want_one_object_write_no_more_than_their_intervals_ask_for() {
    for mode in ["interval", "repair"] {
        let ground = Ground::new().await;
        let (one, two) = (config_map_file("x", "one"), config_map_file("x", "two"));
        ground.commit("x twice", &[("one/x.yaml", &one), ("two/x.yaml", &two)]);
        ground.apply(namespace()).await;
        ground.apply(repository()).await;
        let one = with_drift(kustomization("one", "one", json!({"interval": "5m"})), mode);
        let two = with_drift(kustomization("two", "two", json!({"interval": "7m"})), mode);
        ground.apply(one.clone()).await;
        ground.apply(two.clone()).await;
        tokio::time::sleep(Duration::from_hours(1)).await;
        let writes = ground.writes().into_iter().filter(|it| it.contains("/configmaps/x")).count();
        assert!((4..=25).contains(&writes), "{mode}: {writes} writes in an hour");
        let text = |one: &str, two: &str| {
            format!(
                "True Contested: ConfigMap/apps/x is applied by Kustomization apps/{one} and by Kustomization apps/{two}"
            )
        };
        assert_eq!(said(&ground.get(&one).await.unwrap(), "Fighting"), text("one", "two"));
        assert_eq!(said(&ground.get(&two).await.unwrap(), "Fighting"), text("two", "one"));
    }
}

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: apps}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: 'registry.test/web:1'}]}
";

const AUTOSCALER: &str = "apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: apps}
spec:
  minReplicas: 3
  maxReplicas: 5
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
";

/// A Deployment with an autoscaler that wants three replicas.
async fn scaled(deployment: &str) -> (Ground, Value, Value) {
    let ground = Ground::new().await;
    let files = [("app/web.yaml", deployment), ("app/scaler.yaml", AUTOSCALER)];
    ground.commit("web", &files);
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    let app = with_drift(kustomization("app", "app", json!({"interval": "20m"})), "repair");
    ground.apply(app.clone()).await;
    ground.until(&app, is_ready).await;
    tokio::time::sleep(Duration::from_mins(2)).await;
    let web = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "apps"}});
    (ground, app, web)
}

#[tokio::test(start_paused = true)]
async fn an_autoscaler_that_owns_replicas_is_left_alone() {
    let (ground, app, web) = scaled(DEPLOYMENT).await;
    assert_eq!(ground.get(&web).await.unwrap()["spec"]["replicas"], 3);
    ground.writes();
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert_eq!(ground.writes(), Vec::<String>::new());
    assert_eq!(ground.get(&web).await.unwrap()["spec"]["replicas"], 3);
    assert_eq!(said(&ground.get(&app).await.unwrap(), "Fighting"), "");
    // The rest of the Deployment is ours.
    let mut foreign = web.clone();
    foreign["spec"] =
        json!({"template": {"spec": {"containers": [{"name": "web", "image": "foreign"}]}}});
    ground.apply(foreign).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let put_right = ground.get(&web).await.unwrap();
    let image = put_right.pointer("/spec/template/spec/containers/0/image").unwrap();
    assert_eq!((image, &put_right["spec"]["replicas"]), (&json!("registry.test/web:1"), &json!(3)));
}

#[tokio::test(start_paused = true)]
async fn declared_replicas_win_over_an_autoscaler_and_the_fight_is_named() {
    let declared = DEPLOYMENT.replace("spec:\n  selector", "spec:\n  replicas: 2\n  selector");
    let (ground, app, _) = scaled(&declared).await;
    tokio::time::sleep(Duration::from_hours(1)).await;
    let writes = ground.writes().into_iter().filter(|it| it.contains("/deployments/web")).count();
    assert!((6..=10).contains(&writes), "{writes} writes");
    let fighting = said(&ground.get(&app).await.unwrap(), "Fighting");
    let expected = "True Contested: Deployment/apps/web is changed again and again by kube-controller-manager: .spec.replicas";
    assert_eq!(fighting, expected);
}

#[tokio::test(start_paused = true)]
async fn a_mode_that_is_none_is_said() {
    let ground = Ground::new().await;
    let file = config_map_file("a", "1");
    ground.commit("a", &[("app/a.yaml", &file)]);
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    let app = with_drift(kustomization("app", "app", json!({})), "always");
    ground.apply(app.clone()).await;
    let expected = "False ReconciliationFailed: annotation sluice.dev/drift: \"always\" is none of interval, warn and repair";
    ground.until_ready_says(&app, expected).await;
    assert!(ground.get(&config_map("a")).await.is_none());
    ground.apply(with_drift(kustomization("app", "app", json!({})), "repair")).await;
    let started = tokio::time::Instant::now();
    ground.until(&app, is_ready).await;
    assert!(started.elapsed() < Duration::from_secs(2), "an annotation is heard of at once");
}

/// Past a limit the interval has to do, and that is said; what is watched stays watched.
#[tokio::test(start_paused = true)]
async fn more_than_may_be_watched_is_left_to_the_interval() {
    let (a, b) = (config_map_file("a", "1"), config_map_file("b", "1"));
    let files = [("one/a.yaml", a.as_str()), ("two/b.yaml", b.as_str())];
    let too_many = "True LimitReached: too many objects are watched; the interval has to do";
    let no_kinds = "True LimitReached: there are too many kinds to watch: ConfigMap, MutatingWebhookConfiguration, ValidatingWebhookConfiguration, CustomResourceDefinition; the interval has to do";
    for (kinds, objects, expected) in [(500, 1, too_many), (0, 500, no_kinds)] {
        let ground = Ground::with(&files, |settings| {
            settings.drift = DriftMode::Repair;
            settings.drift_limits = DriftLimits { kinds, objects };
        })
        .await;
        let (one, two) =
            (kustomization("one", "one", json!({})), kustomization("two", "two", json!({})));
        for object in [&one, &two] {
            ground.apply(object.clone()).await;
            ground.until(object, is_ready).await;
        }
        let said_so = said(&ground.get(&two).await.unwrap(), "Unwatched");
        assert!(said_so.starts_with(expected), "{said_so}");
        assert_eq!(said(&ground.get(&one).await.unwrap(), "Unwatched").is_empty(), kinds > 0);
        for name in ["a", "b"] {
            ground.apply(changed(name, "foreign")).await;
        }
        tokio::time::sleep(Duration::from_mins(1)).await;
        let is_watched = if kinds > 0 { "1" } else { "foreign" };
        assert_eq!(ground.get(&config_map("a")).await.unwrap()["data"]["value"], is_watched);
        assert_eq!(ground.get(&config_map("b")).await.unwrap()["data"]["value"], "foreign");
        tokio::time::sleep(Duration::from_mins(12)).await;
        assert_eq!(ground.get(&config_map("b")).await.unwrap()["data"]["value"], "1");
    }
}

/// A change is put right although the pass before it still waits for health.
#[tokio::test(start_paused = true)]
async fn a_wait_for_health_does_not_hold_a_repair_up() {
    let large = DEPLOYMENT.replace(
        "image: 'registry.test/web:1'",
        "image: 'registry.test/web:1', resources: {requests: {cpu: '4000'}}",
    );
    let a = config_map_file("a", "1");
    let files = [("app/web.yaml", large.as_str()), ("app/a.yaml", a.as_str())];
    let ground = Ground::with(&files, |_| {}).await;
    let spec = json!({"wait": true, "timeout": "30m", "interval": "1h"});
    let app = with_drift(kustomization("app", "app", spec), "repair");
    ground.apply(app.clone()).await;
    ground.until(&app, |it| said(it, "Healthy").starts_with("Unknown Progressing")).await;
    tokio::time::sleep(Duration::from_mins(1)).await;
    ground.apply(changed("a", "foreign")).await;
    let started = tokio::time::Instant::now();
    ground.until(&config_map("a"), |it| it["data"]["value"] == "1").await;
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    let events = ground.events("app").await;
    let told = "Normal HealthCheckCanceled: Health checks canceled due to new reconciliation triggered by ConfigMap/apps/a";
    assert!(events.iter().any(|event| event == told), "{events:#?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_suspended_is_neither_watched_nor_put_right() {
    let (ground, app) = installed("repair", "1h").await;
    let suspended = kustomization("app", "app", json!({"interval": "1h", "suspend": true}));
    ground.apply(with_drift(suspended, "repair")).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    ground.apply(changed("a", "foreign")).await;
    tokio::time::sleep(Duration::from_mins(5)).await;
    assert_eq!(ground.get(&config_map("a")).await.unwrap()["data"]["value"], "foreign");
    let resumed = kustomization("app", "app", json!({"interval": "1h", "suspend": false}));
    ground.apply(with_drift(resumed, "repair")).await;
    ground.until(&config_map("a"), |it| it["data"]["value"] == "1").await;
    ground.until(&app, is_ready).await;
}
