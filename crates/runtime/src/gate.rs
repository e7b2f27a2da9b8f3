//! The gate of a Topology: whether an object may take in a new revision yet.
//!
//! A pass asks before it fetches and again before its first write, because the answer can change in between. Today
//! every gate is open; a Topology will bring its own, and no kind has to change for it.

use std::fmt::Debug;
use std::sync::Arc;

use kube::core::ObjectMeta;
use sluice_api::crd::Definition;

use crate::queue::Next;

/// Where a pass stands when it asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Nothing has been fetched.
    BeforeFetch,
    /// What was fetched is at hand, and nothing has been written.
    BeforeWrite,
}

/// What a gate is asked.
#[derive(Debug, Clone, Copy)]
pub struct GateRequest<'a> {
    /// The kind of the object.
    pub definition: &'a Definition,
    /// The metadata of the object.
    pub metadata: &'a ObjectMeta,
    /// The revision that would be taken in; empty while it is not known.
    pub revision: &'a str,
    /// Where the pass stands.
    pub moment: Moment,
}

/// The answer of a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The pass goes on.
    Open,
    /// The pass ends here; what is installed stays.
    Held(Hold),
}

/// Why and for how long an object is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// Layer, component, promise, cause and owner.
    pub message: String,
    /// When the gate is asked again, at the latest.
    pub next: Next,
}

/// Decides whether objects may take in new revisions.
pub trait Gate: Debug + Send + Sync {
    /// Whether this one may.
    fn ask(&self, request: &GateRequest<'_>) -> Verdict;
}

/// The gate that the controllers of a process share; open unless another is handed in.
#[derive(Debug, Clone)]
pub struct SharedGate(pub Arc<dyn Gate>);

impl Default for SharedGate {
    fn default() -> Self {
        Self(Arc::new(AlwaysOpen))
    }
}

#[derive(Debug)]
struct AlwaysOpen;

impl Gate for AlwaysOpen {
    fn ask(&self, _: &GateRequest<'_>) -> Verdict {
        Verdict::Open
    }
}
