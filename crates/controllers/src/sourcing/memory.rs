//! What one pass over an object leaves to the next, as long as the process lives.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sluice_runtime::key::Key;
use sluice_source::artifact::Digest;

/// Digests by object.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<BTreeMap<Key, Digest>>);

impl Memory {
    /// Keeps a digest in place of the one before.
    pub(crate) fn remember(&self, key: &Key, digest: Digest) {
        self.lock().insert(key.clone(), digest);
    }

    /// The digest of an object.
    pub(crate) fn get(&self, key: &Key) -> Option<Digest> {
        self.lock().get(key).cloned()
    }

    /// Takes the digest of an object away.
    pub(crate) fn forget(&self, key: &Key) {
        self.lock().remove(key);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Digest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
