//! One pass over a source: what its status is to say, and the one place that writes it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use sluice_api::names::conditions::{ARTIFACT_IN_STORAGE, READY};
use sluice_api::names::events::{DIGEST, REVISION};
use sluice_api::names::reasons::{PROGRESSING, SUCCEEDED};
use sluice_api::names::sluice::ERROR_CLASS;
use sluice_api::shared::artifact::Artifact;
use sluice_api::shared::condition::ConditionStatus;
use sluice_api::source::GROUP;
use sluice_runtime::conditions::Conditions;
use sluice_runtime::error::ApiError;
use sluice_runtime::events::{Event, Severity};
use sluice_runtime::key::Key;
use sluice_runtime::status::{Written, patch_metadata};

use super::{SourceController, SourceKind, SourceStatus as _};

/// The field manager of what is written to sources.
const MANAGER: &str = "source-controller";

/// One pass: the object as it was at the start, and its status as it is to be.
pub struct Pass<'c, K: SourceKind> {
    controller: &'c SourceController<K>,
    /// The object as it was at the start.
    pub(crate) object: Arc<K>,
    /// Who it is.
    pub(crate) key: Key,
    /// What its status is to say, conditions apart.
    pub(crate) status: K::Status,
    /// Its conditions as they are to be.
    pub(crate) conditions: Conditions,
    /// The status that the API server has.
    written: Written,
}

impl<'c, K: SourceKind> Pass<'c, K> {
    /// Begins a pass.
    pub(super) fn begin(controller: &'c SourceController<K>, object: Arc<K>) -> Self {
        let mut status = object.status().cloned().unwrap_or_default();
        let generation = object.meta().generation.unwrap_or_default();
        let written = Written::new(object.status(), object.meta());
        let conditions = status.common().conditions.take().unwrap_or_default();
        Self {
            controller,
            key: Key::of(object.meta()),
            conditions: Conditions::new(conditions, generation, controller.context.clock.now()),
            object,
            status,
            written,
        }
    }

    /// What was made last.
    pub(crate) fn artifact(&self) -> Option<&Artifact> {
        self.status.artifact()
    }

    /// Says that something is happening; Ready keeps what it says unless there is nothing to be ready.
    pub(crate) fn progress(&mut self, message: &str, drift: bool) {
        self.conditions.mark_reconciling(PROGRESSING, message);
        let is_known = self.conditions.is_true(READY) || self.conditions.is_false(READY);
        if drift || !is_known {
            self.conditions.set(READY, ConditionStatus::Unknown, PROGRESSING, message);
        }
    }

    /// Says that the artifact is in the store.
    pub(crate) fn stored(&mut self, message: &str) {
        self.conditions.set(ARTIFACT_IN_STORAGE, ConditionStatus::True, SUCCEEDED, message);
    }

    /// Writes what the status says now, and tells whom it concerns.
    pub(crate) async fn write(&mut self) -> Result<(), ApiError> {
        let mut status = self.status.clone();
        *status.common().conditions =
            Some(self.conditions.list().to_vec()).filter(|list| !list.is_empty());
        let wanted = serde_json::to_value(&status).unwrap_or(Value::Null);
        let client = &self.controller.context.client;
        let answer = self
            .written
            .write::<K::Status>(client, &K::DEFINITION, &self.key, MANAGER, wanted)
            .await?;
        if let Some(object) = answer {
            self.take_in(&object);
        }
        Ok(())
    }

    /// Writes the list of finalizers; fails where somebody else changed the object in the meantime.
    pub(super) async fn write_finalizers(
        &mut self,
        finalizers: Vec<String>,
    ) -> Result<(), ApiError> {
        let version = &self.object.meta().resource_version;
        let patch = json!({"finalizers": finalizers, "resourceVersion": version});
        let client = &self.controller.context.client;
        let answer = patch_metadata(client, &K::DEFINITION, &self.key, MANAGER, patch).await?;
        self.written.follow(&answer);
        if answer.metadata.deletion_timestamp.is_none() {
            self.take_in(&answer);
        }
        Ok(())
    }

    fn take_in(&self, answer: &kube::core::DynamicObject) {
        let object = serde_json::to_value(answer).and_then(serde_json::from_value::<K>);
        if let Ok(mut object) = object {
            object.meta_mut().managed_fields = None;
            if let Some(change) = self.controller.store.apply(object) {
                self.controller.on_change(&change);
            }
        }
    }

    /// Says what happened.
    pub(crate) fn event(&self, severity: Severity, reason: &str, message: &str) {
        self.record(severity, reason, message, BTreeMap::new());
    }

    /// Says what went wrong, and whose job it is to fix it.
    pub(super) fn failure_event(
        &self,
        severity: Severity,
        reason: &str,
        message: &str,
        class: &str,
    ) {
        let metadata = BTreeMap::from([(ERROR_CLASS.to_owned(), class.to_owned())]);
        self.record(severity, reason, message, metadata);
    }

    /// Says what became of the artifact, with its revision and digest.
    pub(super) fn artifact_event(&self, reason: &str, message: &str) {
        let Some(artifact) = self.artifact() else { return };
        let metadata = BTreeMap::from([
            (format!("{GROUP}/{REVISION}"), artifact.revision.clone()),
            (format!("{GROUP}/{DIGEST}"), artifact.digest.clone()),
        ]);
        self.record(Severity::Info, reason, message, metadata);
    }

    fn record(
        &self,
        severity: Severity,
        reason: &str,
        message: &str,
        metadata: BTreeMap<String, String>,
    ) {
        let about = Event::about(&K::DEFINITION, self.object.meta(), severity, reason, message);
        self.controller.context.recorder.record(Event { metadata, ..about });
    }
}
