//! The kinds of `helm.toolkit.fluxcd.io`.

pub mod helmrelease;

/// The API group of these kinds.
pub const GROUP: &str = "helm.toolkit.fluxcd.io";
