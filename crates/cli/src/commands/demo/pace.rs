//! How fast the story is told. The cluster's time is virtual: it passes as soon as nobody has
//! anything left to do, and is slowed down here so that people can follow.

use std::time::Duration;

/// How fast the story is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// For people to follow.
    Told,
    /// As fast as the work in it can be done.
    Fast,
}

/// How long a picture stands.
const FRAME: Duration = Duration::from_millis(50);

/// A part of the story: how much time of the cluster passes while a second is told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tempo(pub(super) u32);

impl Pace {
    /// Lets time pass in the cluster until the next picture.
    pub(super) async fn frame(self, tempo: Tempo) {
        // Nobody sees pictures in between when it has to be fast.
        let pictures = if self == Self::Fast { 4 } else { 1 };
        tokio::time::sleep(FRAME * tempo.0 * pictures).await;
        self.rest(FRAME);
    }

    /// Lets people read; no time passes in the cluster.
    pub(super) fn rest(self, time: Duration) {
        if self == Self::Told {
            // Nothing in this process waits for anything but virtual time, so nobody is kept waiting.
            std::thread::sleep(time);
        }
    }
}
