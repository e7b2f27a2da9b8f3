//! How objects are applied, and Flux's own choice.

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

/// What somebody who watches the cluster knows about it. Saves looking at objects that nobody touched.
pub trait Knowledge: Debug + Send + Sync {
    /// That the object is unchanged, under the name the server has for it, if it was applied from exactly
    /// this one and has not been touched since. It is then neither read nor tried.
    fn settled(&self, key: &ObjectKey, desired: &Value) -> Option<Change>;
}

/// How objects are applied.
#[derive(Clone, Debug)]
pub struct ApplyOptions {
    /// Recreate objects whose immutable fields change.
    pub force: bool,
    /// Marks of objects to recreate so in any case.
    pub force_marks: Marks,
    /// Marks of objects to leave alone, here or in the cluster.
    pub exclusions: Marks,
    /// Marks of objects that are only ever created.
    pub if_not_present: Marks,
    /// What goes away before objects are applied.
    pub cleanup: Cleanup,
    /// Kinds that are applied before all that are in no earlier stage.
    pub custom_stage_kinds: BTreeSet<GroupKind>,
    /// Move managed fields to the version that is applied, first of all.
    pub migrate_api_version: bool,
    /// Fields that are others'.
    pub ignore: IgnoreRules,
    /// How long a stage may take to get ready, and an object to go away before it is made anew.
    pub wait_timeout: Duration,
    /// Objects that were never applied before and so are probably not there: they are tried without
    /// a look first.
    pub unseen: BTreeSet<ObjectId>,
    /// What is known about the cluster without asking it.
    pub knowledge: Option<Arc<dyn Knowledge>>,
    /// Whether changes tell what was left on each object.
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
    /// What Flux's kustomize-controller applies with. `overridden` are further managers whose fields
    /// are taken over.
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
