//! One pass over a GitRepository: what its status is to say, and the one place that writes it.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;
use serde_json::{Value, json};
use sluice_api::crd::CustomResource as _;
use sluice_api::names::events::{DIGEST, REVISION};
use sluice_api::source::GROUP;
use sluice_api::source::gitrepository::{GitRepository, GitRepositoryStatus};
use sluice_runtime::conditions::Conditions;
use sluice_runtime::error::ApiError;
use sluice_runtime::events::{Event, Severity};
use sluice_runtime::key::Key;
use sluice_runtime::status::{patch_metadata, patch_status};

use super::GitRepositories;

/// The field manager of what is written to sources.
const MANAGER: &str = "source-controller";

/// One pass: the object as it was at the start, and its status as it is to be.
pub(super) struct Pass<'c> {
    controller: &'c GitRepositories,
    /// The object as it was at the start.
    pub(super) object: Arc<GitRepository>,
    /// Who it is.
    pub(super) key: Key,
    /// What its status is to say, conditions apart.
    pub(super) status: GitRepositoryStatus,
    /// Its conditions as they are to be.
    pub(super) conditions: Conditions,
    /// The status that the API server has.
    written: Value,
}

impl<'c> Pass<'c> {
    /// Begins a pass.
    pub(super) fn begin(controller: &'c GitRepositories, object: Arc<GitRepository>) -> Self {
        let mut status = object.status.clone().unwrap_or_default();
        let generation = object.metadata.generation.unwrap_or_default();
        let conditions = status.conditions.take().unwrap_or_default();
        let written = serde_json::to_value(&object.status).unwrap_or(Value::Null);
        let written = if written.is_null() { json!({}) } else { written };
        Self {
            controller,
            key: Key::of(&object.metadata),
            conditions: Conditions::new(conditions, generation, controller.context.clock.now()),
            object,
            status,
            written,
        }
    }

    /// Writes what the status says now, and tells whom it concerns.
    pub(super) async fn write(&mut self) -> Result<(), ApiError> {
        let mut status = self.status.clone();
        status.conditions = Some(self.conditions.list().to_vec()).filter(|list| !list.is_empty());
        let wanted = serde_json::to_value(&status).unwrap_or(Value::Null);
        let definition = GitRepository::DEFINITION;
        let client = &self.controller.context.client;
        let answer =
            patch_status(client, &definition, &self.key, MANAGER, &self.written, &wanted).await?;
        if let Some(object) = answer {
            self.written = wanted;
            self.take_in(&object);
        }
        Ok(())
    }

    /// Writes the list of finalizers; fails where somebody else changed the object in the meantime.
    pub(super) async fn write_finalizers(&self, finalizers: Vec<String>) -> Result<(), ApiError> {
        let version = &self.object.metadata.resource_version;
        let patch = json!({"finalizers": finalizers, "resourceVersion": version});
        let definition = GitRepository::DEFINITION;
        let client = &self.controller.context.client;
        let answer = patch_metadata(client, &definition, &self.key, MANAGER, patch).await?;
        if answer.metadata.deletion_timestamp.is_none() {
            self.take_in(&answer);
        }
        Ok(())
    }

    fn take_in(&self, answer: &kube::core::DynamicObject) {
        let object = serde_json::to_value(answer).and_then(serde_json::from_value::<GitRepository>);
        if let Ok(mut object) = object {
            object.metadata.managed_fields = None;
            if let Some(change) = self.controller.store.apply(object) {
                self.controller.on_change(&change);
            }
        }
    }

    /// Says what happened.
    pub(super) fn event(&self, severity: Severity, reason: &str, message: &str) {
        self.record(severity, reason, message, BTreeMap::new());
    }

    /// Says what became of the artifact, with its revision and digest.
    pub(super) fn artifact_event(&self, reason: &str, message: &str) {
        let Some(artifact) = &self.status.artifact else { return };
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
        let meta = &self.object.metadata;
        let definition = GitRepository::DEFINITION;
        self.controller.context.recorder.record(Event {
            object: ObjectReference {
                api_version: Some(format!("{}/{}", definition.group, definition.version)),
                kind: Some(definition.kind.to_owned()),
                namespace: meta.namespace.clone(),
                name: meta.name.clone(),
                uid: meta.uid.clone(),
                resource_version: meta.resource_version.clone(),
                field_path: None,
            },
            annotations: meta.annotations.clone().unwrap_or_default(),
            severity,
            reason: reason.to_owned(),
            message: message.to_owned(),
            metadata,
        });
    }
}
