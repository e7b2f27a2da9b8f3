//! Random numbers from a seed: xoshiro256** seeded by SplitMix64.
//!
//! Small, fast and the same on every machine. It guards no secret.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A seeded source of numbers.
#[derive(Debug)]
pub struct Random(Mutex<[u64; 4]>);

/// The letters upstream takes for generated names: no vowels, no look-alikes.
const SUFFIX_LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

impl Random {
    /// The numbers that belong to `seed`.
    pub fn seeded(seed: u64) -> Self {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        };
        Self(Mutex::new([next(), next(), next(), next()]))
    }

    /// The next 64 bits.
    pub fn next(&self) -> u64 {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let result = state[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = state[1] << 17;
        state[2] ^= state[0];
        state[3] ^= state[1];
        state[1] ^= state[2];
        state[0] ^= state[3];
        state[2] ^= shifted;
        state[3] = state[3].rotate_left(45);
        result
    }

    /// A number below `bound`; 0 when `bound` is 0.
    pub fn below(&self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.next() % bound }
    }

    /// A number from 0 up to but not including 1.
    pub fn fraction(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits are what a float holds")]
        let drawn = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        drawn
    }

    /// A time between two others, to the microsecond.
    pub fn duration(&self, least: Duration, most: Duration) -> Duration {
        let span = u64::try_from(most.saturating_sub(least).as_micros()).unwrap_or(u64::MAX);
        least + Duration::from_micros(self.below(span.saturating_add(1)))
    }

    /// A version 4 uuid.
    pub fn uuid(&self) -> String {
        let (high, low) = (self.next(), self.next());
        let high = (high & !0xf000) | 0x4000;
        let low = (low & !(0b11 << 62)) | (0b10 << 62);
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff
        )
    }

    /// Five letters for a generated name.
    pub fn suffix(&self) -> String {
        let letters = SUFFIX_LETTERS.len() as u64;
        (0..5)
            .map(|_| {
                let index = usize::try_from(self.below(letters)).unwrap_or_default();
                char::from(SUFFIX_LETTERS[index])
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn a_seed_gives_its_numbers_and_another_seed_others() {
        let (one, same, other) = (Random::seeded(7), Random::seeded(7), Random::seeded(8));
        assert_eq!(one.uuid(), same.uuid());
        assert_ne!(one.uuid(), other.uuid());
        assert_eq!(one.uuid().len(), 36);
        assert_eq!(one.uuid().as_bytes()[14], b'4');
        assert_eq!(one.suffix().len(), 5);
    }
}
