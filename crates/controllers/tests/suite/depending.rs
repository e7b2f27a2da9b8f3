//! Who waits for whom, and how soon they hear of it.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::ground::{Ground, config_map_file, kustomization, namespace, repository, said};

fn depending(name: &str, path: &str, on: &Value) -> Value {
    let mut object = kustomization(name, path, json!({"interval": "1h"}));
    object["metadata"]["annotations"] = json!({"sluice.dev/depends-on": on.to_string()});
    object
}

/// The controllers, which would ask again only after an hour, and a commit of one ConfigMap.
async fn patient() -> Ground {
    let mut ground = Ground::idle().await;
    ground.settings().requeue_dependency = Duration::from_hours(1);
    ground.start();
    let file = config_map_file("a", "1");
    ground.commit("a", &[("app/a.yaml", &file)]);
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    ground
}

/// An object of any kind that becomes ready wakes those that wait for it, and no others.
#[tokio::test(start_paused = true)]
async fn any_object_that_becomes_ready_wakes_its_dependants() {
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "apps"},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "registry.test/web:1"}]},
            },
        },
    });
    let quota = |hard: &str| {
        json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "zone", "labels": {"tier": hard}}})
    };
    let class = |name: &str| {
        json!({"apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": "apps"}})
    };
    let cases: [(Value, Value, &str); 4] = [
        (
            json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}]),
            deployment.clone(),
            "dependency 'Deployment/apps/web' not found",
        ),
        (
            json!([{"apiVersion": "v1", "kind": "ServiceAccount", "name": "robot"}]),
            class("robot"),
            "dependency 'ServiceAccount/apps/robot' not found",
        ),
        (
            json!([{"apiVersion": "v1", "kind": "Namespace", "name": "zone",
                "readyExpr": "dep.metadata.labels['tier'] == 'gold'"}]),
            quota("gold"),
            "dependency 'Namespace/apps/zone' not found",
        ),
        (
            json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web",
                "readyExpr": "dep.status.availableReplicas == 1"}]),
            deployment,
            "dependency 'Deployment/apps/web' not found",
        ),
    ];
    for (on, object, why) in cases {
        let ground = patient().await;
        let app = depending("app", "app", &on);
        ground.apply(app.clone()).await;
        ground.until_ready_says(&app, &format!("False DependencyNotReady: {why}")).await;
        tokio::time::sleep(Duration::from_mins(5)).await;
        ground.apply(object.clone()).await;
        let started = tokio::time::Instant::now();
        ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
        assert!(started.elapsed() < Duration::from_secs(30), "{on}: {:?}", started.elapsed());
        // One that is ready is not woken again.
        let history = ground.get(&app).await.unwrap()["status"]["history"].clone();
        let mut touched = object;
        touched["metadata"]["labels"] = json!({"tier": "silver"});
        ground.apply(touched).await;
        tokio::time::sleep(Duration::from_mins(5)).await;
        assert_eq!(ground.get(&app).await.unwrap()["status"]["history"], history, "{on}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cycle_is_named_and_ends_when_somebody_breaks_it() {
    let ground = patient().await;
    let on = |name: &str| json!({"dependsOn": [{"name": name}], "interval": "1h"});
    let kustomization_on = |name: &str| json!([{"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "name": name}]);
    let (a, c) = (kustomization("a", "app", on("b")), kustomization("c", "app", on("a")));
    ground.apply(c.clone()).await;
    ground.apply(a.clone()).await;
    ground.apply(depending("b", "app", &kustomization_on("c"))).await;
    let expected = "False DependencyNotReady: dependency 'apps/b' is not ready: a cycle of dependencies: apps/a -> apps/b -> apps/c -> apps/a";
    // Who came before the last of them was there asks again.
    ground
        .apply(json!({"apiVersion": a["apiVersion"], "kind": a["kind"], "spec": a["spec"],
        "metadata": {"name": "a", "namespace": "apps",
            "annotations": {"reconcile.fluxcd.io/requestedAt": "now"}}}))
        .await;
    ground.until_ready_says(&a, expected).await;
    let itself = kustomization("self", "app", on("self"));
    ground.apply(itself.clone()).await;
    let expected = "False DependencyNotReady: dependency 'apps/self' is not ready: a cycle of dependencies: apps/self -> apps/self";
    ground.until_ready_says(&itself, expected).await;
    let mut free = kustomization("b", "app", json!({"interval": "1h"}));
    free["metadata"]["annotations"] = json!({});
    ground.apply(free).await;
    for freed in [a, c] {
        ground.until(&freed, |it| said(it, "Ready").starts_with("True")).await;
    }
}

/// Ten Kustomizations, each waiting for the one before. Upstream asks each half a minute.
#[tokio::test(start_paused = true)]
async fn a_chain_of_ten_takes_no_time_and_few_requests() {
    let ground = Ground::new().await;
    ground.apply(namespace()).await;
    let mut files = Vec::new();
    for number in 0..10 {
        let mut text = config_map_file(&format!("c{number}"), "1");
        let _ = writeln!(text, "---\n{}", config_map_file(&format!("d{number}"), "1"));
        files.push((format!("k{number}/c.yaml"), text));
    }
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    ground.commit("ten layers", &files);
    let before = ground.asked("");
    let started = tokio::time::Instant::now();
    let layer = |number: usize| {
        let (name, mut spec) = (format!("k{number}"), json!({"wait": true}));
        if number > 0 {
            spec["dependsOn"] = json!([{"name": format!("k{}", number - 1)}]);
        }
        kustomization(&name, &name, spec)
    };
    for number in (0..10).rev() {
        ground.apply(layer(number)).await;
    }
    ground.apply(repository()).await;
    ground.until(&layer(9), |it| said(it, "Ready").starts_with("True")).await;
    let (took, requests) = (started.elapsed(), ground.asked("") - before);
    assert!(took < Duration::from_secs(2), "{took:?}");
    // For each: the finalizer, the inventory, two reads, two dry runs, two writes, the status; some pass in
    // vain before their turn, and events are told.
    assert!(requests <= 250, "{requests} requests for ten Kustomizations of two objects");
    println!("a chain of ten: {took:?} of virtual time, {requests} requests");
}
