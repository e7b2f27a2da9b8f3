//! Chance from a seed.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A seeded source of numbers (SplitMix64); clones share it.
#[derive(Clone)]
pub(crate) struct Chance(Arc<AtomicU64>);

impl Chance {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(Arc::new(AtomicU64::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d))))
    }

    fn next(&self) -> u64 {
        let mut mixed = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in a range.
    pub(crate) fn within(&self, range: Range<u64>) -> u64 {
        range.start + self.next() % (range.end - range.start).max(1)
    }

    /// Whether something that happens so often, in a hundred, happens now.
    pub(crate) fn percent(&self, often: u64) -> bool {
        self.within(0..100) < often
    }

    /// Between 0 and 1.
    pub(crate) fn fraction(&self) -> f64 {
        f64::from(u32::try_from(self.next() >> 32).unwrap()) / f64::from(u32::MAX)
    }

    /// One of some.
    pub(crate) fn one<'a, T>(&self, of: &'a [T]) -> Option<&'a T> {
        if of.is_empty() {
            return None;
        }
        of.get(usize::try_from(self.within(0..of.len() as u64)).unwrap())
    }

    /// A time in a range of milliseconds.
    pub(crate) fn millis(&self, range: Range<u64>) -> Duration {
        Duration::from_millis(self.within(range))
    }
}
