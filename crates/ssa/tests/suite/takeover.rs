//! Objects that others made before: kubectl, an older controller, and managers that must give way.

use serde_json::{Value, json};
use sluice_ssa::{ApplyOptions, Owner};

use crate::ground::{Ground, config_map, options, owned};

const PATH: &str = "/api/v1/namespaces/default/configmaps/a";

fn managers(object: &Value) -> Vec<(String, String)> {
    object["metadata"]["managedFields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            let text = |field: &str| entry[field].as_str().unwrap().to_owned();
            (text("manager"), text("operation"))
        })
        .collect()
}

async fn made_by(ground: &Ground, manager: &str, extra: &Value) {
    let mut object = config_map("a", "1");
    object["data"]["old"] = json!("x");
    for (key, value) in extra.as_object().into_iter().flatten() {
        object["metadata"][key] = value.clone();
    }
    let path = format!("/api/v1/namespaces/default/configmaps?fieldManager={manager}");
    ground.send("POST", &path, "application/json", &object).await;
}

#[tokio::test(start_paused = true)]
async fn what_kubectl_applied_becomes_ours() {
    let ground = Ground::still();
    let last_applied = json!({"annotations": {
        "kubectl.kubernetes.io/last-applied-configuration": "{}", "keep": "this",
    }});
    made_by(&ground, "kubectl-client-side-apply", &last_applied).await;
    let changes = ground.apply(vec![config_map("a", "1")]).await.unwrap();
    assert_eq!(changes.to_string(), "ConfigMap/default/a configured");
    let object = ground.get(PATH).await.unwrap();
    // What kubectl set and we do not want is gone, because it was ours to remove.
    assert_eq!(object["data"], json!({"key": "1"}));
    assert_eq!(object["metadata"]["annotations"], Value::Null);
    assert_eq!(managers(&object), [("kustomize-controller".to_owned(), "Apply".to_owned())]);
    assert!(!ground.apply(vec![config_map("a", "1")]).await.unwrap().has_changes());
}

#[tokio::test(start_paused = true)]
async fn what_others_set_stays_theirs_unless_they_must_give_way() {
    let ground = Ground::still();
    made_by(&ground, "editor", &json!({})).await;
    ground.apply(vec![config_map("a", "1")]).await.unwrap();
    let object = ground.get(PATH).await.unwrap();
    assert_eq!(object["data"], json!({"key": "1", "old": "x"}));
    assert_eq!(managers(&object).len(), 2);

    let stern = ApplyOptions::kustomize(&Owner::kustomize(), &["editor".to_owned()]);
    let changes = ground.applier.apply(owned(vec![config_map("a", "1")]), &stern).await.unwrap();
    assert_eq!(changes.to_string(), "ConfigMap/default/a configured");
    let object = ground.get(PATH).await.unwrap();
    assert_eq!(object["data"], json!({"key": "1"}));
    assert_eq!(managers(&object).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn merging_takes_nothing_over() {
    let ground = Ground::still();
    made_by(&ground, "kubectl-create", &json!({})).await;
    let mut object = config_map("a", "1");
    object["metadata"]["annotations"] = json!({"kustomize.toolkit.fluxcd.io/ssa": "merge"});
    ground.applier.apply(owned(vec![object]), &options()).await.unwrap();
    let object = ground.get(PATH).await.unwrap();
    assert_eq!(object["data"], json!({"key": "1", "old": "x"}));
}

#[tokio::test(start_paused = true)]
async fn an_immutable_field_changes_only_by_force() {
    let ground = Ground::still();
    let job = |image: &str, force: bool| {
        let mut job = json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "j", "namespace": "default"},
            "spec": {"template": {"spec": {
                "restartPolicy": "Never", "containers": [{"name": "c", "image": image}],
            }}},
        });
        if force {
            job["metadata"]["annotations"] =
                json!({"kustomize.toolkit.fluxcd.io/force": "Enabled"});
        }
        job
    };
    ground.apply(vec![job("i:1", false)]).await.unwrap();
    let path = "/apis/batch/v1/namespaces/default/jobs/j";
    let before = ground.get(path).await.unwrap();

    let error = ground.apply(vec![job("i:2", false)]).await.unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("Job/default/j dry-run failed (Invalid): Job.batch \"j\" is invalid:"),
        "{text}"
    );
    assert!(text.contains("field is immutable"), "{text}");

    let changes = ground.apply(vec![job("i:2", true)]).await.unwrap();
    assert_eq!(changes.to_string(), "Job/default/j created");
    let after = ground.get(path).await.unwrap();
    assert_ne!(before["metadata"]["uid"], after["metadata"]["uid"]);
    assert_eq!(after["spec"]["template"]["spec"]["containers"][0]["image"], "i:2");
}
