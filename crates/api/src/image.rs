//! The kinds of `image.toolkit.fluxcd.io`.

pub mod imagepolicy;
pub mod imagerepository;
pub mod imageupdateautomation;

/// The API group of these kinds.
pub const GROUP: &str = "image.toolkit.fluxcd.io";
