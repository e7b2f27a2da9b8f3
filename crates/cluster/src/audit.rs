//! The audit log: one `audit.k8s.io/v1` event for each request that the server answers.
//!
//! ```text
//!   trail       what is known about one request so far; ends in an event
//!   event       the event, in upstream's shape
//!   policy      how much of a request is written
//!   recorder    a sink that keeps the last events in memory, for tests
//! ```
//!
//! Stages are `ResponseComplete`, and `ResponseStarted` before it for answers that go on (watches, followed logs).
//! An event is written when the effect of the request is in the store and before the client has the answer, so the
//! order of events is the order in which clients can have learnt of each other's writes. Requests of the cluster's
//! own controllers are not in it: they are not made over the wire. Without a [`Sink`] nothing is collected.

mod event;
mod policy;
mod recorder;
mod trail;

use std::sync::Arc;

pub use event::{Event, Level, ObjectReference, Stage};
pub use recorder::Recorder;
pub(crate) use trail::Trail;

/// Where audit events go. It is called on the way of a request and should return soon.
pub trait Sink: Send + Sync {
    /// Takes one event.
    fn write(&self, event: Event);
}

/// The sink of a cluster, if it has one.
#[derive(Clone, Default)]
pub(crate) struct Audit(pub(crate) Option<Arc<dyn Sink>>);

impl std::fmt::Debug for Audit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Audit(on)" } else { "Audit(off)" })
    }
}
