//! What each Kustomization wants, and which of them wait for another to take it.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError};

use sluice_api::kustomize::kustomization::Kustomization;
use sluice_api::shared::artifact::Artifact;
use sluice_runtime::index::Reference;
use sluice_runtime::key::Key;
use sluice_runtime::store::Change;
use sluice_ssa::{ObjectId, ObjectKey};

use super::stay::Stay;

/// How many claims of a Kustomization are kept: of its source's artifact, and of newer ones of the repository.
const CLAIMS: usize = 3;

/// The objects that a Kustomization wants of an artifact, as numbers: they are only ever compared.
struct Claim {
    uid: Option<String>,
    generation: Option<i64>,
    artifact: String,
    wanted: BTreeSet<u64>,
}

impl Claim {
    fn is_of(&self, object: &Kustomization) -> bool {
        self.uid == object.metadata.uid && self.generation == object.metadata.generation
    }
}

/// What each Kustomization wants, and which of them wait for another to take it.
#[derive(Default)]
pub(in crate::kustomization) struct HandOver {
    claims: Mutex<BTreeMap<Key, Vec<Claim>>>,
    /// By the new owner: the old ones.
    waiting: Mutex<BTreeMap<Key, BTreeSet<Key>>>,
    /// By a source: the old owners that wait until it has fetched.
    awaiting: Mutex<BTreeMap<Reference, BTreeSet<Key>>>,
    /// Old and new owners, where the new one was asked to look again.
    asked: Mutex<BTreeSet<(Key, Key)>>,
}

fn number(id: &ObjectId) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

impl HandOver {
    /// Remembers what a Kustomization wants of an artifact.
    pub(in crate::kustomization) fn claim(
        &self,
        object: &Kustomization,
        artifact: &Artifact,
        keys: &[ObjectKey],
    ) {
        let claim = Claim {
            uid: object.metadata.uid.clone(),
            generation: object.metadata.generation,
            artifact: artifact.digest.clone(),
            wanted: keys.iter().map(|key| number(&key.id)).collect(),
        };
        let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        let known = claims.entry(Key::of(&object.metadata)).or_default();
        known.retain(|it| it.is_of(object) && it.artifact != claim.artifact);
        if known.len() == CLAIMS {
            known.remove(0);
        }
        known.push(claim);
    }

    /// What a claim to an artifact says, where there is one.
    fn ask<T>(
        &self,
        object: &Kustomization,
        artifact: &str,
        question: impl FnOnce(&Claim) -> T,
    ) -> Option<T> {
        let claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = claims.get(&Key::of(&object.metadata))?.iter();
        known.find(|claim| claim.is_of(object) && claim.artifact == artifact).map(question)
    }

    pub(super) fn knows(&self, object: &Kustomization, artifact: &str) -> bool {
        self.ask(object, artifact, |_| ()).is_some()
    }

    pub(super) fn is_claimed(&self, by: &Kustomization, artifact: &str, id: &ObjectId) -> bool {
        self.ask(by, artifact, |claim| claim.wanted.contains(&number(id))).unwrap_or(false)
    }

    pub(super) fn wait(&self, stay: &Stay, old: &Key) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.entry(stay.taker().clone()).or_default().insert(old.clone());
        if let Stay::Until { source, .. } = stay {
            let mut awaiting = self.awaiting.lock().unwrap_or_else(PoisonError::into_inner);
            awaiting.entry(source.clone()).or_default().insert(old.clone());
        }
    }

    /// The ones that wait for a Kustomization, now that it changed: its spec, or by a pass that came to an end.
    pub(in crate::kustomization) fn released(
        &self,
        change: &Change<Kustomization>,
    ) -> BTreeSet<Key> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if !waiting.contains_key(&change.key) {
            return BTreeSet::new();
        }
        let concerns = |object: &Arc<Kustomization>| {
            let history = object.status.as_ref().and_then(|status| status.history.clone());
            (object.metadata.generation, object.metadata.deletion_timestamp.clone(), history)
        };
        if change.before.as_ref().map(concerns) == change.after.as_ref().map(concerns) {
            return BTreeSet::new();
        }
        waiting.remove(&change.key).unwrap_or_default()
    }

    /// The ones that wait until a source has fetched, now that it has.
    pub(in crate::kustomization) fn fetched(&self, source: &Reference) -> BTreeSet<Key> {
        let mut awaiting = self.awaiting.lock().unwrap_or_else(PoisonError::into_inner);
        awaiting.remove(source).unwrap_or_default()
    }

    /// Whether the new owner was not yet asked, on behalf of the old one, to look again.
    pub(super) fn asks_first(&self, new: &Key, old: &Key) -> bool {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.insert((old.clone(), new.clone()))
    }

    /// Nothing is kept for others any more.
    pub(super) fn settle(&self, old: &Key) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.retain(|(key, _)| key != old);
    }

    /// Forgets one that is gone.
    pub(in crate::kustomization) fn forget(&self, key: &Key) {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
        self.settle(key);
    }
}
