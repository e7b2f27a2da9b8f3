//! A sink that keeps the last events in memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Event, Sink};

/// The default bound of a recorder.
const KEPT: usize = 100_000;

/// Keeps the last events; clones are handles to the same ones.
#[derive(Debug, Clone)]
pub struct Recorder {
    kept: Arc<Mutex<Kept>>,
    bound: usize,
}

#[derive(Debug, Default)]
struct Kept {
    events: VecDeque<Event>,
    dropped: u64,
}

impl Default for Recorder {
    fn default() -> Self {
        Self::bounded(KEPT)
    }
}

impl Recorder {
    /// Keeps at most `bound` events; the oldest go first.
    pub fn bounded(bound: usize) -> Self {
        Self { kept: Arc::default(), bound }
    }

    /// Removes and returns the events so far, oldest first.
    pub fn take(&self) -> Vec<Event> {
        std::mem::take(&mut self.lock().events).into()
    }

    /// The events so far, oldest first.
    pub fn events(&self) -> Vec<Event> {
        self.lock().events.iter().cloned().collect()
    }

    /// The number of dropped events. A test that judges all requests must check that it is 0.
    pub fn dropped(&self) -> u64 {
        self.lock().dropped
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for Recorder {
    fn write(&self, event: Event) {
        let mut kept = self.lock();
        while kept.events.len() >= self.bound.max(1) {
            kept.events.pop_front();
            kept.dropped += 1;
        }
        kept.events.push_back(event);
    }
}
