//! Whose job it is to fix what went wrong: said beside Flux's words, never in them.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::ground::{Ground, config_map_file, kustomization, said};

/// A Kustomization that fails: its name, what it is made from, its spec, the reason, and the class.
type Failing = (&'static str, String, Value, &'static str, &'static str);

fn failing() -> Vec<Failing> {
    let good = config_map_file("good", "1");
    let large = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: large, namespace: apps}\nspec:\n  selector: {matchLabels: {app: large}}\n  template:\n    metadata: {labels: {app: large}}\n    spec: {containers: [{name: c, image: registry.test/c, resources: {requests: {cpu: '4000'}}}]}\n";
    let homeless = config_map_file("a", "1").replace("namespace: apps", "namespace: nowhere");
    let unknown = "apiVersion: shop.test/v1\nkind: Basket\nmetadata: {name: a, namespace: apps}\n";
    let from = json!([{"kind": "ConfigMap", "name": "none"}]);
    let elsewhere = json!({"kind": "GitRepository", "name": "platform", "namespace": "other"});
    vec![
        ("path", good.clone(), json!({"path": "none"}), "ArtifactFailed", "source"),
        ("yaml", "a: [".to_owned(), json!({}), "BuildFailed", "desired-state"),
        ("name", config_map_file("Not_a", "1"), json!({}), "ReconciliationFailed", "desired-state"),
        ("denied", good.clone(), json!({"sourceRef": elsewhere}), "AccessDenied", "policy"),
        (
            "account",
            good.clone(),
            json!({"serviceAccountName": "nobody"}),
            "ReconciliationFailed",
            "rbac",
        ),
        ("home", homeless, json!({}), "ReconciliationFailed", "dependency"),
        ("kind", unknown.to_owned(), json!({}), "ReconciliationFailed", "dependency"),
        (
            "values",
            good.clone(),
            json!({"postBuild": {"substituteFrom": from}}),
            "BuildFailed",
            "dependency",
        ),
        (
            "after",
            good.clone(),
            json!({"dependsOn": [{"name": "none"}]}),
            "DependencyNotReady",
            "dependency",
        ),
        (
            "cluster",
            good.clone(),
            json!({"kubeConfig": {"secretRef": {"name": "none"}}}),
            "ReconciliationFailed",
            "dependency",
        ),
        (
            "keys",
            good,
            json!({"decryption": {"provider": "sops", "secretRef": {"name": "none"}}}),
            "BuildFailed",
            "dependency",
        ),
        (
            "large",
            large.to_owned(),
            json!({"wait": true, "timeout": "1m"}),
            "HealthCheckFailed",
            "health",
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn every_failure_says_whose_job_it_is() {
    let cases = failing();
    let files: Vec<(String, &str)> =
        cases.iter().map(|it| (format!("{}/a.yaml", it.0), it.1.as_str())).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, it)| (path.as_str(), *it)).collect();
    let mut ground = Ground::with(&files, |settings| settings.no_cross_namespace_refs = true).await;
    for (name, _, spec, reason, class) in cases {
        let mut app = kustomization(name, name, spec);
        app["spec"]["retryInterval"] = "1h".into();
        ground.apply(app.clone()).await;
        let words = format!("False {reason}: ");
        ground.until(&app, |it| said(it, "Ready").starts_with(&words)).await;
        let told = ground.classes(name).await;
        assert_eq!(told.last(), Some(&(reason.to_owned(), class.to_owned())), "{name}: {told:?}");
    }
    let broken = crate::ground::repository_with("broken", json!({"url": "https://git.test/none"}));
    ground.apply(broken.clone()).await;
    ground.until(&broken, |it| said(it, "Ready").starts_with("False GitOperationFailed")).await;
    let told = ground.classes("broken").await;
    let expected = ("GitOperationFailed".to_owned(), "source".to_owned());
    assert_eq!(told.first(), Some(&expected), "{told:?}");
    let counted = Arc::clone(&ground.operation().metrics).render();
    for line in [
        "sluice_reconcile_failures_total{class=\"rbac\",kind=\"Kustomization\"} 1",
        "sluice_reconcile_failures_total{class=\"health\",kind=\"Kustomization\"} 1",
        "sluice_reconcile_failures_total{class=\"source\",kind=\"GitRepository\"} ",
    ] {
        assert!(counted.lines().any(|it| it.starts_with(line)), "{line}\n{counted}");
    }
}

/// Two objects fail for different reasons: the event names the class of each, beside the one for all.
#[tokio::test(start_paused = true)]
async fn each_failing_object_has_a_class_of_its_own() {
    let invalid = config_map_file("Not_a", "1");
    let homeless = config_map_file("b", "1").replace("namespace: apps", "namespace: nowhere");
    let both = format!("{invalid}---\n{homeless}");
    let ground = Ground::with(&[("app/a.yaml", &both)], |_| {}).await;
    let app = kustomization("app", "app", json!({}));
    ground.apply(app.clone()).await;
    let failed =
        ground.until(&app, |it| said(it, "Ready").starts_with("False ReconciliationFailed")).await;
    assert!(!said(&failed, "Ready").contains("desired-state"), "the words are Flux's");
    let events = ground.api("v1", "Event", Some("apps"));
    let events = events.list(&kube::api::ListParams::default()).await.unwrap();
    let classes = events
        .items
        .into_iter()
        .find_map(|event| event.metadata.annotations?.get("sluice.dev/error-classes").cloned());
    let mut classes: Vec<Value> = serde_json::from_str(&classes.expect("an annotation")).unwrap();
    classes.sort_by_key(|it| it["object"].to_string());
    let expected = [
        json!({"object": "ConfigMap/apps/Not_a", "class": "desired-state"}),
        json!({"object": "ConfigMap/nowhere/b", "class": "dependency"}),
    ];
    assert_eq!(classes, expected);
}

/// All objects that are refused are told of, in the order of applying, and no more than fits.
#[tokio::test(start_paused = true)]
async fn refusals_are_told_together_in_order_and_within_bounds() {
    let few: String = ["C", "A", "B"].iter().map(|it| config_map_file(it, "1") + "---\n").collect();
    let many: String =
        (0..400).map(|it| config_map_file(&format!("N{it:0>60}"), "1") + "---\n").collect();
    let files = [("few/a.yaml", few.as_str()), ("many/a.yaml", many.as_str())];
    let ground = Ground::with(&files, |_| {}).await;
    let app = kustomization("few", "few", json!({"retryInterval": "30s"}));
    ground.apply(app.clone()).await;
    let words = "False ReconciliationFailed: ";
    let failed = ground.until(&app, |it| said(it, "Ready").starts_with(words)).await;
    let lines = said(&failed, "Ready");
    let named: Vec<&str> =
        lines.lines().filter_map(|line| line.split_once(" dry-run")).map(|it| it.0).collect();
    let all = ["ConfigMap/apps/A", "ConfigMap/apps/B", "ConfigMap/apps/C"];
    assert_eq!(named.join("\n"), format!("{words}{}", all.join("\n")), "{lines}");
    tokio::time::sleep(std::time::Duration::from_mins(2)).await;
    let again = ground.get(&app).await.unwrap();
    assert_eq!(said(&again, "Ready"), lines, "the same words each time");

    let app = kustomization("many", "many", json!({}));
    ground.apply(app.clone()).await;
    let failed = ground.until(&app, |it| said(it, "Ready").starts_with(words)).await;
    let message = said(&failed, "Ready").len() - words.len();
    assert_eq!(message, 32_768, "as long as a condition may be, to the byte");
    let told = ground.events("many").await;
    assert!(told.iter().any(|it| it.len() > 32_000), "told as an event, too");
    assert!(told.iter().all(|it| it.len() < 33_000), "and as bounded");
}
