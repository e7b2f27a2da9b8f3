//! Options of applying, and Flux's defaults.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sluice_api::names::annotations::{
    KUSTOMIZE_CHECKSUM, KUSTOMIZE_FORCE, KUSTOMIZE_RECONCILE, KUSTOMIZE_SSA, ssa,
};
use sluice_api::names::{DISABLED, ENABLED};

use crate::change::Change;
use crate::ignore::IgnoreRules;
use crate::managers::{Cleanup, FieldManager, Operation};
use crate::metadata::{Marks, Owner};
use crate::object::{ObjectId, ObjectKey};
use crate::order::GroupKind;

/// Knowledge about the cluster from watches, which saves reading unchanged objects.
pub trait Knowledge: Debug + Send + Sync {
    /// An unchanged object, with the key that the server has for it, if it was applied from exactly this desired object
    /// and has not been changed since. It is then neither read nor dry-run.
    fn settled(&self, key: &ObjectKey, desired: &Value) -> Option<Change>;
}

/// Options of applying.
#[derive(Clone, Debug)]
pub struct ApplyOptions {
    /// Whether to recreate objects when immutable fields change.
    pub force: bool,
    /// Marks of objects to recreate in any case.
    pub force_marks: Marks,
    /// Marks of objects to skip, in the desired or the live object.
    pub exclusions: Marks,
    /// Marks of objects that are only created, never updated.
    pub if_not_present: Marks,
    /// What is removed from live objects before they are applied.
    pub cleanup: Cleanup,
    /// Kinds of the custom stage.
    pub custom_stage_kinds: BTreeSet<GroupKind>,
    /// Whether to move managed fields to the applied version first.
    pub migrate_api_version: bool,
    /// Ignore rules.
    pub ignore: IgnoreRules,
    /// The timeout of waiting for a stage, and for the deletion of an object that is recreated.
    pub wait_timeout: Duration,
    /// Objects that were never applied and so probably do not exist: they are dry-run without being read first.
    pub unseen: BTreeSet<ObjectId>,
    /// Knowledge about the cluster from watches.
    pub knowledge: Option<Arc<dyn Knowledge>>,
    /// Whether changes have imprints.
    pub imprint: bool,
}

impl Default for ApplyOptions {
    fn default() -> Self {
        Self {
            force: false,
            force_marks: Marks::new(),
            exclusions: Marks::new(),
            if_not_present: Marks::new(),
            cleanup: Cleanup::default(),
            custom_stage_kinds: BTreeSet::new(),
            migrate_api_version: false,
            ignore: IgnoreRules::default(),
            wait_timeout: Duration::from_mins(1),
            unseen: BTreeSet::new(),
            knowledge: None,
            imprint: false,
        }
    }
}

impl ApplyOptions {
    /// The options of Flux's kustomize-controller. `overridden` are further managers to take over.
    pub fn kustomize(owner: &Owner, overridden: &[String]) -> Self {
        let mark = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let mut managers = vec![
            FieldManager::new("kubectl", Operation::Apply),
            FieldManager::new("kubectl", Operation::Update),
            FieldManager::new("before-first-apply", Operation::Update),
            FieldManager::new(&owner.field_manager, Operation::Update),
        ];
        for name in overridden {
            managers.push(FieldManager::new(name, Operation::Apply));
            managers.push(FieldManager::new(name, Operation::Update));
        }
        Self {
            exclusions: vec![mark(KUSTOMIZE_RECONCILE, DISABLED), mark(KUSTOMIZE_SSA, ssa::IGNORE)],
            if_not_present: vec![mark(KUSTOMIZE_SSA, ssa::IF_NOT_PRESENT)],
            force_marks: vec![mark(KUSTOMIZE_FORCE, ENABLED)],
            cleanup: Cleanup {
                annotations: vec![
                    "kubectl.kubernetes.io/last-applied-configuration".to_owned(),
                    KUSTOMIZE_CHECKSUM.to_owned(),
                    "fluxcd.io/sync-checksum".to_owned(),
                ],
                labels: vec!["fluxcd.io/sync-gc-mark".to_owned()],
                managers,
                exclusions: vec![mark(KUSTOMIZE_SSA, ssa::MERGE)],
            },
            ..Self::default()
        }
    }
}
