//! The kinds of `kustomize.toolkit.fluxcd.io`.

pub mod kustomization;

/// The API group of these kinds.
pub const GROUP: &str = "kustomize.toolkit.fluxcd.io";
