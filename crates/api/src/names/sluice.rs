//! The annotations that Sluice adds. They are annotations and not fields so that objects stay valid
//! on clusters with upstream's CRDs, and mean nothing to upstream's controllers.

super::words! {
    /// All annotations of Sluice.
    ALL;

    /// Objects of any kind that must be usable first, with CEL expressions.
    DEPENDS_ON = "sluice.dev/depends-on";
    /// `interval`, `warn` or `repair`: what to do about changes in the cluster.
    DRIFT = "sluice.dev/drift";
    /// How variables are substituted where Flux's own switch is too coarse.
    SUBSTITUTE = "sluice.dev/substitute";
    /// Whether the message authentication code of a SOPS file may be wrong.
    SOPS_MAC = "sluice.dev/sops-mac";
    /// From which Kustomization to which an object is being moved.
    MOVE = "sluice.dev/move";
    /// Who suspended an object, and why.
    SUSPENDED_BY = "sluice.dev/suspended-by";
    /// The greatest share of applied objects that one reconciliation may delete.
    PRUNE_GUARD = "sluice.dev/prune-guard";
    /// `exact` or `ignore`: whether a signed tag has to be named as the reference that it was found by.
    VERIFY_TAG_NAME = "sluice.dev/verify-tag-name";
    /// `report` or `refuse`: what to do about a branch or tag that no longer leads back to the last artifact.
    REWRITTEN_HISTORY = "sluice.dev/rewritten-history";
    /// On events that tell of a failure: whose job it is to fix it.
    ERROR_CLASS = "sluice.dev/error-class";
    /// On the same events: the class of each object that failed, as a JSON list.
    ERROR_CLASSES = "sluice.dev/error-classes";
}

/// The label by which an object joins a component of a topology.
pub const COMPONENT: &str = "topology.sluice.dev/component";

/// Types of conditions that Sluice adds to those of Flux. Upstream's tools look at none of them.
pub mod conditions {
    /// An object is changed again and again by somebody else, and is left to the interval.
    pub const FIGHTING: &str = "Fighting";
    /// Changes in the cluster are to be seen at once and cannot be: the interval has to do.
    pub const UNWATCHED: &str = "Unwatched";
    /// Objects that are no longer wanted here stay for others that want them.
    pub const HANDING_OVER: &str = "HandingOver";
    /// A new revision waits until the layers below it are usable; what is installed stays as it is.
    pub const HELD: &str = "Held";
}

/// Reasons of Sluice's own conditions and events.
pub mod reasons {
    /// Two sides want an object to be different.
    pub const CONTESTED: &str = "Contested";
    /// There is more to watch than may be watched.
    pub const LIMIT_REACHED: &str = "LimitReached";
    /// Somebody else holds the object.
    pub const CLAIMED: &str = "Claimed";
    /// A branch or tag no longer leads back to the commit of the last artifact.
    pub const HISTORY_REWRITTEN: &str = "HistoryRewritten";
    /// It could not be found out whether it does.
    pub const HISTORY_UNKNOWN: &str = "HistoryUnknown";
    /// Objects are written for API versions of Flux that are served no longer.
    pub const OUTDATED_VERSION: &str = "OutdatedVersion";
    /// The layers below it are not usable yet.
    pub const LAYER_HELD: &str = "LayerHeld";
}
