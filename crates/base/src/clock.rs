//! The clock that is handed to everything that needs to know what time it is.

use jiff::Timestamp;

/// Wall time as the owner of the clock defines it: the real one, or a simulation's.
///
/// There is no `sleep` here; engines do not wait. Code that waits does so on its runtime's timer,
/// which a simulation pauses.
pub trait Clock: Send + Sync {
    /// The present moment.
    fn now(&self) -> Timestamp;
}

/// A clock that stands still, for tests and for renderings that must not depend on the hour.
#[derive(Debug, Clone, Copy)]
pub struct Frozen(pub Timestamp);

impl Clock for Frozen {
    fn now(&self) -> Timestamp {
        self.0
    }
}
