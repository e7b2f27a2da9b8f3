//! The names that Flux and Sluice give to annotations, labels and finalizers.

/// Whether variables are substituted in an object.
pub const SUBSTITUTE: &str = "kustomize.toolkit.fluxcd.io/substitute";

/// The value that turns something off.
pub const DISABLED: &str = "disabled";
