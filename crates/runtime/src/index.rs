//! Who refers to whom, so that a change wakes those it concerns and nobody else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{PoisonError, RwLock};

use crate::key::Key;

/// An object that others refer to: its kind and its key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// The kind, as the referrer names it.
    pub kind: String,
    /// The object.
    pub key: Key,
}

impl Reference {
    /// A reference of its parts.
    pub fn new(kind: impl Into<String>, key: Key) -> Self {
        Self { kind: kind.into(), key }
    }
}

#[derive(Debug, Default)]
struct Both {
    from: BTreeMap<Key, BTreeSet<Reference>>,
    to: BTreeMap<Reference, BTreeSet<Key>>,
}

/// The references of one kind's objects, in both directions.
#[derive(Debug, Default)]
pub struct Index(RwLock<Both>);

impl Index {
    /// Replaces the references of an object.
    pub fn set(&self, from: &Key, references: impl IntoIterator<Item = Reference>) {
        let references: BTreeSet<Reference> = references.into_iter().collect();
        let mut both = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let before = both.from.remove(from).unwrap_or_default();
        for gone in before.difference(&references) {
            if let Some(referrers) = both.to.get_mut(gone) {
                referrers.remove(from);
                if referrers.is_empty() {
                    both.to.remove(gone);
                }
            }
        }
        for new in references.difference(&before) {
            both.to.entry(new.clone()).or_default().insert(from.clone());
        }
        if !references.is_empty() {
            both.from.insert(from.clone(), references);
        }
    }

    /// Who refers to an object, in the order of their keys.
    pub fn referrers(&self, to: &Reference) -> Vec<Key> {
        let both = self.0.read().unwrap_or_else(PoisonError::into_inner);
        both.to.get(to).map(|keys| keys.iter().cloned().collect()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::{Index, Key, Reference};

    #[test]
    fn both_directions_follow_a_change() {
        let index = Index::default();
        let to = |name: &str| Reference::new("GitRepository", Key::new("n", name));
        let (a, b) = (Key::new("n", "a"), Key::new("n", "b"));
        index.set(&b, [to("x")]);
        index.set(&a, [to("x"), to("y")]);
        assert_eq!(index.referrers(&to("x")), [a.clone(), b.clone()]);
        index.set(&a, [to("y")]);
        assert_eq!(index.referrers(&to("x")), [b]);
        index.set(&a, []);
        assert_eq!(index.referrers(&to("y")), []);
    }
}
