//! One pass over one object: the object as it was read, the status that is built, and the one place that writes it.
//!
//! ```text
//! deleted? ─▶ finalize ─▶ finalizer off
//! finalizer on ─▶ suspended? ─▶ converge (the kind's own: gate, fetch, gate, write) ─▶ conclude ─▶ status
//! ```
//!
//! `run.rs` has the order; this file has what a pass holds and how it writes and reports.

mod run;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::core::DynamicObject;
use kube::core::object::HasStatus;
use serde_json::{Map, Value, json};
use sluice_api::names::conditions::READY;
use sluice_api::names::events::{ORIGIN_REVISION, REVISION, severity};
use sluice_api::names::sluice::conditions::HELD;
use sluice_api::names::sluice::{CAUSE, ERROR_CLASS, ERROR_CLASSES, PLACE};
use sluice_api::shared::condition::Condition;
use sluice_api::shared::inventory::Snapshot;
use tokio::time::Instant;

use crate::class::ErrorClass;
use crate::conditions::Conditions;
use crate::controller::{Core, Kind};
use crate::error::ApiError;
use crate::events::{Event, Severity};
use crate::gate::{GateRequest, Moment, Verdict};
use crate::history::{self, Attempt};
use crate::key::Key;
use crate::metrics::names::PHASE_DURATION;
use crate::outcome::{FailedObject, Stop, causes, places};
use crate::status::{Written, patch_metadata};
use crate::store::Change;

pub use run::{End, Finalized, Reconciler, reconcile};

/// The status type of a kind.
pub type StatusOf<K> = <K as HasStatus>::Status;

/// Called for each change of an object, whether the watch or a pass of its own controller reports it.
pub trait OnChange<K>: Send + Sync {
    /// An object changed.
    fn on_change(&self, change: &Change<K>);
}

/// One pass over one object.
pub struct Pass<'c, K: Kind> {
    core: &'c Core<K>,
    controller: &'c dyn OnChange<K>,
    /// The object as it was read.
    pub object: Arc<K>,
    /// Its namespace and name.
    pub key: Key,
    /// The status that is built. `conditions`, `history`, `lastHandledReconcileAt` and `observedGeneration` in it are
    /// those that were read: the pass itself keeps and writes them.
    pub status: StatusOf<K>,
    /// The conditions that are built.
    pub conditions: Conditions,
    /// The revision that is reconciled; empty while it is not known, and in kinds that make revisions.
    pub revision: String,
    /// The revision of what the artifact was made from.
    pub origin_revision: String,
    /// The conditions as they were read.
    read: Vec<Condition>,
    /// The fields of the status that every kind has.
    common: Map<String, Value>,
    history: Vec<Snapshot>,
    written: Written,
    started: Timestamp,
    phase: Option<(&'static str, Instant)>,
}

impl<'c, K: Kind> Pass<'c, K> {
    /// Begins a pass.
    pub fn begin<R: Reconciler<Kind = K>>(controller: &'c R, object: Arc<K>) -> Self {
        let core = controller.core();
        let started = core.context.clock.now();
        let status = object.status().map(|status| serde_json::to_value(status).unwrap_or_default());
        let status = status.unwrap_or_else(|| json!({}));
        let read: Vec<Condition> = field(&status, "conditions");
        let generation = object.meta().generation.unwrap_or_default();
        let compares = core.context.rules.compares_versions;
        Self {
            core,
            controller,
            key: Key::of(object.meta()),
            status: object.status().cloned().unwrap_or_default(),
            conditions: Conditions::new(read.clone(), generation, started),
            revision: String::new(),
            origin_revision: String::new(),
            read,
            common: Map::new(),
            history: field(&status, "history"),
            written: Written::new(status, object.meta(), compares),
            object,
            started,
            phase: None,
        }
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        self.core.context.clock.now()
    }

    /// How long the pass has taken so far.
    pub fn elapsed(&self) -> Duration {
        Duration::try_from(self.now().duration_since(self.started)).unwrap_or_default()
    }

    /// Conditions that are set from here on are set now, not at the start of the pass.
    pub fn update_time(&mut self) {
        let now = self.now();
        self.conditions.set_now(now);
    }

    /// Begins a phase and ends the one before: `gotk` metrics show how long each took.
    pub fn phase(&mut self, name: &'static str) {
        self.end_phase();
        self.phase = Some((name, Instant::now()));
    }

    /// Ends the phase that the pass is in.
    pub fn end_phase(&mut self) {
        let Some((phase, began)) = self.phase.take() else { return };
        let labels = [K::DEFINITION.kind, phase];
        let took = began.elapsed().as_secs_f64();
        self.core.context.metrics.observe(&PHASE_DURATION, &labels, took);
    }

    /// Asks the gate whether the pass may go on.
    pub fn ask_gate(&mut self, moment: Moment) -> Result<(), Stop> {
        let request = GateRequest {
            definition: &K::DEFINITION,
            metadata: self.object.meta(),
            revision: &self.revision,
            moment,
        };
        match self.core.context.gate.0.ask(&request) {
            Verdict::Open => {
                self.conditions.remove(HELD);
                Ok(())
            }
            Verdict::Held(hold) => Err(Stop::Held(hold)),
        }
    }

    /// Writes the status as it is now. The store has it at once, before the watch reports it.
    pub async fn write(&mut self) -> Result<(), ApiError> {
        let mut status = match serde_json::to_value(&self.status) {
            Ok(Value::Object(status)) => status,
            _ => Map::new(),
        };
        match self.conditions.list() {
            [] => status.remove("conditions"),
            list => status.insert("conditions".to_owned(), json!(list)),
        };
        status.extend(self.common.clone());
        let (client, definition) = (&self.core.context.client, &K::DEFINITION);
        let answer = self
            .written
            .write::<StatusOf<K>>(client, definition, &self.key, self.core.manager, status.into())
            .await?;
        if let Some(object) = answer {
            self.take_in(&object);
        }
        Ok(())
    }

    /// Writes the list of finalizers; fails if the object was changed in the meantime.
    async fn write_finalizers(&mut self, finalizers: Vec<String>) -> Result<(), ApiError> {
        let version = &self.object.meta().resource_version;
        let patch = json!({"finalizers": finalizers, "resourceVersion": version});
        let (client, definition) = (&self.core.context.client, &K::DEFINITION);
        let answer =
            patch_metadata(client, definition, &self.key, self.core.manager, patch).await?;
        self.written.follow(&answer);
        if answer.metadata.deletion_timestamp.is_none() {
            self.take_in(&answer);
        }
        Ok(())
    }

    /// Puts an answer of the API server into the store.
    fn take_in(&self, answer: &DynamicObject) {
        let object = serde_json::to_value(answer).and_then(serde_json::from_value::<K>);
        if let Ok(mut object) = object {
            object.meta_mut().managed_fields = None;
            if let Some(change) = self.core.store.apply(object) {
                self.controller.on_change(&change);
            }
        }
    }

    /// Adds the reconciliation of the revision to `status.history`.
    pub fn note(&mut self, digest: &str, outcome: &str) {
        let revisions = [(REVISION, &self.revision), (ORIGIN_REVISION, &self.origin_revision)];
        let known = revisions.into_iter().filter(|(name, it)| *name == REVISION || !it.is_empty());
        let metadata = known.map(|(name, it)| (name.to_owned(), it.clone())).collect();
        let (ended, took) = (self.now(), self.elapsed());
        history::note(&mut self.history, Attempt { digest, outcome, ended, took, metadata });
        self.common.insert("history".to_owned(), json!(self.history));
    }

    /// Records an event.
    pub fn event(&self, severity: Severity, reason: &str, message: &str) {
        self.event_with(severity, reason, message, BTreeMap::new());
    }

    /// Records an event with the reason that Ready has.
    pub fn ready_event(&self, level: Severity, message: &str) {
        self.event_with(level, self.ready_reason(level), message, BTreeMap::new());
    }

    /// Records an event with the reason that Ready has, and with metadata of the kind's group.
    pub fn ready_event_with(&self, level: Severity, message: &str, metadata: &[(&str, &str)]) {
        let group = K::DEFINITION.group;
        let metadata = metadata.iter().map(|(name, it)| (format!("{group}/{name}"), (*it).into()));
        self.event_with(level, self.ready_reason(level), message, metadata.collect());
    }

    fn ready_reason(&self, level: Severity) -> &str {
        let fallback = if level == Severity::Error { severity::ERROR } else { severity::INFO };
        self.conditions.get(READY).map_or(fallback, |ready| ready.reason.as_str())
    }

    /// Records an event with metadata, to which the revisions of the pass are added.
    pub fn event_with(
        &self,
        level: Severity,
        reason: &str,
        message: &str,
        mut metadata: BTreeMap<String, String>,
    ) {
        let facts = [(REVISION, &self.revision), (ORIGIN_REVISION, &self.origin_revision)];
        for (name, value) in facts.into_iter().filter(|(_, value)| !value.is_empty()) {
            metadata.insert(format!("{}/{name}", K::DEFINITION.group), value.clone());
        }
        let about = Event::about(&K::DEFINITION, self.object.meta(), level, reason, message);
        self.core.context.recorder.record(Event { metadata, ..about });
    }
}

/// What an event about a failure carries: its class, and class and place of each object.
fn class_metadata(class: Option<ErrorClass>, objects: &[FailedObject]) -> BTreeMap<String, String> {
    let mut metadata = BTreeMap::new();
    if let Some(class) = class {
        metadata.insert(ERROR_CLASS.to_owned(), class.as_str().to_owned());
    }
    let each = |one: &FailedObject| json!({"object": one.object, "class": one.class.as_str()});
    let named = objects.iter().filter(|one| one.object.is_some());
    let list: Vec<Value> = named.map(each).collect();
    if !list.is_empty() {
        metadata.insert(ERROR_CLASSES.to_owned(), Value::from(list).to_string());
    }
    if let Some(places) = places(objects) {
        metadata.insert(PLACE.to_owned(), places);
    }
    if let Some(causes) = causes(objects) {
        metadata.insert(CAUSE.to_owned(), causes);
    }
    metadata
}

/// A list of the status, empty if it is not there.
fn field<T: serde::de::DeserializeOwned>(status: &Value, name: &str) -> Vec<T> {
    let list = status.get(name).cloned();
    list.and_then(|list| serde_json::from_value(list).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
