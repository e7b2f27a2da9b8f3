//! Server-side apply and patches, through a client.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use sluice_cluster::Cluster;

fn maps() -> Api<ConfigMap> {
    let cluster = Cluster::builder().seed(5).build();
    Api::default_namespaced(Client::new(cluster.service(), "default"))
}

fn configuration(data: &Value) -> Patch<Value> {
    Patch::Apply(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data,
    }))
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn applying_twice_is_applying_once() {
    let api = maps();
    let patch = configuration(&json!({"x": "1"}));
    let once = api.patch("a", &PatchParams::apply("me"), &patch).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let twice = api.patch("a", &PatchParams::apply("me"), &patch).await.unwrap();
    assert_eq!(once, twice);
    let entry = &once.managed_fields()[0];
    assert_eq!(entry.operation.as_deref(), Some("Apply"));
    assert_eq!(serde_json::to_value(&entry.fields_v1).unwrap(), json!({"f:data": {"f:x": {}}}));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_field_of_somebody_else_is_not_taken_without_force() {
    let api = maps();
    api.patch("a", &PatchParams::apply("me"), &configuration(&json!({"x": "1"}))).await.unwrap();
    let theirs = configuration(&json!({"x": "2"}));
    let error = api.patch("a", &PatchParams::apply("you"), &theirs).await.unwrap_err();
    let kube::Error::Api(status) = error else { panic!("unexpected error {error}") };
    assert_eq!(status.code, 409);
    assert_eq!(status.message, "Apply failed with 1 conflict: conflict with \"me\": .data.x");
    let forced = api.patch("a", &PatchParams::apply("you").force(), &theirs).await.unwrap();
    assert_eq!(forced.data.unwrap()["x"], "2");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_is_no_longer_applied_goes() {
    let api = maps();
    let both = configuration(&json!({"x": "1", "y": "1"}));
    api.patch("a", &PatchParams::apply("me"), &both).await.unwrap();
    let one = configuration(&json!({"y": "1"}));
    let after = api.patch("a", &PatchParams::apply("me"), &one).await.unwrap();
    assert_eq!(after.data.unwrap().into_keys().collect::<Vec<_>>(), ["y"]);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn the_other_patches_change_what_they_name() {
    let api = maps();
    let object: ConfigMap =
        serde_json::from_value(json!({"metadata": {"name": "a"}, "data": {"x": "1", "y": "1"}}))
            .unwrap();
    let made = api.create(&PostParams::default(), &object).await.unwrap();
    let params = PatchParams::default();
    let merge = Patch::Merge(json!({"data": {"x": null, "z": "1"}}));
    api.patch("a", &params, &merge).await.unwrap();
    let strategic = Patch::Strategic(json!({"metadata": {"labels": {"l": "1"}}}));
    let after = api.patch("a", &params, &strategic).await.unwrap();
    assert_eq!(after.labels()["l"], "1");
    assert_eq!(after.data.clone().unwrap().into_keys().collect::<Vec<_>>(), ["y", "z"]);
    assert_ne!(after.resource_version(), made.resource_version());
    let nothing = api.patch("a", &params, &strategic).await.unwrap();
    assert_eq!(nothing.resource_version(), after.resource_version(), "a no-op wrote");
}
