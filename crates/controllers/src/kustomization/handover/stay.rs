//! Why objects stay, and what a status may say about it.

use std::collections::{BTreeMap, BTreeSet};

use sluice_runtime::index::Reference;
use sluice_runtime::key::Key;
use sluice_ssa::{ObjectId, ObjectKey};

/// Why an object stays although it is no longer wanted here.
#[derive(Debug, Clone)]
pub(super) enum Stay {
    /// A Kustomization wants it. If its source has not read the revision in which it does: how that one is.
    For { taker: Key, source: Option<&'static str> },
    /// The source of a Kustomization reads the same repository and has not read the revision at hand: that
    /// one may want it then.
    Until { taker: Key, source: Reference, revision: String },
}

impl Stay {
    /// The Kustomization that takes it, or may.
    pub(super) const fn taker(&self) -> &Key {
        match self {
            Self::For { taker, .. } | Self::Until { taker, .. } => taker,
        }
    }

    /// Whether a deletion waits for it as long as its patience lasts, and not for ever.
    pub(super) fn is_doubtful(&self, own: &Key) -> bool {
        match self {
            Self::For { taker, source } => taker.namespace != own.namespace || source.is_some(),
            Self::Until { .. } => true,
        }
    }

    /// What a status of this namespace may say about it.
    pub(super) fn text(&self, object: &ObjectKey, own: &Key) -> String {
        match self {
            Self::For { taker, .. } if taker.namespace != own.namespace => {
                format!("{object} stays for a Kustomization of another namespace")
            }
            Self::For { taker, source: None } => {
                format!("{object} stays for Kustomization {taker}")
            }
            Self::For { taker, source: Some(source) } => {
                format!("{object} stays for Kustomization {taker}, the source of which {source}")
            }
            Self::Until { source, revision, .. } => {
                format!("{object} stays until {} has read {revision}", shown(source, own))
            }
        }
    }
}

/// A source as a status of a namespace may name it.
pub(super) fn shown(source: &Reference, own: &Key) -> String {
    if source.key.namespace == own.namespace {
        return format!("{}/{}", source.kind, source.key);
    }
    format!("a {} of another namespace", source.kind)
}

/// What others want of the objects that are no longer wanted here.
#[derive(Default)]
pub(in crate::kustomization) struct Claims {
    pub(super) stays: BTreeMap<ObjectId, Stay>,
    /// What was not waited for, and why.
    pub(super) notes: BTreeSet<String>,
}

impl Claims {
    /// The objects that stay.
    pub(in crate::kustomization) fn spared(&self) -> BTreeSet<ObjectId> {
        self.stays.keys().cloned().collect()
    }

    /// How many stay.
    pub(in crate::kustomization) fn len(&self) -> usize {
        self.stays.len()
    }

    pub(super) fn is_wanted(&self, id: &ObjectId) -> bool {
        matches!(self.stays.get(id), Some(Stay::For { .. }))
    }
}
