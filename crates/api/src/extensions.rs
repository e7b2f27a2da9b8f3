//! The kinds of `source.extensions.fluxcd.io`.

pub mod artifactgenerator;

/// The API group of these kinds.
pub const GROUP: &str = "source.extensions.fluxcd.io";
