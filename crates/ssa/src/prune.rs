//! Garbage collection: deletes owned objects that are no longer desired.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use futures::{StreamExt as _, stream};
use serde_json::Value;
use sluice_api::kustomize::kustomization::DeletionPolicy;
use sluice_api::names::DISABLED;
use sluice_api::names::annotations::{KUSTOMIZE_PRUNE, KUSTOMIZE_RECONCILE, KUSTOMIZE_SSA, ssa};

use crate::apply::Applier;
use crate::change::{Action, Change, ChangeSet};
use crate::failure::{Failure, class_of};
use crate::metadata::{self, Marks, Owner, has_mark};
use crate::object::{ObjectId, ObjectKey};
use sluice_runtime::class::ErrorClass;

/// The propagation policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// Dependents are deleted afterwards.
    Background,
    /// Dependents are deleted before.
    Foreground,
    /// Dependents are kept.
    Orphan,
}

impl Propagation {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Background => "Background",
            Self::Foreground => "Foreground",
            Self::Orphan => "Orphan",
        }
    }
}

/// Options of a deletion.
#[derive(Clone, Debug)]
pub struct DeleteOptions {
    /// The propagation policy.
    pub propagation: Propagation,
    /// The owner labels that an object must have.
    pub owner_labels: BTreeMap<String, String>,
    /// Marks of objects that are kept.
    pub exclusions: Marks,
    /// Objects that are kept because another owner takes them over; they count as unchanged.
    pub spared: BTreeSet<ObjectId>,
    /// Whether a delete has the uid of the object that was read as a precondition, so that a new object with the
    /// same name is not deleted. Off only in simulations that show the consequences.
    #[doc(hidden)]
    pub very_object: bool,
}

impl DeleteOptions {
    /// The options of Flux's kustomize-controller for one Kustomization.
    pub fn kustomize(owner: &Owner, name: &str, namespace: &str) -> Self {
        let mark = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        Self {
            propagation: Propagation::Background,
            owner_labels: owner.labels(name, namespace),
            exclusions: vec![
                mark(KUSTOMIZE_PRUNE, DISABLED),
                mark(KUSTOMIZE_RECONCILE, DISABLED),
                mark(KUSTOMIZE_SSA, ssa::IGNORE),
            ],
            spared: BTreeSet::new(),
            very_object: true,
        }
    }
}

/// Some objects could not be deleted. `changes` has what was done.
#[derive(Clone, Debug, PartialEq)]
pub struct DeleteError {
    /// The objects that failed.
    pub failures: Vec<Failure>,
    /// The changes of all objects.
    pub changes: ChangeSet,
}

impl DeleteError {
    /// Objects that may still exist, and must stay in the inventory for the next attempt.
    pub fn survivors(&self) -> Vec<ObjectKey> {
        let unknown = self.changes.entries.iter().filter(|entry| entry.action == Action::Unknown);
        unknown.map(|entry| entry.key.clone()).collect()
    }

    /// The class that decides what to do.
    pub fn class(&self) -> ErrorClass {
        class_of(&self.failures)
    }
}

impl fmt::Display for DeleteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("delete failed, errors: ")?;
        self.failures.iter().try_for_each(|failure| write!(f, "{failure};"))
    }
}

impl std::error::Error for DeleteError {}

/// The treatment of a deleted Kustomization's objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// They are kept.
    Keep,
    /// They are deleted.
    Delete,
    /// They are deleted, and waited for.
    DeleteAndWait,
}

impl Removal {
    /// From the fields of a Kustomization.
    pub fn of(policy: Option<&DeletionPolicy>, prune: bool, suspend: bool) -> Self {
        match policy {
            _ if suspend => Self::Keep,
            None | Some(DeletionPolicy::MirrorPrune) if !prune => Self::Keep,
            None | Some(DeletionPolicy::MirrorPrune | DeletionPolicy::Delete) => Self::Delete,
            Some(DeletionPolicy::WaitForTermination) => Self::DeleteAndWait,
            // Orphan, and values of later versions.
            Some(_) => Self::Keep,
        }
    }
}

impl Applier {
    /// Deletes objects in the reverse order of applying, if they still have the owner labels and are not excluded.
    /// Objects that do not exist count as deleted.
    ///
    /// Cancel-safe and idempotent.
    pub async fn delete(
        &self,
        mut keys: Vec<ObjectKey>,
        options: &DeleteOptions,
    ) -> Result<ChangeSet, DeleteError> {
        keys.sort();
        keys.reverse();
        let mut changes = ChangeSet::default();
        let mut failures = Vec::new();
        let mut keys = keys.into_iter().peekable();
        while let Some(first) = keys.next() {
            // Objects of one kind are deleted concurrently, kinds in sequence.
            let (group, kind) = (first.id.group.clone(), first.id.kind.clone());
            let mut together = vec![first];
            while let Some(next) =
                keys.next_if(|next| next.id.group == group && next.id.kind == kind)
            {
                together.push(next);
            }
            let mut deletions = stream::iter(together)
                .map(|key| self.delete_one(key, options))
                .buffered(self.concurrency);
            while let Some((key, deleted)) = deletions.next().await {
                let action = deleted.unwrap_or_else(|failure| {
                    failures.push(failure);
                    Action::Unknown
                });
                changes.entries.push(Change::new(key, action));
            }
        }
        if failures.is_empty() { Ok(changes) } else { Err(DeleteError { failures, changes }) }
    }

    async fn delete_one(
        &self,
        key: ObjectKey,
        options: &DeleteOptions,
    ) -> (ObjectKey, Result<Action, Failure>) {
        let result = self.try_delete(&key, options).await;
        (key, result)
    }

    async fn try_delete(
        &self,
        key: &ObjectKey,
        options: &DeleteOptions,
    ) -> Result<Action, Failure> {
        let query_failed = |error: &_| Failure::of(key, "query failed", error);
        let resource = self
            .discovery
            .resolve(&self.client, key)
            .await
            .map_err(|error| query_failed(&error))?;
        if !resource.namespaced && !key.id.namespace.is_empty() {
            // A key with a namespace for a cluster-scoped kind never came from the server: deleting by it could
            // delete the object that is applied under its real key.
            return Ok(Action::Skipped);
        }
        let live = match resource.get(&self.client, &key.id.namespace, &key.id.name).await {
            Ok(live) => live,
            Err(error) if error.is_not_found() => return Ok(Action::Deleted),
            Err(error) => return Err(query_failed(&error)),
        };
        let labels = metadata::labels(&live);
        let is_ours = options
            .owner_labels
            .iter()
            .all(|(name, value)| labels.get(name.as_str()) == Some(&value.as_str()));
        if !is_ours || has_mark(&live, &options.exclusions) {
            return Ok(Action::Skipped);
        }
        if options.spared.contains(&key.id) {
            return Ok(Action::Unchanged);
        }
        if live.pointer("/metadata/deletionTimestamp").is_some_and(Value::is_string) {
            return Ok(Action::Deleted);
        }
        let name = (key.id.namespace.as_str(), key.id.name.as_str());
        let uid = live.pointer("/metadata/uid").and_then(Value::as_str);
        let uid = uid.filter(|_| options.very_object);
        match resource.delete(&self.client, name, uid, options.propagation.as_str()).await {
            Err(error) if !error.is_not_found() => Err(Failure::of(key, "delete failed", &error)),
            _ => Ok(Action::Deleted),
        }
    }

    /// Waits until the deleted objects of a change set are gone.
    pub async fn wait_for_termination(
        &self,
        changes: &ChangeSet,
        timeout: std::time::Duration,
    ) -> Result<(), Failure> {
        let keys: Vec<ObjectKey> = changes
            .entries
            .iter()
            .filter(|entry| entry.action == Action::Deleted)
            .map(|entry| entry.key.clone())
            .collect();
        self.until_gone(&keys, timeout).await.map_err(|key| Failure {
            message: format!("{key} termination timeout: context deadline exceeded"),
            object: Some(key),
            class: ErrorClass::Health,
            place: None,
        })
    }
}
