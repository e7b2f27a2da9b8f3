//! The kinds of `source.toolkit.fluxcd.io`.

pub mod bucket;
pub mod externalartifact;
pub mod gitrepository;
pub mod helmchart;
pub mod helmrepository;
pub mod ocirepository;

/// The API group of these kinds.
pub const GROUP: &str = "source.toolkit.fluxcd.io";
