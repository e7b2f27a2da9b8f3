//! What the claims of the story rest on: objects as they are in the cluster.

use std::collections::BTreeMap;

use kube::api::Api;
use serde_json::{Value, json};
use sluice_ssa::{ObjectId, ObjectKey};

use super::layers::Layer;
use super::stage::Stage;
use super::story::Stopped;

/// What a Deployment says of itself.
pub(super) struct Workload {
    pub(super) image: String,
    pub(super) generation: i64,
    pub(super) wanted: i64,
    pub(super) ready: i64,
    /// Pods of the newest template that are ready.
    pub(super) updated: i64,
}

pub(super) async fn workload(
    stage: &Stage,
    (namespace, name): (&str, &str),
) -> Result<Workload, Stopped> {
    let key = ObjectKey::of(&json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
    }));
    let found = stage.object(&key).await?;
    let found = found.ok_or_else(|| Stopped::Finding(format!("{} is gone", key.id)))?;
    let number = |pointer: &str| found.pointer(pointer).and_then(Value::as_i64).unwrap_or(0);
    let image = found.pointer("/spec/template/spec/containers/0/image").and_then(Value::as_str);
    // Of the new pods only those that are ready count; the others are those beyond the ready ones.
    let ready = number("/status/readyReplicas");
    let unready = number("/status/unavailableReplicas");
    let updated = (number("/status/updatedReplicas") - unready).max(0);
    Ok(Workload {
        image: image.unwrap_or_default().to_owned(),
        generation: number("/metadata/generation"),
        wanted: number("/spec/replicas"),
        ready,
        updated,
    })
}

/// Why a pod of a Deployment does not start.
pub(super) async fn stuck_pod(
    stage: &Stage,
    (namespace, name): (&str, &str),
) -> Result<String, Stopped> {
    use k8s_openapi::api::core::v1::Pod;
    let api: Api<Pod> = Api::namespaced(stage.client.clone(), namespace);
    let params = kube::api::ListParams::default().labels(&format!("app.kubernetes.io/name={name}"));
    for pod in api.list(&params).await? {
        let statuses = pod.status.and_then(|status| status.container_statuses).unwrap_or_default();
        for status in statuses {
            let waiting = status.state.and_then(|state| state.waiting);
            if let Some(reason) = waiting.and_then(|waiting| waiting.reason) {
                let pod = pod.metadata.name.unwrap_or_default();
                let image = status.image.rsplit('/').next().unwrap_or_default();
                return Ok(format!("Pod {pod}: {reason}, {image}"));
            }
        }
    }
    Err(Stopped::Finding(format!("no pod of {name} says why it does not start")))
}

/// When and as what the objects of all layers but one were written last.
pub(super) async fn written(
    stage: &Stage,
    layers: &[Layer],
    but: &str,
) -> Result<BTreeMap<ObjectId, String>, Stopped> {
    let mut marks = BTreeMap::new();
    for key in layers.iter().filter(|layer| layer.name != but).flat_map(|layer| &layer.objects) {
        let Some(found) = stage.object(key).await? else {
            return Err(Stopped::Finding(format!("{} is gone", key.id)));
        };
        let fields = found["metadata"]["managedFields"].as_array();
        let own = fields.into_iter().flatten().find(|entry| {
            entry["manager"] == "kustomize-controller" && entry["operation"] == "Apply"
        });
        let when = own.map(|entry| entry["time"].to_string());
        let mark = format!("{} {when:?}", found["metadata"]["uid"]);
        marks.insert(key.id.clone(), mark);
    }
    Ok(marks)
}

/// Ends the story if something is not as it is claimed to be.
pub(super) fn expect<T: PartialEq<U> + std::fmt::Debug, U: std::fmt::Debug + ?Sized>(
    what: &str,
    seen: &T,
    wanted: &U,
) -> Result<(), Stopped> {
    if seen == wanted {
        return Ok(());
    }
    Err(Stopped::Finding(format!("{what}: {seen:?} was seen, not {wanted:?}")))
}
