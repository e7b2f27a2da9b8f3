//! When objects are looked at again.

use std::time::Duration;

/// An interval, moved by up to `percent` either way so that objects do not come all at once. `chance` is
/// between 0 and 1.
pub(crate) fn jittered(interval: Duration, percent: u8, chance: f64) -> Duration {
    let share = f64::from(percent.min(100)) / 100.0;
    interval.mul_f64(1.0 + share * (2.0 * chance.clamp(0.0, 1.0) - 1.0))
}
