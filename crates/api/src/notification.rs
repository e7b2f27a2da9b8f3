//! The kinds of `notification.toolkit.fluxcd.io`.

pub mod alert;
pub mod provider;
pub mod receiver;

/// The API group of these kinds.
pub const GROUP: &str = "notification.toolkit.fluxcd.io";
