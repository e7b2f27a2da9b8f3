//! Pods as controllers use them: ownership, state, creation from a template.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::Key;
use super::condition;
use super::control::{Control, Object};
use super::recorder::{EventSource, NewEvent};
use crate::selector::LabelSelector;
use crate::status::Status;
use crate::store::GroupResource;
use crate::write::DeleteOptions;
use crate::{metadata, value};

/// The owner that controls an object.
pub(super) fn controller_of(object: &Value) -> Option<&Value> {
    value::list(object, "metadata.ownerReferences")
        .iter()
        .find(|owner| value::flag(owner, "controller"))
}

/// Whether `owner` controls the object.
pub(super) fn is_controlled_by(object: &Value, owner: &Value) -> bool {
    controller_of(object).is_some_and(|found| found["uid"] == metadata::uid(owner))
}

/// The key of an object's controller, if it has the `kind`.
pub(super) fn controller_key(object: &Value, group: &str, kind: &str, plural: &str) -> Option<Key> {
    let owner = controller_of(object)?;
    let (of_group, _) = value::text(owner, "apiVersion").rsplit_once('/').unwrap_or_default();
    (owner["kind"] == kind && of_group == group)
        .then(|| Key::new(group, plural, metadata::namespace(object), value::text(owner, "name")))
}

/// The owner reference of a controller.
pub(super) fn controller_reference(owner: &Value) -> Value {
    json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"],
        "name": metadata::name(owner), "uid": metadata::uid(owner),
        "controller": true, "blockOwnerDeletion": true,
    })
}

/// The key of a pod.
pub(super) fn key(pod: &Value) -> Key {
    Key::new("", "pods", metadata::namespace(pod), metadata::name(pod))
}

/// The phase.
pub(super) fn phase(pod: &Value) -> &str {
    value::text(pod, "status.phase")
}

/// Whether all containers have terminated for good.
pub(super) fn is_finished(pod: &Value) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

/// Whether the pod is active: neither finished nor terminating.
pub(super) fn is_active(pod: &Value) -> bool {
    !is_finished(pod) && !metadata::is_terminating(pod)
}

/// Whether the pod is terminating.
pub(super) fn is_terminating(pod: &Value) -> bool {
    !is_finished(pod) && metadata::is_terminating(pod)
}

/// Whether the pod is ready.
pub(super) fn is_ready(pod: &Value) -> bool {
    condition::is_true(&pod["status"], "Ready")
}

/// The time until a ready pod counts as available; `None` if it is not ready, zero if it is
/// available.
pub(super) fn until_available(control: &Control, pod: &Value, least: i64) -> Option<Duration> {
    let ready = condition::find(&pod["status"], "Ready")
        .filter(|condition| condition["status"] == "True")?;
    if least <= 0 {
        return Some(Duration::ZERO);
    }
    let wait = Duration::from_secs(u64::try_from(least).unwrap_or_default());
    Some(control.left(value::text(ready, "lastTransitionTime"), wait).unwrap_or_default())
}

/// Whether the pod has been ready for `least` seconds.
pub(super) fn is_available(control: &Control, pod: &Value, least: i64) -> bool {
    until_available(control, pod, least).is_some_and(|left| left.is_zero())
}

/// The pods of a controller: adopts orphans that its selector matches, and releases pods that its
/// selector no longer matches.
pub(super) async fn claim(
    control: &Control,
    source: EventSource<'_>,
    owner: &Value,
    selector: &LabelSelector,
) -> Vec<Object> {
    let dying = metadata::is_terminating(owner);
    let mut out = Vec::new();
    for pod in control.claimable("", "pods", owner, selector) {
        let fits = selector.matches(&pod);
        match controller_of(&pod) {
            Some(found) if found["uid"] == metadata::uid(owner) => {
                if fits {
                    out.push(pod);
                } else if !dying && is_active(&pod) {
                    release(control, source, &pod, owner).await;
                }
            }
            None if fits && !dying && is_active(&pod) && !selector.is_empty() => {
                if adopt(control, source, &key(&pod), owner).await
                    && let Some(adopted) = control.object(&key(&pod))
                {
                    out.push(adopted);
                }
            }
            _ => {}
        }
    }
    out
}

/// Makes `owner` the controller of an object.
pub(super) async fn adopt(
    control: &Control,
    source: EventSource<'_>,
    key: &Key,
    owner: &Value,
) -> bool {
    let mut take = |object: &mut Value| {
        let mut owners = value::list(object, "metadata.ownerReferences").to_vec();
        owners.retain(|found| found["uid"] != metadata::uid(owner));
        owners.push(controller_reference(owner));
        metadata::set(object, "ownerReferences", owners);
    };
    control.update(source.actor, key, "", &mut take).await.is_ok()
}

async fn release(control: &Control, source: EventSource<'_>, pod: &Value, owner: &Value) {
    let _ = control
        .update(source.actor, &key(pod), "", &mut |object| {
            let mut owners = value::list(object, "metadata.ownerReferences").to_vec();
            owners.retain(|found| found["uid"] != metadata::uid(owner));
            let owners = if owners.is_empty() { Value::Null } else { json!(owners) };
            metadata::set(object, "ownerReferences", owners);
        })
        .await;
}

/// A pod from a template, controlled by `owner`; the caller sets the name.
pub(super) fn from_template(owner: &Value, template: &Value) -> Value {
    let mut meta = Map::new();
    for field in ["labels", "annotations", "finalizers"] {
        if let Some(found) = template["metadata"].get(field) {
            meta.insert(field.to_owned(), found.clone());
        }
    }
    meta.insert("namespace".to_owned(), metadata::namespace(owner).into());
    meta.insert("generateName".to_owned(), format!("{}-", metadata::name(owner)).into());
    meta.insert("ownerReferences".to_owned(), json!([controller_reference(owner)]));
    json!({"metadata": meta, "spec": template["spec"]})
}

/// Whether a create failed because its namespace is terminating, which needs no event.
pub(super) fn namespace_ends(status: &Status) -> bool {
    status.details.as_ref().is_some_and(|details| {
        value::list(details, "causes").iter().any(|cause| cause["reason"] == "NamespaceTerminating")
    })
}

/// Creates a pod and records an event.
pub(super) async fn create(
    control: &Control,
    source: EventSource<'_>,
    owner: &Value,
    pod: Value,
) -> Result<(), Status> {
    let pods = GroupResource::new("", "pods");
    match control.create(source.actor, &pods, metadata::namespace(owner), pod).await {
        Ok(pod) => {
            let message = format!("Created pod: {}", metadata::name(&pod));
            control.record(source, owner, NewEvent::normal("SuccessfulCreate", &message)).await;
            Ok(())
        }
        Err(status) if namespace_ends(&status) => Ok(()),
        Err(status) => {
            let message = format!("Error creating: {status}");
            control.record(source, owner, NewEvent::warning("FailedCreate", &message)).await;
            Err(status)
        }
    }
}

/// Deletes a pod and records an event.
pub(super) async fn delete(control: &Control, source: EventSource<'_>, owner: &Value, pod: &Value) {
    let options = DeleteOptions::default();
    match control.delete(source.actor, &key(pod), options, metadata::uid(pod)).await {
        Ok(()) => {
            let message = format!("Deleted pod: {}", metadata::name(pod));
            control.record(source, owner, NewEvent::normal("SuccessfulDelete", &message)).await;
        }
        Err(status) if status.code == 404 => {}
        Err(status) => {
            let message = format!("Error deleting: {status}");
            control.record(source, owner, NewEvent::warning("FailedDelete", &message)).await;
        }
    }
}

/// The restarts of all containers of a pod.
pub(super) fn restarts(pod: &Value) -> i64 {
    let counts = value::list(pod, "status.containerStatuses").iter();
    counts.map(|status| value::number(status, "restartCount")).max().unwrap_or_default()
}

/// Sorts pods by the order of deletion: the least useful first, then the youngest.
pub(super) fn sort_for_deletion(pods: &mut [Object], related: &[Object]) {
    let mut on_node: BTreeMap<String, usize> = BTreeMap::new();
    for pod in related.iter().filter(|pod| is_active(pod)) {
        *on_node.entry(value::text(pod, "spec.nodeName").to_owned()).or_default() += 1;
    }
    let rank = |pod: &Value| on_node.get(value::text(pod, "spec.nodeName")).copied().unwrap_or(0);
    pods.sort_by(|left, right| {
        let ready_since = |pod: &Value| {
            let ready = condition::find(&pod["status"], "Ready");
            ready.map_or("", |ready| value::text(ready, "lastTransitionTime")).to_owned()
        };
        let by_ready_time = if is_ready(left) && is_ready(right) {
            ready_since(right).cmp(&ready_since(left))
        } else {
            Ordering::Equal
        };
        let assigned = |pod: &Value| !value::text(pod, "spec.nodeName").is_empty();
        assigned(left)
            .cmp(&assigned(right))
            .then(phase_order(left).cmp(&phase_order(right)))
            .then(is_ready(left).cmp(&is_ready(right)))
            .then(deletion_cost(left).cmp(&deletion_cost(right)))
            .then(rank(right).cmp(&rank(left)))
            .then(by_ready_time)
            .then(restarts(right).cmp(&restarts(left)))
            .then_with(|| {
                let made = |pod| metadata::text(pod, "creationTimestamp");
                made(right).cmp(made(left))
            })
            .then_with(|| metadata::uid(left).cmp(metadata::uid(right)))
    });
}

fn phase_order(pod: &Value) -> u8 {
    match phase(pod) {
        "Pending" => 0,
        "Unknown" => 1,
        _ => 2,
    }
}

fn deletion_cost(pod: &Value) -> i64 {
    metadata::entry(pod, "annotations", "controller.kubernetes.io/pod-deletion-cost")
        .and_then(|cost| cost.parse().ok())
        .unwrap_or_default()
}
