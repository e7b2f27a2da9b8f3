//! Who is due when something else changes.

use sluice_api::shared::artifact::Artifact;
use sluice_runtime::index::Reference;

/// A controller whose objects refer to others.
pub trait Wakes: Send + Sync {
    /// Makes those due that refer to an object: it changed.
    fn wake(&self, reference: &Reference);

    /// Whether anybody refers to an object.
    fn refers_to(&self, reference: &Reference) -> bool;
}

/// A controller whose objects are made of artifacts.
pub trait Consumes: Send + Sync {
    /// A source changed, and perhaps its artifact.
    fn on_source(&self, source: &Reference, before: Option<&Artifact>, after: Option<&Artifact>);
}
