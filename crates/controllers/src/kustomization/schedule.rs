//! Why a Kustomization is worked on: because a pass is due, or only because there is something to tell.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sluice_runtime::key::Key;
use sluice_runtime::queue::Next;
use tokio::time::Instant;

#[derive(Debug, Default)]
struct State {
    /// Asked for by something that happened.
    asked: BTreeSet<Key>,
    /// When the next one is due anyway; nothing where only an event makes it due.
    due: BTreeMap<Key, Option<Instant>>,
}

/// When whole passes are due.
#[derive(Debug, Default)]
pub(super) struct Schedule(Mutex<State>);

impl Schedule {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something happened that asks for a whole pass.
    pub(super) fn ask(&self, key: &Key) {
        self.state().asked.insert(key.clone());
    }

    /// Whether a whole pass is due.
    pub(super) fn is_due(&self, key: &Key) -> bool {
        let state = self.state();
        let by_time = match state.due.get(key) {
            Some(Some(due)) => *due <= Instant::now(),
            Some(None) => false,
            None => true,
        };
        by_time || state.asked.contains(key)
    }

    /// A whole pass begins: what is asked for from here on asks for another.
    pub(super) fn begin(&self, key: &Key) {
        self.state().asked.remove(key);
    }

    /// It ended, and the next is due then.
    pub(super) fn end(&self, key: &Key, next: Next) {
        let mut state = self.state();
        match next {
            Next::Event => state.due.insert(key.clone(), None),
            Next::After(pause) => state.due.insert(key.clone(), Some(Instant::now() + pause)),
            Next::Backoff | Next::BackoffUpTo(_) => state.due.remove(key),
        };
    }

    /// How long until the next whole pass.
    pub(super) fn rest(&self, key: &Key) -> Next {
        match self.state().due.get(key) {
            Some(Some(due)) => Next::After(due.saturating_duration_since(Instant::now())),
            Some(None) => Next::Event,
            None => Next::After(Duration::ZERO),
        }
    }

    /// Forgets one that is gone.
    pub(super) fn forget(&self, key: &Key) {
        let mut state = self.state();
        state.asked.remove(key);
        state.due.remove(key);
    }
}
