//! What has to be reconciled, in which order and when.
//!
//! A key is in the queue at most once and is worked on by one worker at a time; one that comes up while it
//! is worked on runs again afterwards. Order is by due time and then by arrival, never by hash, so that a
//! simulation with the same seed does the same things in the same order.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::key::Key;
use crate::metrics::{Metrics, names};

/// How retries are spaced: doubled each time, between the two.
#[derive(Debug, Clone, Copy)]
pub struct Backoff {
    /// After the first failure.
    pub least: Duration,
    /// After many.
    pub most: Duration,
}

/// Flux's `--min-retry-delay` and `--max-retry-delay`.
impl Default for Backoff {
    fn default() -> Self {
        Self { least: Duration::from_millis(750), most: Duration::from_mins(15) }
    }
}

impl Backoff {
    /// The pause before the next try, after so many failures in a row.
    pub fn pause(self, failures: u32) -> Duration {
        let factor = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        self.least.saturating_mul(factor).min(self.most)
    }
}

/// When a key that was worked on is due again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// When something happens.
    Event,
    /// After this time, or when something happens.
    After(Duration),
    /// After a failure: later each time.
    Backoff,
    /// After something that is usually over soon: later each time, but never later than this.
    BackoffUpTo(Duration),
}

/// Place in the order of the queue.
type Place = (Instant, u64);

#[derive(Debug, Default)]
struct Entry {
    place: Option<Place>,
    running: bool,
    failures: u32,
}

#[derive(Debug, Default)]
struct State {
    waiting: BTreeMap<Place, Key>,
    entries: HashMap<Key, Entry>,
    arrivals: u64,
    closed: bool,
}

/// The keys of one controller.
#[derive(Debug, Default)]
pub struct Queue {
    state: Mutex<State>,
    changed: Notify,
    backoff: Backoff,
    counted: Option<Counted>,
}

/// Where a queue counts what it does.
#[derive(Debug)]
struct Counted {
    metrics: Arc<Metrics>,
    controller: String,
}

impl Counted {
    fn labels(&self) -> [&str; 2] {
        [&self.controller, &self.controller]
    }
}

impl Queue {
    /// An empty queue that spaces retries like this.
    pub fn new(backoff: Backoff) -> Self {
        Self { backoff, ..Self::default() }
    }

    /// An empty queue of a controller, which counts what it does.
    pub fn counting(backoff: Backoff, metrics: Arc<Metrics>, controller: &str) -> Self {
        let counted = Some(Counted { metrics, controller: controller.to_owned() });
        Self { backoff, counted, ..Self::default() }
    }

    /// Work on this key as soon as possible.
    pub fn add(&self, key: &Key) {
        self.add_after(key, Duration::ZERO);
    }

    /// Work on this key after a time, or earlier if it is due earlier anyway.
    pub fn add_after(&self, key: &Key, pause: Duration) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = state.schedule(key, Instant::now() + pause);
        drop(state);
        self.changed.notify_one();
        if let (true, Some(counted)) = (is_new, &self.counted) {
            counted.metrics.add(&names::QUEUE_ADDS, &counted.labels(), 1.0);
        }
    }

    /// The next key, when it is due; nothing after the queue was closed. Every key that is given out has to
    /// come back through [`Queue::done`]. Dropping the future loses nothing.
    pub async fn next(&self) -> Option<Key> {
        loop {
            let changed = self.changed.notified();
            let due = {
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                if state.closed {
                    // The other workers have to hear of it too.
                    self.changed.notify_one();
                    return None;
                }
                match state.waiting.first_key_value() {
                    Some((&place, _)) if place.0 <= Instant::now() => {
                        let key = state.waiting.remove(&place);
                        if let Some(key) = key {
                            let entry = state.entries.entry(key.clone()).or_default();
                            entry.place = None;
                            entry.running = true;
                            if !state.waiting.is_empty() {
                                self.changed.notify_one();
                            }
                            self.count_wait(place.0.elapsed());
                            return Some(key);
                        }
                        None
                    }
                    Some((place, _)) => Some(place.0),
                    None => None,
                }
            };
            match due {
                Some(due) => {
                    tokio::select! {
                        biased;
                        () = changed => {}
                        () = tokio::time::sleep_until(due) => {}
                    }
                }
                None => changed.await,
            }
        }
    }

    /// Counts how long a key waited after it was due.
    fn count_wait(&self, waited: Duration) {
        if let Some(counted) = &self.counted {
            let (metrics, waited) = (&counted.metrics, waited.as_secs_f64());
            metrics.observe(&names::QUEUE_DURATION, &counted.labels(), waited);
            metrics.observe(&names::LAG, &[&counted.controller], waited);
        }
    }

    /// The key was worked on.
    pub fn done(&self, key: &Key, next: Next) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let entry = state.entries.entry(key.clone()).or_default();
        entry.running = false;
        let came_up = entry.place.take();
        let pause = match next {
            Next::Event | Next::After(_) => {
                entry.failures = 0;
                if let Next::After(pause) = next { Some(pause) } else { None }
            }
            Next::Backoff | Next::BackoffUpTo(_) => {
                entry.failures = entry.failures.saturating_add(1);
                if let Some(counted) = &self.counted {
                    counted.metrics.add(&names::QUEUE_RETRIES, &counted.labels(), 1.0);
                }
                let longest =
                    if let Next::BackoffUpTo(longest) = next { longest } else { Duration::MAX };
                Some(self.backoff.pause(entry.failures).min(longest))
            }
        };
        let due = [pause.map(|pause| now + pause), came_up.map(|place| place.0)];
        match due.into_iter().flatten().min() {
            Some(due) => {
                state.schedule(key, due);
            }
            None => {
                state.entries.remove(key);
            }
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Forgets a key that is gone, with its failures.
    pub fn forget(&self, key: &Key) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(entry) = state.entries.get_mut(key) else { return };
        entry.failures = 0;
        if let Some(place) = entry.place.take() {
            state.waiting.remove(&place);
        }
        if state.entries.get(key).is_some_and(|entry| !entry.running) {
            state.entries.remove(key);
        }
    }

    /// Gives out nothing more.
    pub fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.changed.notify_one();
    }

    /// How many keys are due now and wait for a worker.
    pub fn depth(&self) -> usize {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        state.waiting.keys().take_while(|place| place.0 <= now).count()
    }
}

impl State {
    /// Puts a key in its place; says whether it was in none before.
    fn schedule(&mut self, key: &Key, due: Instant) -> bool {
        self.arrivals += 1;
        let place = (due, self.arrivals);
        let entry = self.entries.entry(key.clone()).or_default();
        let is_new = entry.place.is_none();
        match entry.place {
            Some(before) if before.0 <= due => return false,
            Some(before) => {
                self.waiting.remove(&before);
            }
            None => {}
        }
        entry.place = Some(place);
        // One that is worked on waits outside until it is done.
        if !entry.running {
            self.waiting.insert(place, key.clone());
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Backoff, Next, Queue};
    use crate::key::Key;

    fn key(name: &str) -> Key {
        Key::new("n", name)
    }

    #[tokio::test(start_paused = true)]
    async fn keys_come_in_order_once_and_never_twice_at_a_time() {
        let queue = Queue::new(Backoff::default());
        queue.add(&key("b"));
        queue.add(&key("a"));
        queue.add(&key("b"));
        assert_eq!(queue.depth(), 2);
        assert_eq!(queue.next().await, Some(key("b")));
        queue.add(&key("b"));
        assert_eq!(queue.next().await, Some(key("a")));
        let early = tokio::time::timeout(Duration::from_secs(5), queue.next()).await;
        assert!(early.is_err(), "b is being worked on");
        queue.done(&key("b"), Next::Event);
        assert_eq!(queue.next().await, Some(key("b")));
    }

    #[tokio::test(start_paused = true)]
    async fn failures_wait_longer_and_an_event_does_not_wait() {
        let queue = Queue::new(Backoff::default());
        let start = tokio::time::Instant::now();
        queue.add(&key("a"));
        for _ in 0..3 {
            assert_eq!(queue.next().await, Some(key("a")));
            queue.done(&key("a"), Next::Backoff);
        }
        assert_eq!(start.elapsed(), Duration::from_millis(750 + 1500));
        queue.add(&key("a"));
        assert_eq!(queue.next().await, Some(key("a")));
        assert_eq!(start.elapsed(), Duration::from_millis(750 + 1500));
        queue.done(&key("a"), Next::After(Duration::from_mins(1)));
        assert_eq!(queue.next().await, Some(key("a")));
        queue.done(&key("a"), Next::Event);
        queue.close();
        assert_eq!(queue.next().await, None);
        assert_eq!(queue.next().await, None);
    }
}
