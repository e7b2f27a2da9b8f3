//! Namespace deletion: the content first, then the finalizer.

use serde_json::{Value, json};

use super::control::{Actor, CONTROLLER_MANAGER, Control};
use super::{Controller, Key, Next, Reconcile};
use crate::metadata;
use crate::store::{Change, Event, GroupResource};
use crate::write::{DeleteOptions, Propagation};

const ACTOR: Actor = Actor {
    user: "system:serviceaccount:kube-system:namespace-controller",
    manager: CONTROLLER_MANAGER.manager,
};

/// The namespace controller.
pub(super) struct NamespaceController;

impl Controller for NamespaceController {
    fn wakes(&self, control: &Control, resource: &GroupResource, event: &Event) -> Vec<Key> {
        let is_namespace = resource.group.is_empty() && resource.resource == "namespaces";
        if is_namespace {
            let dying =
                event.change != Change::Deleted && metadata::is_terminating(&event.object.value);
            return if dying { vec![Key::of(resource, &event.key)] } else { Vec::new() };
        }
        let key = Key::of(resource, &event.key);
        if event.change != Change::Deleted || key.namespace.is_empty() {
            return Vec::new();
        }
        let namespace = Key::new("", "namespaces", "", &key.namespace);
        match control.get(&namespace) {
            Some(value) if metadata::is_terminating(&value) => vec![namespace],
            _ => Vec::new(),
        }
    }

    fn reconcile<'a>(&'a self, control: &'a Control, key: &'a Key) -> Reconcile<'a> {
        Box::pin(async move {
            let Some(namespace) = control.get(key) else { return Next::Wait };
            if !metadata::is_terminating(&namespace) {
                return Next::Wait;
            }
            let left = empty(control, &key.name).await;
            let conditions = conditions(&left, &namespace, &control.now());
            let _ = control
                .update(ACTOR, key, "status", &mut |value| {
                    value["status"]["conditions"] = json!(conditions);
                })
                .await;
            if left.total == 0 {
                let _ = control
                    .update(ACTOR, key, "finalize", &mut |value| {
                        value["spec"]["finalizers"] = Value::Null;
                    })
                    .await;
            }
            Next::Wait
        })
    }
}

/// The objects that remain in a namespace.
#[derive(Default)]
struct Left {
    total: usize,
    /// `pods.` and the number of them.
    resources: Vec<(String, usize)>,
    /// Finalizers of remaining objects, with the number of objects.
    finalizers: Vec<(String, usize)>,
}

/// Deletes everything in a namespace; returns what is left.
async fn empty(control: &Control, namespace: &str) -> Left {
    let mut left = Left::default();
    for resource in control.state.registry.storages() {
        if !resource.namespaced || !resource.allows("delete") {
            continue;
        }
        let storage = resource.storage.clone();
        let objects = control.list(&storage.group, &storage.resource, Some(namespace));
        for object in objects {
            let key = Key {
                resource: storage.clone(),
                namespace: namespace.to_owned(),
                name: metadata::name(&object).to_owned(),
            };
            if !metadata::is_terminating(&object) {
                let options = DeleteOptions {
                    propagation: Some(Propagation::Background),
                    ..DeleteOptions::default()
                };
                let _ = control.delete(ACTOR, &key, options, metadata::uid(&object)).await;
            }
        }
        let remaining = control.list(&storage.group, &storage.resource, Some(namespace));
        if remaining.is_empty() {
            continue;
        }
        left.total += remaining.len();
        left.resources.push((format!("{}.{}", storage.resource, storage.group), remaining.len()));
        for object in &remaining {
            for finalizer in metadata::finalizers(object) {
                match left.finalizers.iter_mut().find(|(name, _)| name == finalizer) {
                    Some((_, count)) => *count += 1,
                    None => left.finalizers.push((finalizer.to_owned(), 1)),
                }
            }
        }
    }
    left.resources.sort();
    left.finalizers.sort();
    left
}

/// The five conditions of a terminating namespace; times change only with the status.
fn conditions(left: &Left, namespace: &Value, now: &str) -> Vec<Value> {
    let list = |entries: &[(String, usize)], unit: &str| -> String {
        let texts: Vec<String> =
            entries.iter().map(|(name, count)| format!("{name} has {count} {unit}")).collect();
        texts.join(", ")
    };
    let mut wanted = vec![
        (
            "NamespaceDeletionDiscoveryFailure",
            "False",
            "ResourcesDiscovered",
            "All resources successfully discovered".to_owned(),
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed".to_owned(),
        ),
        (
            "NamespaceDeletionContentFailure",
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization".to_owned(),
        ),
    ];
    wanted.push(if left.resources.is_empty() {
        (
            "NamespaceContentRemaining",
            "False",
            "ContentRemoved",
            "All content successfully removed".to_owned(),
        )
    } else {
        (
            "NamespaceContentRemaining",
            "True",
            "SomeResourcesRemain",
            format!(
                "Some resources are remaining: {}",
                list(&left.resources, "resource instances")
            ),
        )
    });
    wanted.push(if left.finalizers.is_empty() {
        (
            "NamespaceFinalizersRemaining",
            "False",
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished".to_owned(),
        )
    } else {
        (
            "NamespaceFinalizersRemaining",
            "True",
            "SomeFinalizersRemain",
            format!(
                "Some content in the namespace has finalizers remaining: {}",
                list(&left.finalizers, "resource instances").replace(" has ", " in ")
            ),
        )
    });
    let old = namespace["status"]["conditions"].as_array().cloned().unwrap_or_default();
    wanted
        .into_iter()
        .map(|(kind, status, reason, message)| {
            let since = old
                .iter()
                .find(|condition| condition["type"] == kind && condition["status"] == status)
                .and_then(|condition| condition["lastTransitionTime"].as_str())
                .unwrap_or(now);
            json!({
                "type": kind, "status": status, "reason": reason, "message": message,
                "lastTransitionTime": since,
            })
        })
        .collect()
}
