//! Keys and tokens that are kept until they have lived four fifths of their time, as Flux keeps them.

use std::any::Any;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use sluice_base::clock::Clock;

use crate::CloudError;

/// Something, and until when it is to be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lasting<T> {
    /// The thing.
    pub value: T,
    /// Until when it is good; from what was kept, until when it is not asked for again.
    pub until: Timestamp,
}

/// How much is kept, and for how long at most: `--token-cache-max-size` and `--token-cache-max-duration`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheLimits {
    /// How many things; none at all for zero.
    pub size: usize,
    /// How long, however long a thing lasts.
    pub duration: SignedDuration,
}

impl CacheLimits {
    /// The longest that anything is kept, whatever a flag says.
    pub const LONGEST: SignedDuration = SignedDuration::from_hours(1);
}

impl Default for CacheLimits {
    fn default() -> Self {
        Self { size: 100, duration: Self::LONGEST }
    }
}

type Value = Arc<dyn Any + Send + Sync>;

/// A place for one thing; who asks for it holds the place, so that nobody asks twice.
type Place = Arc<futures::lock::Mutex<Option<(Value, Timestamp)>>>;

/// What is kept.
pub(crate) struct Keep {
    clock: Arc<dyn Clock>,
    limits: CacheLimits,
    places: Mutex<Places>,
}

#[derive(Default)]
struct Places {
    /// Counts uses, so that the place that was used longest ago is known.
    uses: u64,
    by_key: BTreeMap<String, (u64, Place)>,
}

impl Keep {
    pub(crate) fn new(clock: Arc<dyn Clock>, limits: CacheLimits) -> Self {
        Self { clock, limits, places: Mutex::default() }
    }

    /// What is kept under a key, or what is made now and kept from now on.
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

    /// With the moment at which it is asked for again instead of that at which it ends.
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
    use crate::testing::{Hands, at_once, drive};

    fn limits(size: usize, minutes: i64) -> CacheLimits {
        CacheLimits { size, duration: SignedDuration::from_mins(minutes) }
    }

    /// A cache, and how often it asked by now for something that lasts so many minutes.
    fn asks(keep: &Keep, key: &str, clock: &Hands, minutes: i64) -> bool {
        let mut asked = false;
        let until = clock.now() + SignedDuration::from_mins(minutes);
        let make = async {
            asked = true;
            Ok(Lasting { value: key.to_owned(), until })
        };
        let kept = at_once(keep.get(key.to_owned(), make)).expect("made or kept");
        assert_eq!(kept.value, key);
        asked
    }

    #[test]
    fn four_fifths_of_a_life_are_lived_here() {
        let clock = Hands::default();
        let keep = Keep::new(Arc::new(clock.clone()), CacheLimits::default());
        assert!(asks(&keep, "a", &clock, 10));
        clock.pass(7 * 60 + 59);
        assert!(!asks(&keep, "a", &clock, 10));
        clock.pass(1);
        assert!(asks(&keep, "a", &clock, 10), "eight of ten minutes are over");
        // A day is too long, however long it lasts; an hour is the most.
        assert!(asks(&keep, "b", &clock, 24 * 60));
        clock.pass(3599);
        assert!(!asks(&keep, "b", &clock, 24 * 60));
        clock.pass(1);
        assert!(asks(&keep, "b", &clock, 24 * 60));
        // What is over at once is never kept.
        assert!(asks(&keep, "c", &clock, 0) && asks(&keep, "c", &clock, 0));
    }

    #[test]
    fn limits_hold() {
        let clock = Hands::default();
        let keep = Keep::new(Arc::new(clock.clone()), limits(2, 60));
        assert!(asks(&keep, "a", &clock, 60) && asks(&keep, "b", &clock, 60));
        assert!(!asks(&keep, "a", &clock, 60));
        assert!(asks(&keep, "c", &clock, 60), "b has to go, which was used longest ago");
        assert!(!asks(&keep, "a", &clock, 60) && asks(&keep, "b", &clock, 60));
        let short = Keep::new(Arc::new(clock.clone()), limits(2, 1));
        assert!(asks(&short, "a", &clock, 60));
        clock.pass(60);
        assert!(asks(&short, "a", &clock, 60));
        let none = Keep::new(Arc::new(clock.clone()), limits(0, 60));
        assert!(asks(&none, "a", &clock, 60) && asks(&none, "a", &clock, 60));
    }

    #[test]
    fn what_failed_is_tried_again_and_who_waits_gets_what_the_other_was_given() {
        let clock = Hands::default();
        let keep = Keep::new(Arc::new(clock.clone()), CacheLimits::default());
        let refused = async { Err::<Lasting<String>, _>(CloudError("no".to_owned())) };
        assert!(at_once(keep.get("a".to_owned(), refused)).is_err());
        assert!(asks(&keep, "a", &clock, 60));
        let until = clock.now() + SignedDuration::from_mins(60);
        let (sender, receiver) = futures::channel::oneshot::channel();
        let slow = async {
            let value: String = receiver.await.expect("sent");
            Ok(Lasting { value, until })
        };
        let never = async { panic!("asked twice") };
        let both = async {
            let send = async { sender.send("one".to_owned()) };
            let first = keep.get("b".to_owned(), slow);
            let second = keep.get::<String>("b".to_owned(), never);
            let (first, second, _) = futures::join!(first, second, send);
            (first.expect("made").value, second.expect("kept").value)
        };
        assert_eq!(drive(both), ("one".to_owned(), "one".to_owned()));
    }
}
