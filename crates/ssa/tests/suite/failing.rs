//! All errors are reported at once, with their class, and nothing is written where it matters.

use serde_json::{Value, json};
use sluice_base::fault::{Fault, Rule, Scope};
use sluice_base::place::Place;
use sluice_ssa::{Desired, ErrorClass};

use crate::ground::{Ground, config_map, deployment, options, owned, widget, widget_definition};

fn in_namespace(mut object: Value, namespace: &str) -> Value {
    object["metadata"]["namespace"] = json!(namespace);
    object
}

#[tokio::test(start_paused = true)]
async fn unserved_kinds_are_not_in_the_inventory_and_unknown_ones_are() {
    let ground = Ground::still();
    let objects = owned(vec![config_map("a", "1"), widget("w", 1)]);
    let names = || async {
        let keys = ground.applier.identify(&objects).await;
        keys.iter().map(|key| key.id.to_inventory()).collect::<Vec<_>>()
    };
    ground.cluster.faults().install(Rule::new(Scope::default(), Fault::Reset)).unwrap();
    assert_eq!(names().await, ["default_a__ConfigMap", "default_w_example.com_Widget"]);
    ground.cluster.faults().clear();
    assert_eq!(names().await, ["default_a__ConfigMap"]);
}

#[tokio::test(start_paused = true)]
async fn every_refused_object_is_named_and_nothing_is_written() {
    let ground = Ground::still();
    let mut invalid = deployment("bad", 1);
    invalid["spec"]["template"]["metadata"]["labels"] = json!({"app": "other"});
    let mut objects = owned(vec![
        config_map("good", "1"),
        in_namespace(config_map("lost", "1"), "nowhere"),
        invalid,
        widget("w", 1),
    ]);
    let place = Place::new("apps/deployment.yaml", 3);
    if let Some(Desired { place: known, .. }) = objects.get_mut(2) {
        *known = Some(place.clone());
    }
    let error = ground.applier.apply(objects, &options()).await.unwrap_err();
    let told: Vec<(String, ErrorClass)> = error
        .failures
        .iter()
        .map(|failure| (failure.object.as_ref().unwrap().to_string(), failure.class))
        .collect();
    assert_eq!(
        told,
        [
            ("ConfigMap/nowhere/lost".to_owned(), ErrorClass::Dependency),
            ("Deployment/default/bad".to_owned(), ErrorClass::DesiredState),
            ("Widget/default/w".to_owned(), ErrorClass::Dependency),
        ]
    );
    let lines: Vec<String> = error.to_string().lines().map(str::to_owned).collect();
    assert_eq!(
        lines.first().unwrap(),
        "ConfigMap/nowhere/lost not found: namespaces \"nowhere\" not found"
    );
    assert_eq!(
        lines.last().unwrap(),
        "Widget/default/w dry-run failed: no matches for kind \"Widget\" in version \
         \"example.com/v1\""
    );
    assert_eq!(error.failures[1].place, Some(place));
    assert_eq!(error.changes.entries, []);
    assert_eq!(ground.writes(), Vec::<String>::new());
    assert_eq!(error.class(), ErrorClass::Dependency);
}

#[tokio::test(start_paused = true)]
async fn later_stages_are_looked_at_but_not_touched() {
    let ground = Ground::still();
    let bad_class = json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": "p"}, "value": 2_000_000_000,
    });
    let mut bad_map = config_map("bad", "1");
    bad_map["data"]["no such key!"] = json!("x");
    let objects = vec![bad_class, config_map("good", "1"), bad_map];
    let error = ground.apply(objects).await.unwrap_err();
    let subjects: Vec<String> =
        error.failures.iter().map(|failure| failure.object.as_ref().unwrap().to_string()).collect();
    assert_eq!(subjects, ["PriorityClass/p", "ConfigMap/default/bad"]);
    assert_eq!(ground.writes(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_namespaced_object_without_a_namespace_is_the_authors_mistake() {
    let ground = Ground::still();
    let mut object = config_map("a", "1");
    object["metadata"].as_object_mut().unwrap().remove("namespace");
    let error = ground.apply(vec![object]).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "ConfigMap/a namespace not specified: the server could not find the requested resource"
    );
    assert_eq!(error.class(), ErrorClass::DesiredState);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_busy_is_asked_again() {
    let ground = Ground::still().busy(5);
    let begun = tokio::time::Instant::now();
    let changes = ground.apply(vec![config_map("a", "1")]).await.unwrap();
    assert_eq!(changes.to_string(), "ConfigMap/default/a created");
    assert_eq!(begun.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn missing_rights_are_reported_as_such() {
    let ground = Ground::still().impersonating("tenant");
    let error = ground.apply(vec![config_map("a", "1")]).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "ConfigMap/default/a dry-run failed (Forbidden): configmaps \"a\" is forbidden: User \
         \"tenant\" cannot patch resource \"configmaps\" in API group \"\" in the namespace \
         \"default\""
    );
    assert_eq!(error.class(), ErrorClass::Rbac);
    assert_eq!(ground.writes(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_went_away_and_came_back_is_found_again() {
    let ground = Ground::still();
    ground.apply(vec![widget_definition(), widget("w", 1)]).await.unwrap();
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";
    ground.send("DELETE", path, "application/json", &json!({})).await;
    tokio::time::sleep(std::time::Duration::from_secs(30)).await;
    // First by surprise, then because it is known.
    for _ in 0..2 {
        let error = ground.apply(vec![widget("w", 1)]).await.unwrap_err();
        assert_eq!(error.failures.len(), 1, "{error}");
    }
    tokio::time::sleep(std::time::Duration::from_secs(30)).await;
    ground.apply(vec![widget_definition(), widget("w", 1)]).await.unwrap();
}
