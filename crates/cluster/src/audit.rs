//! The audit log: one `audit.k8s.io/v1` event for each request that the server answers.
//!
//! ```text
//!   trail       collects one request's audit data; ends in an event
//!   event       the event, in upstream's shape
//!   policy      the audit level of a request
//!   recorder    a sink that keeps the last events in memory, for tests
//! ```
//!
//! Stages are `ResponseComplete`, and before it `ResponseStarted` for responses that stay open (watches, followed logs).
//! An event is written after the request's effect is in the store and before the client has the response, so the
//! order of events is the order in which clients can have seen each other's writes. The cluster's own controllers
//! send no HTTP requests, so they do not appear. Without a [`Sink`] nothing is collected.

mod event;
mod policy;
mod recorder;
mod trail;

use std::sync::Arc;

pub use event::{Event, Level, ObjectReference, Stage};
pub use recorder::Recorder;
pub(crate) use trail::Trail;

/// Receives audit events. It is called while the request waits and should return soon.
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
