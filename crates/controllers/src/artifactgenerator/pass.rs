//! One pass over an ArtifactGenerator: what its status is to say, and the one place that writes it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use sluice_api::crd::CustomResource as _;
use sluice_api::extensions::artifactgenerator::{ArtifactGenerator, ArtifactGeneratorStatus};
use sluice_api::names::annotations::REQUESTED_AT;
use sluice_api::names::conditions::{READY, RECONCILING, STALLED};
use sluice_api::names::reasons::PROGRESSING_WITH_RETRY;
use sluice_api::names::sluice::ERROR_CLASS;
use sluice_api::shared::condition::ConditionStatus;
use sluice_runtime::conditions::Conditions;
use sluice_runtime::error::ApiError;
use sluice_runtime::events::{Event, Severity};
use sluice_runtime::key::Key;
use sluice_runtime::status::{Written, patch_metadata};

use super::{ArtifactGenerators, MANAGER};

/// One pass: the object as it was at the start, and its status as it is to be.
pub(super) struct Pass<'c> {
    controller: &'c ArtifactGenerators,
    /// The object as it was at the start.
    pub(super) object: Arc<ArtifactGenerator>,
    /// Who it is.
    pub(super) key: Key,
    /// What its status is to say, conditions apart.
    pub(super) status: ArtifactGeneratorStatus,
    /// Its conditions as they are to be.
    pub(super) conditions: Conditions,
    /// The status that the API server has.
    written: Written,
}

impl<'c> Pass<'c> {
    /// Begins a pass.
    pub(super) fn begin(
        controller: &'c ArtifactGenerators,
        object: Arc<ArtifactGenerator>,
    ) -> Self {
        let mut status = object.status.clone().unwrap_or_default();
        let generation = object.metadata.generation.unwrap_or_default();
        let conditions = status.conditions.take().unwrap_or_default();
        let written = Written::new(object.status.as_ref(), &object.metadata);
        Self {
            controller,
            key: Key::of(&object.metadata),
            conditions: Conditions::new(conditions, generation, controller.context.clock.now()),
            object,
            status,
            written,
        }
    }

    /// Writes what the status says now. The watch hears of it later; the store knows at once.
    pub(super) async fn write(&mut self) -> Result<(), ApiError> {
        let mut status = self.status.clone();
        status.conditions = Some(self.conditions.list().to_vec()).filter(|list| !list.is_empty());
        let wanted = serde_json::to_value(&status).unwrap_or(Value::Null);
        let (client, definition) = (&self.controller.context.client, ArtifactGenerator::DEFINITION);
        let answer = self
            .written
            .write::<ArtifactGeneratorStatus>(client, &definition, &self.key, MANAGER, wanted)
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
        let version = &self.object.metadata.resource_version;
        let patch = json!({"finalizers": finalizers, "resourceVersion": version});
        let (client, definition) = (&self.controller.context.client, ArtifactGenerator::DEFINITION);
        let answer = patch_metadata(client, &definition, &self.key, MANAGER, patch).await?;
        self.written.follow(&answer);
        if answer.metadata.deletion_timestamp.is_none() {
            self.take_in(&answer);
        }
        Ok(())
    }

    fn take_in(&self, answer: &kube::core::DynamicObject) {
        let object =
            serde_json::to_value(answer).and_then(serde_json::from_value::<ArtifactGenerator>);
        if let Ok(mut object) = object {
            object.metadata.managed_fields = None;
            if let Some(change) = self.controller.store.apply(object) {
                self.controller.on_change(&change);
            }
        }
    }

    /// The last words of a pass: what was asked for is answered, and the conditions are brought to an end.
    pub(super) async fn finish(&mut self) -> Result<(), ApiError> {
        let annotations = self.object.metadata.annotations.as_ref();
        if let Some(request) = annotations.and_then(|annotations| annotations.get(REQUESTED_AT)) {
            self.status.last_handled_reconcile_at = Some(request.clone());
        }
        let doing = self.conditions.get(RECONCILING).map(|it| it.message.clone());
        if let Some(message) = doing.filter(|_| self.conditions.is_false(READY)) {
            let retry = PROGRESSING_WITH_RETRY;
            self.conditions.set(RECONCILING, ConditionStatus::True, retry, &message);
        }
        if self.conditions.is_true(READY) || self.conditions.is_true(STALLED) {
            self.conditions.remove(RECONCILING);
        }
        self.write().await
    }

    /// Says what went wrong, and whose job it is to fix it.
    pub(super) fn failure_event(&self, reason: &str, message: &str, class: &str) {
        let (definition, meta) = (&ArtifactGenerator::DEFINITION, &self.object.metadata);
        let about = Event::about(definition, meta, Severity::Error, reason, message);
        let metadata = BTreeMap::from([(ERROR_CLASS.to_owned(), class.to_owned())]);
        self.controller.context.recorder.record(Event { metadata, ..about });
    }

    /// Says what happened.
    pub(super) fn event(&self, severity: Severity, reason: &str, message: &str) {
        let (definition, meta) = (&ArtifactGenerator::DEFINITION, &self.object.metadata);
        let event = Event::about(definition, meta, severity, reason, message);
        self.controller.context.recorder.record(event);
    }
}
