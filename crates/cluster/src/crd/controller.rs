//! The controllers of definitions: they accept names, establish and serve the definition, and on
//! deletion remove its objects first.
//!
//! One step is one write, in upstream's order, so that watches see the same states.

use std::time::Duration;

use serde_json::Value;
use sluice_schema::structural::definition::{self, Condition};

use super::{CLEANUP_FINALIZER, is_true};
use crate::controllers::control::{Actor, Control};
use crate::controllers::{Controller, Key, Next, Reconcile};
use crate::metadata;
use crate::store::{Event, GroupResource};
use crate::write::DeleteOptions;

/// The API server itself writes the status of definitions.
const API_SERVER: Actor = Actor { user: "system:apiserver", manager: "kube-apiserver" };

/// The interval at which a deleted definition is checked for remaining objects.
const POLL: Duration = Duration::from_secs(5);

/// Establishes and finalizes definitions.
pub(crate) struct DefinitionController;

impl Controller for DefinitionController {
    fn wakes(&self, control: &Control, resource: &GroupResource, event: &Event) -> Vec<Key> {
        if *resource != super::definitions() {
            return Vec::new();
        }
        let group = |definition: &Value| definition["spec"]["group"].clone();
        let this = group(&event.object.value);
        let mut keys = vec![Key::of(resource, &event.key)];
        // Another definition of the group may want names that became free.
        for other in control.list(&resource.group, &resource.resource, None) {
            let name = metadata::name(&other);
            if name != &*event.key && group(&other) == this && !is_true(&other, "NamesAccepted") {
                keys.push(Key::new(&resource.group, &resource.resource, "", name));
            }
        }
        keys
    }

    fn reaction(&self) -> (Duration, Duration) {
        (Duration::from_millis(1), Duration::from_millis(5))
    }

    fn reconcile<'a>(&'a self, control: &'a Control, key: &'a Key) -> Reconcile<'a> {
        Box::pin(async move {
            let Some(stored) = control.state.store.get(&key.resource, &key.name) else {
                if let Some((plural, group)) = key.name.split_once('.') {
                    control.state.registry.set_custom(group, plural, Vec::new());
                }
                return Next::Wait;
            };
            super::serve(&control.state, &stored);
            let definition = &stored.value;
            if metadata::is_terminating(definition) {
                return finalize(control, key, definition).await;
            }
            if let Some(change) = next_change(control, definition) {
                write(control, key, change).await;
            }
            Next::Wait
        })
    }
}

/// The next change of the status, if any.
fn next_change(control: &Control, definition: &Value) -> Option<Change> {
    let resource = super::definitions();
    let accepted = definition.pointer("/status/acceptedNames");
    if accepted != definition.pointer("/spec/names") {
        let all = control.list(&resource.group, &resource.resource, None);
        let all: Vec<&Value> = all.iter().map(AsRef::as_ref).collect();
        let names = definition::names_and_conditions(definition, &all);
        let known = names.names_accepted.says(definition::condition(definition, "NamesAccepted"));
        if accepted != Some(&names.accepted) || !known {
            let conditions = std::iter::once(names.names_accepted).chain(names.established);
            return Some(Change {
                accepted: Some(names.accepted),
                conditions: conditions.collect(),
                ..Change::default()
            });
        }
    }
    let approval = definition::api_approval_condition(definition)
        .filter(|condition| !condition.says(definition::condition(definition, condition.kind)));
    if let Some(condition) = approval {
        return Some(Change { conditions: vec![condition], ..Change::default() });
    }
    let structural = definition::condition(definition, "NonStructuralSchema");
    match definition::non_structural_condition(definition) {
        Some(condition) if !condition.says(structural) => {
            return Some(Change { conditions: vec![condition], ..Change::default() });
        }
        None if structural.is_some() => {
            return Some(Change { removed: Some("NonStructuralSchema"), ..Change::default() });
        }
        _ => {}
    }
    if is_true(definition, "NamesAccepted") && !is_true(definition, "Established") {
        let message = "the initial names have been accepted";
        let condition = Condition::new("Established", "True", "InitialNamesAccepted", message);
        return Some(Change { conditions: vec![condition], ..Change::default() });
    }
    None
}

#[derive(Default)]
struct Change {
    accepted: Option<Value>,
    conditions: Vec<Condition>,
    removed: Option<&'static str>,
    releases: bool,
}

async fn write(control: &Control, key: &Key, change: Change) {
    let now = control.now();
    let written = control
        .update(API_SERVER, key, "status", &mut |definition| {
            if let Some(accepted) = &change.accepted {
                definition["status"]["acceptedNames"] = accepted.clone();
            }
            for condition in &change.conditions {
                definition::set_condition(definition, condition, &now);
            }
            if let Some(kind) = change.removed
                && let Some(conditions) = definition.pointer_mut("/status/conditions")
                && let Some(conditions) = conditions.as_array_mut()
            {
                conditions.retain(|condition| condition["type"] != kind);
            }
            if change.releases {
                let left: Vec<&str> = metadata::finalizers(definition)
                    .filter(|name| *name != CLEANUP_FINALIZER)
                    .collect();
                let left = serde_json::json!(left);
                metadata::set(definition, "finalizers", left);
            }
        })
        .await;
    match written {
        // A client that sees a definition established may use it at once.
        Ok(_) => {
            if let Some(stored) = control.state.store.get(&key.resource, &key.name) {
                super::serve(&control.state, &stored);
            }
        }
        Err(status) => tracing::debug!(%status, name = key.name, "definition not updated"),
    }
}

async fn finalize(control: &Control, key: &Key, definition: &Value) -> Next {
    if !metadata::finalizers(definition).any(|name| name == CLEANUP_FINALIZER) {
        return Next::Wait;
    }
    let terminating = |status, reason: &str, message: &str| {
        vec![Condition::new("Terminating", status, reason, message)]
    };
    let change = |conditions, releases| Change { conditions, releases, ..Change::default() };
    if !is_true(definition, "Established") {
        let conditions = terminating("False", "NeverEstablished", "resource was never established");
        write(control, key, change(conditions, true)).await;
        return Next::Wait;
    }
    let begun =
        terminating("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress");
    if !begun[0].says(definition::condition(definition, "Terminating")) {
        write(control, key, change(begun, false)).await;
        return Next::Wait;
    }
    let group = definition["spec"]["group"].as_str().unwrap_or_default();
    let plural = definition.pointer("/status/acceptedNames/plural").and_then(Value::as_str);
    let resource = GroupResource::new(group, plural.unwrap_or_default());
    for object in control.list(&resource.group, &resource.resource, None) {
        if metadata::is_terminating(&object) {
            continue;
        }
        let key = Key::new(
            &resource.group,
            &resource.resource,
            metadata::namespace(&object),
            metadata::name(&object),
        );
        let uid = metadata::uid(&object).to_owned();
        if let Err(status) = control.delete(API_SERVER, &key, DeleteOptions::default(), &uid).await
        {
            tracing::debug!(%status, name = key.name, "custom object not deleted");
        }
    }
    if control.state.store.count(&resource) > 0 {
        return Next::After(POLL);
    }
    let done = terminating("False", "InstanceDeletionCompleted", "removed all instances");
    write(control, key, change(done, true)).await;
    Next::Wait
}
