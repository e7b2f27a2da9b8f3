//! What passes over sources report beside what every pass reports.

use std::collections::BTreeMap;

use sluice_api::names::conditions::{ARTIFACT_IN_STORAGE, READY};
use sluice_api::names::events::{DIGEST, REVISION};
use sluice_api::names::reasons::{PROGRESSING, SUCCEEDED};
use sluice_api::shared::artifact::Artifact;
use sluice_api::shared::condition::ConditionStatus;
use sluice_api::source::GROUP;
use sluice_runtime::events::Severity;
use sluice_runtime::pass::Pass;

use super::{SourceKind, SourceStatus as _};

/// A pass over a source.
pub(crate) trait SourcePass {
    /// The artifact that the status has.
    fn artifact(&self) -> Option<&Artifact>;

    /// Work goes on. Ready keeps its status unless `drift` says that the artifact is not what it should be.
    fn progress(&mut self, message: &str, drift: bool);

    /// The artifact is in the store.
    fn stored(&mut self, message: &str);

    /// Records an event about the artifact, with its revision and digest.
    fn artifact_event(&self, reason: &str, message: &str);
}

impl<K: SourceKind> SourcePass for Pass<'_, K> {
    fn artifact(&self) -> Option<&Artifact> {
        self.status.artifact()
    }

    fn progress(&mut self, message: &str, drift: bool) {
        self.conditions.mark_reconciling(PROGRESSING, message);
        let is_known = self.conditions.is_true(READY) || self.conditions.is_false(READY);
        if drift || !is_known {
            self.conditions.set(READY, ConditionStatus::Unknown, PROGRESSING, message);
        }
    }

    fn stored(&mut self, message: &str) {
        self.conditions.set(ARTIFACT_IN_STORAGE, ConditionStatus::True, SUCCEEDED, message);
    }

    fn artifact_event(&self, reason: &str, message: &str) {
        let Some(artifact) = self.artifact() else { return };
        let metadata = BTreeMap::from([
            (format!("{GROUP}/{REVISION}"), artifact.revision.clone()),
            (format!("{GROUP}/{DIGEST}"), artifact.digest.clone()),
        ]);
        self.event_with(Severity::Info, reason, message, metadata);
    }
}
