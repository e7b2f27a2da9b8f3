//! The annotations of Sluice. They are annotations and not fields so that objects stay valid on clusters with
//! upstream's CRDs; upstream's controllers ignore them.

super::names! {
    /// All annotations of Sluice.
    ALL;

    /// Dependencies of any kind, with CEL expressions.
    DEPENDS_ON = "sluice.dev/depends-on";
    /// `interval`, `warn` or `repair`: how to treat drift.
    DRIFT = "sluice.dev/drift";
    /// Options of variable substitution that Flux's own switch lacks.
    SUBSTITUTE = "sluice.dev/substitute";
    /// Whether a SOPS file with a wrong MAC is accepted.
    SOPS_MAC = "sluice.dev/sops-mac";
    /// A hand-over of an object from one Kustomization to another.
    MOVE = "sluice.dev/move";
    /// The user that suspended an object, and the reason.
    SUSPENDED_BY = "sluice.dev/suspended-by";
    /// The maximum share of applied objects that one reconciliation may delete.
    PRUNE_GUARD = "sluice.dev/prune-guard";
    /// `exact` or `ignore`: whether a signed tag must have the name of the reference that led to it.
    VERIFY_TAG_NAME = "sluice.dev/verify-tag-name";
    /// `report` or `refuse`: how to treat a branch or tag that no longer contains the commit of the last artifact.
    REWRITTEN_HISTORY = "sluice.dev/rewritten-history";
    /// On failure events: the class of the failure.
    ERROR_CLASS = "sluice.dev/error-class";
    /// On failure events: the class of each object that failed, as a JSON list.
    ERROR_CLASSES = "sluice.dev/error-classes";
    /// On the same events: where the objects that failed are written, one in a line: object, file, line, and the
    /// patch that changed it last.
    PLACE = "sluice.dev/place";
    /// On the same events: what pods and events of the objects that failed say, one in a line, such as
    /// `Deployment/apps/web: Pod/apps/web-1: ErrImagePull: image "registry.test/web:9"`.
    CAUSE = "sluice.dev/cause";
}

/// The label that adds an object to a component of a topology.
pub const COMPONENT: &str = "topology.sluice.dev/component";

/// The condition types of Sluice beside those of Flux. Upstream's tools ignore them.
pub mod conditions {
    /// Another manager changes an object again and again; drift is corrected at the interval only.
    pub const FIGHTING: &str = "Fighting";
    /// Drift cannot be watched; drift detection falls back to spec.interval.
    pub const UNWATCHED: &str = "Unwatched";
    /// Objects that are no longer desired here stay because other owners have them.
    pub const HANDING_OVER: &str = "HandingOver";
    /// A new revision waits until the layers below it are usable; what is installed stays as it is.
    pub const HELD: &str = "Held";
}

/// Reasons of Sluice's own conditions and events.
pub mod reasons {
    /// Two managers change the same fields again and again.
    pub const CONTESTED: &str = "Contested";
    /// The limit of watches is exceeded.
    pub const LIMIT_REACHED: &str = "LimitReached";
    /// Another owner has the object.
    pub const CLAIMED: &str = "Claimed";
    /// A branch or tag no longer contains the commit of the last artifact.
    pub const HISTORY_REWRITTEN: &str = "HistoryRewritten";
    /// It could not be determined whether it does.
    pub const HISTORY_UNKNOWN: &str = "HistoryUnknown";
    /// Objects have API versions of Flux that are no longer served.
    pub const OUTDATED_VERSION: &str = "OutdatedVersion";
    /// The layers below it are not usable yet.
    pub const LAYER_HELD: &str = "LayerHeld";
}
