//! Inventories: the applied objects in a status, for pruning.

use std::collections::BTreeSet;

use sluice_api::shared::inventory::{ResourceInventory, ResourceRef};

use crate::change::{Action, ChangeSet};
use crate::object::{IdError, ObjectId, ObjectKey};

/// The applied objects, in the order of applying, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    entries: Vec<ObjectKey>,
    ids: BTreeSet<ObjectId>,
}

impl Inventory {
    /// Parses the inventory of a status.
    pub fn read(stored: &ResourceInventory) -> Result<Self, IdError> {
        let mut inventory = Self::default();
        for entry in &stored.entries {
            inventory.add(ObjectKey { id: ObjectId::parse(&entry.id)?, version: entry.v.clone() });
        }
        Ok(inventory)
    }

    /// Parses the valid entries of a status, and returns the invalid ids.
    pub fn readable(stored: &ResourceInventory) -> (Self, Vec<&str>) {
        let (mut inventory, mut unreadable) = (Self::default(), Vec::new());
        for entry in &stored.entries {
            match ObjectId::parse(&entry.id) {
                Ok(id) if !id.name.is_empty() && !id.kind.is_empty() && !entry.v.is_empty() => {
                    inventory.add(ObjectKey { id, version: entry.v.clone() });
                }
                _ => unreadable.push(entry.id.as_str()),
            }
        }
        (inventory, unreadable)
    }

    /// All objects of a change set, including skipped ones: those are kept, not released.
    pub fn of_changes(changes: &ChangeSet) -> Self {
        let applied = changes.entries.iter().filter(|change| change.action != Action::Deleted);
        Self::of_keys(applied.map(|change| change.key.clone()))
    }

    /// An inventory of keys.
    pub fn of_keys(keys: impl IntoIterator<Item = ObjectKey>) -> Self {
        let mut inventory = Self::default();
        for key in keys {
            inventory.add(key);
        }
        inventory
    }

    /// The form in a status.
    pub fn write(&self) -> ResourceInventory {
        let entry = |key: &ObjectKey| ResourceRef {
            id: key.id.to_inventory(),
            v: key.version.clone(),
            ..ResourceRef::default()
        };
        ResourceInventory {
            entries: self.entries.iter().map(entry).collect(),
            ..ResourceInventory::default()
        }
    }

    /// The objects, in the order of applying.
    pub fn keys(&self) -> &[ObjectKey] {
        &self.entries
    }

    /// Whether it contains an object, in any version.
    pub fn contains(&self, id: &ObjectId) -> bool {
        self.ids.contains(id)
    }

    /// Adds an object unless it is in the inventory.
    pub fn add(&mut self, key: ObjectKey) {
        if self.ids.insert(key.id.clone()) {
            self.entries.push(key);
        }
    }

    /// The union, this one first. It is written before anything is applied, so that a crash orphans nothing.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut union = self.clone();
        for key in &other.entries {
            union.add(key.clone());
        }
        union
    }

    /// The objects that are in this one and not in the other, in the order of applying.
    pub fn minus(&self, other: &Self) -> Vec<ObjectKey> {
        let mut stale: Vec<ObjectKey> =
            self.entries.iter().filter(|key| !other.contains(&key.id)).cloned().collect();
        stale.sort();
        stale
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(entries: &[(&str, &str)]) -> ResourceInventory {
        let entry = |(id, v): &(&str, &str)| ResourceRef {
            id: (*id).to_owned(),
            v: (*v).to_owned(),
            ..ResourceRef::default()
        };
        ResourceInventory {
            entries: entries.iter().map(entry).collect(),
            ..ResourceInventory::default()
        }
    }

    #[test]
    fn what_is_no_longer_applied_is_stale_whatever_the_version() {
        let old = stored(&[
            ("a_z_apps_Deployment", "v1"),
            ("_a__Namespace", "v1"),
            ("a_h_autoscaling_HorizontalPodAutoscaler", "v1"),
            ("a_c__ConfigMap", "v1"),
        ]);
        let new =
            stored(&[("a_h_autoscaling_HorizontalPodAutoscaler", "v2"), ("a_n__Secret", "v1")]);
        let (old, new) = (Inventory::read(&old).expect("ids"), Inventory::read(&new).expect("ids"));
        let stale: Vec<String> = old.minus(&new).iter().map(ToString::to_string).collect();
        assert_eq!(stale, ["Namespace/a", "ConfigMap/a/c", "Deployment/a/z"]);
        let union = old.union(&new);
        assert_eq!(union.len(), 5);
        assert_eq!(union.minus(&old).len(), 1);
    }
}
