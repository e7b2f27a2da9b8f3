//! The garbage collector: deletes objects after all of their owners.
//!
//! Owners are found by uid. An index from owner to dependents is maintained from events, so the cost
//! of a deletion depends on the number of dependents only.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::control::{Actor, CONTROLLER_MANAGER, Control};
use super::{Controller, Key, Next, Reconcile};
use crate::metadata;
use crate::resource::api_version;
use crate::store::{Change, Event, GroupResource};
use crate::write::{DeleteOptions, FOREGROUND, ORPHAN, Propagation};

const ACTOR: Actor = Actor {
    user: "system:serviceaccount:kube-system:generic-garbage-collector",
    manager: CONTROLLER_MANAGER.manager,
};

/// The garbage collector.
#[derive(Default)]
pub(super) struct GarbageCollector {
    index: Mutex<Index>,
}

#[derive(Default)]
struct Index {
    /// Owner uid to the keys of its dependents.
    dependents: BTreeMap<String, BTreeSet<Key>>,
    /// The key of every object by uid.
    living: BTreeMap<String, Key>,
}

impl Index {
    fn take_in(&mut self, key: &Key, event: &Event) {
        let object = &event.object.value;
        if let Some(previous) = &event.previous {
            for owner in owners(&previous.value) {
                let uid = text(owner, "uid");
                if let Some(keys) = self.dependents.get_mut(uid) {
                    keys.remove(key);
                    if keys.is_empty() {
                        self.dependents.remove(uid);
                    }
                }
            }
        }
        if event.change == Change::Deleted {
            self.living.remove(metadata::uid(object));
            return;
        }
        self.living.insert(metadata::uid(object).to_owned(), key.clone());
        for owner in owners(object) {
            self.dependents.entry(text(owner, "uid").to_owned()).or_default().insert(key.clone());
        }
    }

    fn of(&self, uid: &str) -> Vec<Key> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }
}

fn owners(object: &Value) -> impl Iterator<Item = &Value> {
    metadata::of(object).get("ownerReferences").and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

impl Controller for GarbageCollector {
    fn wakes(&self, _: &Control, resource: &GroupResource, event: &Event) -> Vec<Key> {
        let key = Key::of(resource, &event.key);
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        index.take_in(&key, event);
        let object = &event.object.value;
        let mut out = Vec::new();
        let concerns_owner = event.change == Change::Deleted || metadata::is_terminating(object);
        if concerns_owner {
            out.extend(index.of(metadata::uid(object)));
            // An owner in foreground deletion waits for its dependents.
            out.extend(
                owners(object).filter_map(|owner| index.living.get(text(owner, "uid")).cloned()),
            );
        }
        if event.change != Change::Deleted
            && (owners(object).next().is_some() || metadata::is_terminating(object))
        {
            out.push(key);
        }
        out.sort();
        out.dedup();
        out
    }

    fn reconcile<'a>(&'a self, control: &'a Control, key: &'a Key) -> Reconcile<'a> {
        Box::pin(async move {
            let Some(object) = control.get(key) else { return Next::Wait };
            if metadata::is_terminating(&object) {
                self.finish_owner(control, key, &object).await;
            } else {
                self.judge_dependent(control, key, &object).await;
            }
            Next::Wait
        })
    }
}

impl GarbageCollector {
    /// Processes the propagation finalizers of an owner that is being deleted.
    async fn finish_owner(&self, control: &Control, key: &Key, object: &Arc<Value>) {
        let uid = metadata::uid(object);
        let dependents = self.index.lock().unwrap_or_else(PoisonError::into_inner).of(uid);
        let finalizers: Vec<&str> = metadata::finalizers(object).collect();
        if finalizers.contains(&ORPHAN) {
            for dependent in &dependents {
                let gone =
                    control.update(ACTOR, dependent, "", &mut |value| drop_owner(value, uid)).await;
                if let Err(status) = gone {
                    tracing::debug!(%status, "owner not removed");
                }
            }
            remove_finalizer(control, key, ORPHAN).await;
        } else if finalizers.contains(&FOREGROUND) {
            let mut blocked = false;
            for dependent in &dependents {
                let Some(value) = control.get(dependent) else { continue };
                let blocks = owners(&value)
                    .any(|owner| text(owner, "uid") == uid && owner["blockOwnerDeletion"] == true);
                blocked |= blocks;
                if !metadata::is_terminating(&value) {
                    let options = DeleteOptions {
                        propagation: Some(Propagation::Foreground),
                        ..DeleteOptions::default()
                    };
                    let _ = control.delete(ACTOR, dependent, options, metadata::uid(&value)).await;
                }
            }
            if !blocked {
                remove_finalizer(control, key, FOREGROUND).await;
            }
        }
    }

    /// Deletes an object if all of its owners are gone; otherwise drops references to absent ones.
    async fn judge_dependent(&self, control: &Control, key: &Key, object: &Arc<Value>) {
        let mut dangling = Vec::new();
        let (mut solid, mut waiting) = (0, 0);
        for owner in owners(object) {
            match owner_of(control, key, owner) {
                Owner::Lives => solid += 1,
                Owner::Dies => waiting += 1,
                Owner::Gone => dangling.push(text(owner, "uid").to_owned()),
                Owner::Unknown => return,
            }
        }
        if dangling.is_empty() && waiting == 0 {
            return;
        }
        if solid > 0 {
            let _ = control
                .update(ACTOR, key, "", &mut |value| {
                    for uid in &dangling {
                        drop_owner(value, uid);
                    }
                })
                .await;
            return;
        }
        if waiting > 0 && dangling.is_empty() {
            return;
        }
        let finalizers: Vec<&str> = metadata::finalizers(object).collect();
        let propagation = if finalizers.contains(&ORPHAN) {
            Propagation::Orphan
        } else if finalizers.contains(&FOREGROUND) {
            Propagation::Foreground
        } else {
            Propagation::Background
        };
        let options = DeleteOptions { propagation: Some(propagation), ..DeleteOptions::default() };
        let _ = control.delete(ACTOR, key, options, metadata::uid(object)).await;
    }
}

/// Looks up the state of an owner.
fn owner_of(control: &Control, key: &Key, owner: &Value) -> Owner {
    let (group, version) = text(owner, "apiVersion").rsplit_once('/').unwrap_or(("", "v1"));
    let Some(resource) = control.state.registry.by_kind(group, text(owner, "kind")) else {
        tracing::debug!(
            owner = %api_version(group, version),
            "the owner's kind is not served; nothing is deleted"
        );
        return Owner::Unknown;
    };
    let namespace = if resource.namespaced { key.namespace.as_str() } else { "" };
    if resource.namespaced && namespace.is_empty() {
        return Owner::Unknown;
    }
    let owner_key = Key {
        resource: resource.storage.clone(),
        namespace: namespace.to_owned(),
        name: text(owner, "name").to_owned(),
    };
    match control.get(&owner_key) {
        Some(value) if metadata::uid(&value) == text(owner, "uid") => {
            let foreground = metadata::finalizers(&value).any(|name| name == FOREGROUND);
            if metadata::is_terminating(&value) && foreground { Owner::Dies } else { Owner::Lives }
        }
        _ => Owner::Gone,
    }
}

/// The state of an owner.
enum Owner {
    Lives,
    /// It waits in foreground deletion for its dependents.
    Dies,
    Gone,
    /// Its kind is not served, so its state is unknown.
    Unknown,
}

fn drop_owner(object: &mut Value, uid: &str) {
    let kept: Vec<Value> =
        owners(object).filter(|owner| text(owner, "uid") != uid).cloned().collect();
    let value = if kept.is_empty() { Value::Null } else { json!(kept) };
    metadata::set(object, "ownerReferences", value);
}

async fn remove_finalizer(control: &Control, key: &Key, finalizer: &str) {
    let _ = control
        .update(ACTOR, key, "", &mut |value| {
            let kept: Vec<String> = metadata::finalizers(value)
                .filter(|name| *name != finalizer)
                .map(str::to_owned)
                .collect();
            let kept = if kept.is_empty() { Value::Null } else { json!(kept) };
            metadata::set(value, "finalizers", kept);
        })
        .await;
}
