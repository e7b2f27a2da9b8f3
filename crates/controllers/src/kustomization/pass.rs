//! One pass over a Kustomization: what its status is to say, and the one place that writes it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use sluice_api::crd::CustomResource as _;
use sluice_api::kustomize::GROUP;
use sluice_api::kustomize::kustomization::{Kustomization, KustomizationStatus};
use sluice_api::names::annotations::REQUESTED_AT;
use sluice_api::names::conditions::{READY, RECONCILING};
use sluice_api::names::events::{
    COMMIT_STATUS, COMMIT_STATUS_UPDATE, ORIGIN_REVISION, REVISION, severity,
};
use sluice_api::names::reasons::PROGRESSING_WITH_RETRY;
use sluice_api::names::sluice::{ERROR_CLASS, ERROR_CLASSES};
use sluice_api::shared::condition::ConditionStatus;
use sluice_runtime::conditions::Conditions;
use sluice_runtime::error::ApiError;
use sluice_runtime::events::{Event, Severity};
use sluice_runtime::key::Key;
use sluice_runtime::metrics::names::PHASE_DURATION;
use sluice_runtime::status::Written;
use sluice_ssa::ErrorClass;
use tokio::time::Instant;

use super::stop::ObjectFailure;
use super::{Kustomizations, history};
use crate::context::Context;
use crate::safety::SafetyRule;

/// The field manager of what is written to Kustomizations.
pub(super) const STATUS_MANAGER: &str = "gotk-kustomize-controller";

/// One pass: the object as it was at the start, and its status as it is to be.
pub(super) struct Pass<'c> {
    /// What all controllers share.
    pub(super) context: &'c Context,
    controller: &'c Kustomizations,
    /// The object as it was at the start.
    pub(super) object: Arc<Kustomization>,
    /// Who it is.
    pub(super) key: Key,
    /// What its status is to say, conditions apart.
    pub(super) status: KustomizationStatus,
    /// Its conditions as they are to be.
    pub(super) conditions: Conditions,
    /// The status that the API server has.
    written: Written,
    started: Timestamp,
    /// The revision at hand, and that of its origin.
    pub(super) revision: String,
    /// The revision of what the artifact was made from.
    pub(super) origin_revision: String,
    /// Whose job it is to fix what went wrong, if anything did.
    pub(super) class: Option<ErrorClass>,
    /// The objects that failed, each with a class of its own.
    pub(super) failures: Vec<ObjectFailure>,
    /// The phases so far, and when each began.
    phases: Vec<(&'static str, Instant)>,
}

impl<'c> Pass<'c> {
    /// Begins a pass.
    pub(super) fn begin(controller: &'c Kustomizations, object: Arc<Kustomization>) -> Self {
        let context = &controller.context;
        let mut status = object.status.clone().unwrap_or_default();
        let started = context.clock.now();
        let generation = object.metadata.generation.unwrap_or_default();
        let conditions = status.conditions.take().unwrap_or_default();
        let mut written = Written::new(object.status.as_ref(), &object.metadata);
        if !context.settings.keeps(SafetyRule::StatusComparesVersions) {
            written = written.without_comparing();
        }
        Self {
            context,
            controller,
            key: Key::of(&object.metadata),
            conditions: Conditions::new(conditions, generation, started),
            object,
            status,
            written,
            started,
            revision: String::new(),
            origin_revision: String::new(),
            class: None,
            failures: Vec::new(),
            phases: Vec::new(),
        }
    }

    /// Begins a phase, and ends the one before.
    pub(super) fn phase(&mut self, name: &'static str) {
        self.phases.push((name, Instant::now()));
    }

    /// Counts how long each phase took; the last one ends now.
    pub(super) fn count_phases(&self) {
        let ends = self.phases.iter().skip(1).map(|(_, began)| *began).chain([Instant::now()]);
        for ((phase, began), end) in self.phases.iter().zip(ends) {
            let labels = [Kustomization::DEFINITION.kind, phase];
            let took = end.duration_since(*began).as_secs_f64();
            self.context.metrics.observe(&PHASE_DURATION, &labels, took);
        }
    }

    /// How long the pass has taken so far.
    pub(super) fn elapsed(&self) -> Duration {
        Duration::try_from(self.context.clock.now().duration_since(self.started))
            .unwrap_or_default()
    }

    /// Writes what the status says now. The watch hears of it later; the store knows at once.
    pub(super) async fn write(&mut self) -> Result<(), ApiError> {
        let mut status = self.status.clone();
        status.conditions = Some(self.conditions.list().to_vec()).filter(|list| !list.is_empty());
        let wanted = serde_json::to_value(&status).unwrap_or(Value::Null);
        let definition = Kustomization::DEFINITION;
        let client = &self.context.client;
        let answer = self
            .written
            .write::<KustomizationStatus>(client, &definition, &self.key, STATUS_MANAGER, wanted)
            .await?;
        if let Some(object) = answer {
            self.take_in(&object);
        }
        Ok(())
    }

    /// Takes note of the answer to a write of metadata, and lets the store know.
    pub(super) fn follow(&mut self, answer: &kube::core::DynamicObject) {
        self.written.follow(answer);
        self.take_in(answer);
    }

    /// Lets the store know of an answer of the API server, and whom it concerns.
    fn take_in(&self, answer: &kube::core::DynamicObject) {
        let object = serde_json::to_value(answer).and_then(serde_json::from_value::<Kustomization>);
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
        self.conditions.set_now(self.context.clock.now());
        if self.conditions.is_true(READY) {
            self.conditions.remove(RECONCILING);
            self.status.observed_generation = self.object.metadata.generation;
        } else if self.conditions.is_false(READY)
            && let Some(message) = self.conditions.get(RECONCILING).map(|it| it.message.clone())
        {
            self.conditions.set(
                RECONCILING,
                ConditionStatus::True,
                PROGRESSING_WITH_RETRY,
                &message,
            );
        }
        match self.write().await {
            // It was deleted in the meantime, by us.
            Err(error)
                if error.is_not_found() && self.object.metadata.deletion_timestamp.is_some() =>
            {
                Ok(())
            }
            other => other,
        }
    }

    /// Notes how the revision at hand went.
    pub(super) fn note(&mut self, digest: &str, outcome: &str) {
        let mut metadata = BTreeMap::from([(REVISION.to_owned(), self.revision.clone())]);
        if !self.origin_revision.is_empty() {
            metadata.insert(ORIGIN_REVISION.to_owned(), self.origin_revision.clone());
        }
        let (now, took) = (self.context.clock.now(), self.elapsed());
        let kept = self.status.history.get_or_insert_default();
        history::note(kept, digest, outcome, now, took, metadata);
    }

    /// Says what happened, with the reason that Ready has.
    pub(super) fn event(&self, severity: Severity, message: &str) {
        self.event_with(severity, message, BTreeMap::new());
    }

    /// Says that all went well, so that commit statuses follow.
    pub(super) fn success_event(&self, message: &str) {
        let update = (COMMIT_STATUS.to_owned(), COMMIT_STATUS_UPDATE.to_owned());
        self.event_with(Severity::Info, message, BTreeMap::from([update]));
    }

    fn event_with(&self, level: Severity, message: &str, metadata: BTreeMap<String, String>) {
        let fallback = if level == Severity::Error { severity::ERROR } else { severity::INFO };
        let reason = self.conditions.get(READY).map_or(fallback, |ready| ready.reason.as_str());
        self.tell(level, reason, message, metadata);
    }

    /// Says what happened, for a reason of its own.
    pub(super) fn event_because(&self, level: Severity, reason: &str, message: &str) {
        self.tell(level, reason, message, BTreeMap::new());
    }

    fn tell(
        &self,
        level: Severity,
        reason: &str,
        message: &str,
        mut metadata: BTreeMap<String, String>,
    ) {
        let facts = [(REVISION, &self.revision), (ORIGIN_REVISION, &self.origin_revision)];
        for (name, value) in facts.into_iter().filter(|(_, value)| !value.is_empty()) {
            metadata.insert(name.to_owned(), value.clone());
        }
        let metadata = metadata.into_iter().map(|(name, value)| (format!("{GROUP}/{name}"), value));
        let class = self.class.map(|class| (ERROR_CLASS.to_owned(), class.as_str().to_owned()));
        let classes = self.classes().map(|classes| (ERROR_CLASSES.to_owned(), classes));
        let (definition, meta) = (&Kustomization::DEFINITION, &self.object.metadata);
        let about = Event::about(definition, meta, level, reason, message);
        let metadata = metadata.chain(class).chain(classes).collect();
        self.context.recorder.record(Event { metadata, ..about });
    }

    /// The class of each object that failed; nothing where no object did.
    fn classes(&self) -> Option<String> {
        let list = self
            .failures
            .iter()
            .map(|one| serde_json::json!({"object": one.object, "class": one.class.as_str()}));
        let list: Vec<serde_json::Value> = list.collect();
        (!list.is_empty()).then(|| serde_json::Value::from(list).to_string())
    }
}
