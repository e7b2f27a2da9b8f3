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
    /// Who suspended an object, and why.
    SUSPENDED_BY = "sluice.dev/suspended-by";
    /// The greatest share of applied objects that one reconciliation may delete.
    PRUNE_GUARD = "sluice.dev/prune-guard";
}

/// The label by which an object joins a component of a topology.
pub const COMPONENT: &str = "topology.sluice.dev/component";
