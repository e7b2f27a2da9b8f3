//! The two sides of a merge at one place of the tree.

use sluice_yaml::Node;

use super::facts::{Kind, is_null, kind, take_comments, take_style, wrong_kind};
use crate::failure::Result;

/// What there is to merge.
pub(super) enum Sources<'n> {
    Neither,
    /// Only the target has it.
    Target(&'n mut Node),
    /// Only the patch has it.
    Patch(&'n mut Node),
    Both(&'n mut Node, &'n mut Node),
    /// The patch's value has become the target's: kyaml merges such a value with itself, which is how
    /// the directives inside it are carried out.
    Same(&'n mut Node),
}

/// What came of it.
pub(super) enum Outcome {
    /// Nothing is to be there.
    Cleared,
    /// The target's value, changed in place; for [`Sources::Same`], the one value.
    Target,
    /// The patch's value, changed in place.
    Patch,
    /// A new value.
    Made(Node),
    /// A null of the target, written like this, that stays although nulls are cleared.
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

    /// Those that are there and not null, the target first.
    pub(super) fn present(&self) -> impl Iterator<Item = &Node> {
        let patch = if matches!(self, Self::Same(_)) { None } else { self.patch() };
        self.target().into_iter().chain(patch).filter(|node| !is_null(node))
    }

    /// Refuses values of another kind.
    pub(super) fn expect(&self, expected: Kind) -> Result<()> {
        match self.present().find(|node| kind(node) != expected) {
            Some(other) => Err(wrong_kind(expected, other)),
            None => Ok(()),
        }
    }

    /// Carries comments, and the way an empty collection is to be written, over to the target.
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

    /// The patch's value in the place of the target's.
    pub(super) fn with_patch_as_target(self) -> Self {
        match self {
            Self::Patch(patch) | Self::Both(_, patch) => Self::Same(patch),
            other => other,
        }
    }
}
