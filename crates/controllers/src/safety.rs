//! The rules that keep a crash, a race or a broken answer from losing or orphaning anything.
//!
//! Each is kept by a line or two somewhere in a pass. Simulations switch one off at a time and have to notice;
//! nothing else can, and no flag leads here.

/// A rule that is always kept, except by a simulation that wants to see what happens without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SafetyRule {
    /// The union of old and new inventory is in the status before the first write: a crash in between leaves
    /// nothing behind that nobody remembers.
    RememberBeforeApplying,
    /// What could not be applied whole prunes nothing: what is missing in it may only have failed.
    PruneAfterWholeApply,
    /// Only what still bears this Kustomization's labels is pruned: it may be somebody else's by now.
    PruneOnlyOwn,
    /// The very object that was looked at is deleted, not one that took its name since.
    DeleteVeryObject,
    /// The finalizer is there before anything is applied: a deletion in between orphans nothing.
    HoldBeforeApplying,
    /// A build of nothing prunes nothing.
    EmptyBuildPrunesNothing,
    /// A failed apply keeps everything in the inventory that may have been applied.
    FailedApplyIsRemembered,
    /// A failed prune keeps in the inventory what may still be there.
    FailedPruneIsRemembered,
    /// What another Kustomization wants stays for it, whoever comes first.
    WantedElsewhereStays,
    /// Two sources of one repository count as one: what moves between their Kustomizations stays, whichever
    /// source is fetched first.
    SameRepositoryCounts,
    /// A status is written only over the one that was read: word that comes late changes nothing.
    StatusComparesVersions,
}

impl SafetyRule {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::RememberBeforeApplying,
        Self::PruneAfterWholeApply,
        Self::PruneOnlyOwn,
        Self::DeleteVeryObject,
        Self::HoldBeforeApplying,
        Self::EmptyBuildPrunesNothing,
        Self::FailedApplyIsRemembered,
        Self::FailedPruneIsRemembered,
        Self::WantedElsewhereStays,
        Self::SameRepositoryCounts,
        Self::StatusComparesVersions,
    ];
}
