//! The kinds of `fluxcd.controlplane.io`.

pub mod fluxinstance;
pub mod fluxreport;
pub mod resourceset;
pub mod resourcesetinputprovider;

/// The API group of these kinds.
pub const GROUP: &str = "fluxcd.controlplane.io";
