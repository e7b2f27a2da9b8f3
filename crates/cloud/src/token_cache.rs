//! The cache of keys and tokens: as in Flux, each is kept for four fifths of its lifetime.

use std::any::Any;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use sluice_base::clock::Clock;

use crate::CloudError;

/// A value with an expiry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lasting<T> {
    /// The value.
    pub value: T,
    /// When it expires; for a cached value, when it is requested again.
    pub until: Timestamp,
}

/// The limits of the cache: `--token-cache-max-size` and `--token-cache-max-duration`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheLimits {
    /// The number of values; zero disables the cache.
    pub size: usize,
    /// The maximum time that a value is kept.
    pub duration: SignedDuration,
}

impl CacheLimits {
    /// The maximum of that time, whatever a flag says.
    pub const LONGEST: SignedDuration = SignedDuration::from_hours(1);
}

impl Default for CacheLimits {
    fn default() -> Self {
        Self { size: 100, duration: Self::LONGEST }
    }
}

type Value = Arc<dyn Any + Send + Sync>;

/// A slot for one value; it is locked while the value is requested, so that it is requested once.
type Place = Arc<futures::lock::Mutex<Option<(Value, Timestamp)>>>;

/// The cache.
pub(crate) struct TokenCache {
    clock: Arc<dyn Clock>,
    limits: CacheLimits,
    places: Mutex<Places>,
}

#[derive(Default)]
struct Places {
    /// Counts uses, to find the slot that was used least recently.
    uses: u64,
    by_key: BTreeMap<String, (u64, Place)>,
}

impl TokenCache {
    pub(crate) fn new(clock: Arc<dyn Clock>, limits: CacheLimits) -> Self {
        Self { clock, limits, places: Mutex::default() }
    }

    /// The cached value of a key, or a new one.
    pub(crate) async fn get<T: Clone + Send + Sync + 'static>(
        &self,
        key: String,
        make: impl Future<Output = Result<Lasting<T>, CloudError>>,
    ) -> Result<Lasting<T>, CloudError> {
        if self.limits.size == 0 {
            return make.await.map(|made| self.aged(made));
        }
        let place = self.place(key);
        let mut held = place.lock().await;
        if let Some((value, until)) = &*held
            && *until > self.clock.now()
            && let Some(value) = value.downcast_ref::<T>()
        {
            return Ok(Lasting { value: value.clone(), until: *until });
        }
        let made = self.aged(make.await?);
        *held = Some((Arc::new(made.value.clone()), made.until));
        Ok(made)
    }

    /// The value with the time of its next request in place of its expiry.
    fn aged<T>(&self, made: Lasting<T>) -> Lasting<T> {
        let now = self.clock.now();
        let left = made.until.duration_since(now).max(SignedDuration::ZERO);
        let kept = (left / 10 * 8).min(self.limits.duration).min(CacheLimits::LONGEST);
        Lasting { value: made.value, until: now + kept }
    }

    fn place(&self, key: String) -> Place {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.uses += 1;
        let used = places.uses;
        if let Some((last, place)) = places.by_key.get_mut(&key) {
            *last = used;
            return Arc::clone(place);
        }
        if places.by_key.len() >= self.limits.size {
            let oldest = places.by_key.iter().min_by_key(|(_, (last, _))| *last);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                places.by_key.remove(&oldest);
            }
        }
        let place = Place::default();
        places.by_key.insert(key, (used, Arc::clone(&place)));
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TestClock, at_once, drive};

    fn limits(size: usize, minutes: i64) -> CacheLimits {
        CacheLimits { size, duration: SignedDuration::from_mins(minutes) }
    }

    /// Whether the cache requests a value with a lifetime of so many minutes.
    fn asks(cache: &TokenCache, key: &str, clock: &TestClock, minutes: i64) -> bool {
        let mut asked = false;
        let until = clock.now() + SignedDuration::from_mins(minutes);
        let make = async {
            asked = true;
            Ok(Lasting { value: key.to_owned(), until })
        };
        let kept = at_once(cache.get(key.to_owned(), make)).expect("made or cached");
        assert_eq!(kept.value, key);
        asked
    }

    #[test]
    fn four_fifths_of_a_life_are_lived_here() {
        let clock = TestClock::default();
        let cache = TokenCache::new(Arc::new(clock.clone()), CacheLimits::default());
        assert!(asks(&cache, "a", &clock, 10));
        clock.pass(7 * 60 + 59);
        assert!(!asks(&cache, "a", &clock, 10));
        clock.pass(1);
        assert!(asks(&cache, "a", &clock, 10), "eight of ten minutes are over");
        // A day is too long, whatever the lifetime is; an hour is the maximum.
        assert!(asks(&cache, "b", &clock, 24 * 60));
        clock.pass(3599);
        assert!(!asks(&cache, "b", &clock, 24 * 60));
        clock.pass(1);
        assert!(asks(&cache, "b", &clock, 24 * 60));
        // An expired value is never cached.
        assert!(asks(&cache, "c", &clock, 0) && asks(&cache, "c", &clock, 0));
    }

    #[test]
    fn limits_hold() {
        let clock = TestClock::default();
        let cache = TokenCache::new(Arc::new(clock.clone()), limits(2, 60));
        assert!(asks(&cache, "a", &clock, 60) && asks(&cache, "b", &clock, 60));
        assert!(!asks(&cache, "a", &clock, 60));
        assert!(asks(&cache, "c", &clock, 60), "b has to go, which was used longest ago");
        assert!(!asks(&cache, "a", &clock, 60) && asks(&cache, "b", &clock, 60));
        let short = TokenCache::new(Arc::new(clock.clone()), limits(2, 1));
        assert!(asks(&short, "a", &clock, 60));
        clock.pass(60);
        assert!(asks(&short, "a", &clock, 60));
        let none = TokenCache::new(Arc::new(clock.clone()), limits(0, 60));
        assert!(asks(&none, "a", &clock, 60) && asks(&none, "a", &clock, 60));
    }

    #[test]
    fn failures_are_not_cached_and_concurrent_requests_share_a_value() {
        let clock = TestClock::default();
        let cache = TokenCache::new(Arc::new(clock.clone()), CacheLimits::default());
        let refused = async { Err::<Lasting<String>, _>(CloudError("no".to_owned())) };
        assert!(at_once(cache.get("a".to_owned(), refused)).is_err());
        assert!(asks(&cache, "a", &clock, 60));
        let until = clock.now() + SignedDuration::from_mins(60);
        let (sender, receiver) = futures::channel::oneshot::channel();
        let slow = async {
            let value: String = receiver.await.expect("sent");
            Ok(Lasting { value, until })
        };
        let never = async { panic!("asked twice") };
        let both = async {
            let send = async { sender.send("one".to_owned()) };
            let first = cache.get("b".to_owned(), slow);
            let second = cache.get::<String>("b".to_owned(), never);
            let (first, second, _) = futures::join!(first, second, send);
            (first.expect("made").value, second.expect("kept").value)
        };
        assert_eq!(drive(both), ("one".to_owned(), "one".to_owned()));
    }
}
