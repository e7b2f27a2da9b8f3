//! The two sides of a merge at one node.

use sluice_yaml::Node;

use super::facts::{Kind, is_null, kind, take_comments, take_style, wrong_kind};
use crate::failure::Result;

/// The values to merge.
pub(super) enum Sources<'n> {
    Neither,
    /// Only the target has a value.
    Target(&'n mut Node),
    /// Only the patch has a value.
    Patch(&'n mut Node),
    Both(&'n mut Node, &'n mut Node),
    /// The patch's value has become the target's: kyaml merges such a value with itself, which executes the directives in
    /// it.
    Same(&'n mut Node),
}

/// The result.
pub(super) enum Outcome {
    /// No value.
    Cleared,
    /// The target's value, changed in place; for [`Sources::Same`], the one value.
    Target,
    /// The patch's value, changed in place.
    Patch,
    /// A new value.
    Made(Node),
    /// A null of the target, in this form, that stays although nulls are removed.
    KeptNull(String),
}

impl<'n> Sources<'n> {
    pub(super) fn new(target: Option<&'n mut Node>, patch: Option<&'n mut Node>) -> Self {
        match (target, patch) {
            (None, None) => Self::Neither,
            (Some(target), None) => Self::Target(target),
            (None, Some(patch)) => Self::Patch(patch),
            (Some(target), Some(patch)) => Self::Both(target, patch),
        }
    }

    pub(super) fn target(&self) -> Option<&Node> {
        match self {
            Self::Target(node) | Self::Both(node, _) | Self::Same(node) => Some(node),
            Self::Neither | Self::Patch(_) => None,
        }
    }

    pub(super) fn patch(&self) -> Option<&Node> {
        match self {
            Self::Patch(node) | Self::Both(_, node) | Self::Same(node) => Some(node),
            Self::Neither | Self::Target(_) => None,
        }
    }

    pub(super) fn patch_mut(&mut self) -> Option<&mut Node> {
        match self {
            Self::Patch(node) | Self::Both(_, node) | Self::Same(node) => Some(node),
            Self::Neither | Self::Target(_) => None,
        }
    }

    /// The values that are neither absent nor null, the target first.
    pub(super) fn present(&self) -> impl Iterator<Item = &Node> {
        let patch = if matches!(self, Self::Same(_)) { None } else { self.patch() };
        self.target().into_iter().chain(patch).filter(|node| !is_null(node))
    }

    /// Fails for values of another kind.
    pub(super) fn expect(&self, expected: Kind) -> Result<()> {
        match self.present().find(|node| kind(node) != expected) {
            Some(other) => Err(wrong_kind(expected, other)),
            None => Ok(()),
        }
    }

    /// Copies comments, and the style of an empty collection, to the target.
    pub(super) fn carry_over(&mut self) {
        if let Self::Both(target, patch) = self {
            take_comments(target, patch);
            let empty = match kind(target) {
                Kind::Mapping => target.fields().is_empty(),
                Kind::Sequence => target.items().is_empty(),
                Kind::Scalar | Kind::Alias => false,
            };
            if empty {
                take_style(target, patch);
            }
        }
    }

    /// The patch's value replaces the target's.
    pub(super) fn with_patch_as_target(self) -> Self {
        match self {
            Self::Patch(patch) | Self::Both(_, patch) => Self::Same(patch),
            other => other,
        }
    }
}
