//! Objects that are moved across commits: nothing is deleted, wherever it is stopped.

use std::time::Duration;

use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use sluice_controllers::moving::{Move, MoveError};
use sluice_runtime::key::Key;

use crate::ground::{
    Ground, config_map, config_map_file, kustomization, namespace, repository, said,
};

fn x() -> Move {
    Move {
        resource: ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap")),
        object: Key::new("apps", "x"),
        from: Key::new("apps", "old"),
        to: Key::new("apps", "new"),
    }
}

/// `x` is the old one's.
async fn installed() -> Ground {
    let ground = Ground::new().await;
    let (a, b, x) =
        (config_map_file("a", "1"), config_map_file("b", "1"), config_map_file("x", "1"));
    ground.commit(
        "x is the old one's",
        &[("old/a.yaml", &a), ("old/x.yaml", &x), ("new/b.yaml", &b)],
    );
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    for name in ["old", "new"] {
        let object = kustomization(name, name, json!({}));
        ground.apply(object.clone()).await;
        ground.until(&object, |it| said(it, "Ready").starts_with("True")).await;
    }
    ground
}

async fn nobody(ground: &Ground) {
    let (a, b) = (config_map_file("a", "1"), config_map_file("b", "1"));
    let revision = ground.commit("x is nobody's", &[("old/a.yaml", &a), ("new/b.yaml", &b)]);
    settled(ground, &revision).await;
}

async fn the_new_ones(ground: &Ground) {
    let (a, b, x) =
        (config_map_file("a", "1"), config_map_file("b", "1"), config_map_file("x", "2"));
    let files = [("old/a.yaml", a.as_str()), ("new/b.yaml", &b), ("new/x.yaml", &x)];
    let revision = ground.commit("x is the new one's", &files);
    settled(ground, &revision).await;
}

async fn settled(ground: &Ground, revision: &str) {
    for name in ["old", "new"] {
        let expected = format!("True ReconciliationSucceeded: Applied revision: {revision}");
        ground.until_ready_says(&kustomization(name, name, json!({})), &expected).await;
    }
}

async fn uid(ground: &Ground) -> Value {
    ground.get(&config_map("x")).await.expect("x is there")["metadata"]["uid"].clone()
}

#[tokio::test(start_paused = true)]
async fn an_object_survives_the_time_between_two_commits() {
    let (ground, x) = (installed().await, x());
    let client = ground.client();
    let before = uid(&ground).await;
    let seen = x.look(client).await.unwrap();
    assert_eq!((seen.is_marked, seen.has_left, seen.has_arrived), (false, false, false));
    assert_eq!(seen.target, "new in GitRepository/platform");
    // Stopped and begun again: the same.
    x.mark(client, &seen).await.unwrap();
    x.mark(client, &x.look(client).await.unwrap()).await.unwrap();
    nobody(&ground).await;
    tokio::time::sleep(Duration::from_hours(1)).await;
    let seen = x.look(client).await.unwrap();
    assert_eq!((seen.is_marked, seen.has_left, seen.has_arrived), (true, true, false));
    the_new_ones(&ground).await;
    let seen = x.look(client).await.unwrap();
    assert!(seen.has_moved() && seen.is_marked && !seen.is_done());
    x.unmark(client).await.unwrap();
    assert!(x.look(client).await.unwrap().is_done());
    assert_eq!(uid(&ground).await, before);
    let found = ground.get(&config_map("x")).await.unwrap();
    assert_eq!(found["data"]["value"], "2");
    assert_eq!(found["metadata"]["annotations"], Value::Null, "no mark is left");
    // From now on the new one prunes it.
    nobody(&ground).await;
    assert!(ground.get(&config_map("x")).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_moved_is_said_and_left_alone() {
    let (ground, x) = (installed().await, x());
    let client = ground.client();
    let said = async |wrong: Move| wrong.look(client).await.unwrap_err().to_string();
    let with = |change: &dyn Fn(&mut Move)| {
        let mut other = x.clone();
        change(&mut other);
        other
    };
    assert!(matches!(
        with(&|it| it.to = it.from.clone()).look(client).await,
        Err(MoveError::SameOwner(_))
    ));
    assert_eq!(
        said(with(&|it| it.to.name = "none".to_owned())).await,
        "Kustomization apps/none not found"
    );
    assert_eq!(
        said(with(&|it| it.object.name = "none".to_owned())).await,
        "ConfigMap/apps/none not found"
    );
    let there = with(&|it| it.object.name = "b".to_owned()).look(client).await.unwrap();
    assert!(there.is_done(), "that one is where it is to go");
    ground.apply(config_map("foreign")).await;
    assert_eq!(
        said(with(&|it| it.object.name = "foreign".to_owned())).await,
        "ConfigMap/apps/foreign is nobody's, not of Kustomization apps/old"
    );
    x.mark(client, &x.look(client).await.unwrap()).await.unwrap();
    let back = with(&|it| std::mem::swap(&mut it.from, &mut it.to));
    assert_eq!(said(back).await, "ConfigMap/apps/x is being moved already: apps/old -> apps/new");
}

/// A mark of somebody else's stays.
#[tokio::test(start_paused = true)]
async fn what_others_keep_stays_kept() {
    let (ground, x) = (installed().await, x());
    let client = ground.client();
    let mut kept = config_map("x");
    kept["metadata"]["annotations"] = json!({"kustomize.toolkit.fluxcd.io/prune": "Disabled"});
    ground.apply(kept).await;
    x.mark(client, &x.look(client).await.unwrap()).await.unwrap();
    the_new_ones(&ground).await;
    assert!(x.look(client).await.unwrap().has_moved());
    x.unmark(client).await.unwrap();
    let found = ground.get(&config_map("x")).await.unwrap();
    let left = json!({"kustomize.toolkit.fluxcd.io/prune": "Disabled"});
    assert_eq!(found["metadata"]["annotations"], left);
}
