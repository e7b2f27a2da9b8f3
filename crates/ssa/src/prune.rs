//! Deleting objects that are ours and no longer wanted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use futures::{StreamExt as _, stream};
use serde_json::Value;
use sluice_api::kustomize::kustomization::DeletionPolicy;
use sluice_api::names::DISABLED;
use sluice_api::names::annotations::{KUSTOMIZE_PRUNE, KUSTOMIZE_RECONCILE, KUSTOMIZE_SSA, ssa};

use crate::apply::Applier;
use crate::change::{Action, Change, ChangeSet};
use crate::class::ErrorClass;
use crate::failure::{Failure, class_of};
use crate::metadata::{self, Marks, Owner, has_mark};
use crate::object::{ObjectId, ObjectKey};

/// What becomes of the objects an object owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// They are deleted afterwards.
    Background,
    /// They are deleted before.
    Foreground,
    /// They stay.
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

/// Which objects are deleted, and how.
#[derive(Clone, Debug)]
pub struct DeleteOptions {
    /// What becomes of what they own.
    pub propagation: Propagation,
    /// Labels that an object must bear to be ours.
    pub owner_labels: BTreeMap<String, String>,
    /// Marks of objects that stay.
    pub exclusions: Marks,
    /// Objects that stay for somebody else, although they are ours; they count as unchanged.
    pub spared: BTreeSet<ObjectId>,
    /// Whether only the very object that was looked at is deleted, and not one that took its name since. Off
    /// only in simulations of what that leads to.
    #[doc(hidden)]
    pub very_object: bool,
}

impl DeleteOptions {
    /// What Flux's kustomize-controller prunes with, for one Kustomization.
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

/// Some objects could not be deleted. What was done is in `changes`.
#[derive(Clone, Debug, PartialEq)]
pub struct DeleteError {
    /// Each object that failed.
    pub failures: Vec<Failure>,
    /// What became of all objects.
    pub changes: ChangeSet,
}

impl DeleteError {
    /// Objects that may still be there, and must stay in the inventory to be tried again.
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

/// What the end of a Kustomization means for its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// They stay.
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
            // Orphan, and whatever a later version may add.
            Some(_) => Self::Keep,
        }
    }
}

impl Applier {
    /// Deletes objects in the reverse order of applying: those that are still ours and do not ask to
    /// stay. Objects that are gone count as deleted.
    ///
    /// Safe to drop and to call again.
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
            // Objects of one kind go some at a time; kinds go one after the other.
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
            // An id with a namespace that its kind does not have was never the server's: deleting
            // by it could hit the object that is applied under its true name.
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
