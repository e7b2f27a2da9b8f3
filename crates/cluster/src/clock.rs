//! Wall time of a cluster: an epoch plus what the runtime's timer says has passed. Sandboxes have no other clock.
//!
//! On a runtime with paused time this is virtual time: ten minutes of rollout cost only the work in
//! them. Otherwise it is real time.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use sluice_base::clock::Clock;
use tokio::time::Instant;

/// The clock of one cluster.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClusterClock {
    epoch: Timestamp,
    start: Instant,
    speed: f64,
}

impl ClusterClock {
    /// A clock that reads `epoch` now. Simulated delays are divided by `speed`.
    pub(crate) fn starting_at(epoch: Timestamp, speed: f64) -> Self {
        Self { epoch, start: Instant::now(), speed }
    }

    /// Time since the cluster was started.
    pub(crate) fn age(&self) -> Duration {
        self.start.elapsed()
    }

    /// Waits as long as something that takes `duration` in the simulated cluster takes here.
    pub(crate) async fn sleep_until(&self, moment: Timestamp) {
        let wait = moment.duration_since(self.now());
        if let Ok(wait) = Duration::try_from(wait) {
            tokio::time::sleep(wait).await;
        }
    }

    /// How much simulated time has passed since a moment; none if it is to come.
    pub(crate) fn elapsed(&self, since: Timestamp) -> Duration {
        let passed = Duration::try_from(self.now().duration_since(since)).unwrap_or_default();
        passed.mul_f64(self.speed)
    }

    /// The moment at which something that takes `duration` and starts now is done.
    pub(crate) fn after(&self, duration: Duration) -> Timestamp {
        let scaled = duration.div_f64(self.speed.max(f64::MIN_POSITIVE));
        let scaled = SignedDuration::try_from(scaled).unwrap_or(SignedDuration::MAX);
        self.now().checked_add(scaled).unwrap_or(Timestamp::MAX)
    }
}

impl Clock for ClusterClock {
    fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.start.elapsed()).unwrap_or(SignedDuration::MAX);
        self.epoch.checked_add(elapsed).unwrap_or(Timestamp::MAX)
    }
}
