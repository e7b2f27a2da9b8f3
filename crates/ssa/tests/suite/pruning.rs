//! Only what is ours goes, in order, and what does not go is remembered.

use std::time::Duration;

use serde_json::json;
use sluice_ssa::{DeleteOptions, Inventory, Owner};

use crate::ground::{Ground, config_map, deployment, namespace, owned};

fn pruning() -> DeleteOptions {
    DeleteOptions::kustomize(&Owner::kustomize(), "apps", "flux-system")
}

#[tokio::test(start_paused = true)]
async fn only_objects_that_are_still_ours_are_deleted() {
    let ground = Ground::still();
    let mut kept = config_map("kept", "1");
    kept["metadata"]["annotations"] = json!({"kustomize.toolkit.fluxcd.io/prune": "disabled"});
    let objects = vec![
        config_map("ours", "1"),
        config_map("moved", "1"),
        config_map("gone", "1"),
        kept,
        deployment("web", 1),
        namespace("fresh"),
    ];
    let applied = ground.apply(objects).await.unwrap();
    let path = "/api/v1/namespaces/default/configmaps";
    let moved = json!({"metadata": {"labels": {"kustomize.toolkit.fluxcd.io/name": "other"}}});
    ground.send("PATCH", &format!("{path}/moved"), "application/merge-patch+json", &moved).await;
    ground.send("DELETE", &format!("{path}/gone"), "application/json", &json!({})).await;
    ground.writes();

    let stale = Inventory::of_changes(&applied).minus(&Inventory::default());
    let changes = ground.applier.delete(stale, &pruning()).await.unwrap();
    assert_eq!(
        changes.to_string(),
        "Deployment/default/web deleted\nConfigMap/default/ours deleted\n\
         ConfigMap/default/moved skipped\nConfigMap/default/kept skipped\n\
         ConfigMap/default/gone deleted\nNamespace/fresh deleted"
    );
    assert_eq!(ground.writes().len(), 3);
    assert!(ground.get(&format!("{path}/moved")).await.is_some());
    assert!(ground.get(&format!("{path}/ours")).await.is_none());
    ground.applier.wait_for_termination(&changes, Duration::from_secs(30)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_object_that_does_not_go_is_reported_in_time() {
    let ground = Ground::still();
    let mut object = config_map("a", "1");
    object["metadata"]["finalizers"] = json!(["example.com/wait"]);
    let applied = ground.apply(vec![object]).await.unwrap();
    let stale = Inventory::of_changes(&applied).minus(&Inventory::default());
    let changes = ground.applier.delete(stale, &pruning()).await.unwrap();
    let failure =
        ground.applier.wait_for_termination(&changes, Duration::from_secs(30)).await.unwrap_err();
    assert_eq!(
        failure.message,
        "ConfigMap/default/a termination timeout: context deadline exceeded"
    );
}

#[tokio::test(start_paused = true)]
async fn an_object_with_a_namespace_its_kind_lacks_is_not_taken_for_the_true_one() {
    let ground = Ground::still();
    let mut role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "r"}, "rules": [],
    });
    let applied = ground.apply(vec![role.clone()]).await.unwrap();
    role["metadata"]["namespace"] = json!("default");
    let wrong = sluice_ssa::ObjectKey::of(&role);
    let changes = ground.applier.delete(vec![wrong], &pruning()).await.unwrap();
    assert_eq!(changes.to_string(), "ClusterRole/default/r skipped");
    let stored = ground.applier.canonical(&[sluice_ssa::ObjectKey::of(&role)]).await;
    assert_eq!(Inventory::of_keys(stored), Inventory::of_changes(&applied));
    let known = ground.applier.identify(&owned(vec![role])).await;
    assert_eq!(Inventory::of_keys(known), Inventory::of_changes(&applied));
}
