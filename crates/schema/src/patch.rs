//! The three kinds of patches of an API server, with upstream's quirks and messages.
//!
//! - [`json_patch`]: RFC 6902 as evanphx/json-patch v4 applies it.
//! - [`merge_patch`]: RFC 7386, likewise.
//! - [`strategic`]: strategic merge as `k8s.io/apimachinery/pkg/util/strategicpatch` does it on the
//!   server. What it must know about fields comes through a [`PatchSchema`].
//!
//! None of them looks at the patch's text. Under field validation upstream does, before applying:
//! that is [`json_patch_complaints`] and [`duplicate_fields`].

mod json;
mod merge;
mod order;
mod print;
mod schema;
mod strategic;
mod strict;

pub use json::{json_patch, json_patch_in_build};
pub use merge::merge_patch;
pub use schema::{FieldPatch, GoSchema, PatchSchema};
pub use strategic::strategic;
pub use strict::{duplicate_fields, json_patch_complaints};

/// Why a patch was not applied; the variants are what the API server answers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// 400 BadRequest with this message.
    #[error("{0}")]
    Malformed(String),
    /// 413 RequestEntityTooLarge with this message.
    #[error("{0}")]
    TooLarge(String),
    /// 422 Invalid. Upstream keeps this message to itself and answers `the server rejected our
    /// request due to an error in our request`.
    #[error("{0}")]
    NotApplicable(String),
    /// 500 without a reason, with this message.
    #[error("{0}")]
    Failed(String),
}

#[cfg(test)]
mod tests;
