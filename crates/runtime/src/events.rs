//! Events: told to Kubernetes, and to Flux's notification receiver.
//!
//! Telling never holds up or fails a reconciliation: events go into a bounded queue, and a task of its own
//! sends them. An event that repeats is counted on the one that is there, as client-go does it.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event as CoreEvent, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time as MetaTime;
use kube::api::{Api, ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use sluice_api::crd::Definition;
use sluice_api::names::events::{GROUP, kind, severity};
use sluice_base::clock::Clock;
use tokio::sync::mpsc;
use tracing::debug;

use crate::conditions::trim;

/// How many events may wait to be sent; more are dropped.
const WAITING: usize = 1000;
/// How many events are remembered for counting.
const REMEMBERED: usize = 4096;

/// How much an event matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// For Kubernetes only, kept from alerts.
    Trace,
    /// Something went well.
    Info,
    /// Something went wrong.
    Error,
}

/// Something that happened to an object.
#[derive(Debug, Clone)]
pub struct Event {
    /// The object.
    pub object: ObjectReference,
    /// The object's annotations; those of Flux's event group go along.
    pub annotations: BTreeMap<String, String>,
    /// How much it matters.
    pub severity: Severity,
    /// Why, in one word.
    pub reason: String,
    /// What happened.
    pub message: String,
    /// What else is known, with the kind's group in front of each key.
    pub metadata: BTreeMap<String, String>,
}

impl Event {
    /// An event about an object of a kind, with its annotations and nothing else known.
    pub fn about(
        definition: &Definition,
        meta: &ObjectMeta,
        severity: Severity,
        reason: &str,
        message: &str,
    ) -> Self {
        Self {
            object: ObjectReference {
                api_version: Some(definition.api_version()),
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
            metadata: BTreeMap::new(),
        }
    }
}

impl Event {
    /// Where it is kept: beside its object.
    fn namespace(&self) -> &str {
        self.object.namespace.as_deref().unwrap_or("default")
    }
}

/// Sends a payload to the notification receiver.
pub trait Notify: Send + Sync {
    /// Posts the payload; how it went is only logged.
    fn post(&self, payload: Value)
    -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>>;
}

/// Takes events and sends them.
#[derive(Clone)]
pub struct Recorder {
    queue: mpsc::Sender<(Timestamp, Event)>,
    clock: Arc<dyn Clock>,
}

impl Recorder {
    /// A recorder, and the task that sends what it takes; run it beside the controllers.
    pub fn new(
        client: kube::Client,
        controller: &str,
        instance: &str,
        clock: Arc<dyn Clock>,
        receiver: Option<Arc<dyn Notify>>,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (queue, events) = mpsc::channel(WAITING);
        let sender = Sender {
            client,
            controller: controller.to_owned(),
            instance: instance.to_owned(),
            receiver,
            told: BTreeMap::new(),
            sequence: 0,
        };
        (Self { queue, clock }, sender.run(events))
    }

    /// Takes an event; what it says is as bounded as what conditions say.
    pub fn record(&self, mut event: Event) {
        event.message = trim(&event.message);
        if let Err(error) = self.queue.try_send((self.clock.now(), event)) {
            debug!(%error, "event dropped");
        }
    }
}

/// What makes two events one.
type Same = (String, String, String, &'static str);

struct Recorded {
    name: String,
    count: i32,
    order: u64,
}

struct Sender {
    client: kube::Client,
    controller: String,
    instance: String,
    receiver: Option<Arc<dyn Notify>>,
    told: BTreeMap<Same, Recorded>,
    sequence: u64,
}

impl Sender {
    async fn run(mut self, mut events: mpsc::Receiver<(Timestamp, Event)>) {
        while let Some((when, mut event)) = events.recv().await {
            let prefix = format!("{GROUP}/");
            let own = event.annotations.iter().filter(|(name, _)| name.starts_with(&prefix));
            event.metadata.extend(own.map(|(name, value)| (name.clone(), value.clone())));
            if let Err(error) = self.tell_kubernetes(when, &event).await {
                debug!(%error, "event not told to Kubernetes");
            }
            if event.severity != Severity::Trace
                && let Some(receiver) = self.receiver.clone()
                && let Err(error) = receiver.post(self.payload(when, &event)).await
            {
                debug!(%error, "event not told to the notification receiver");
            }
        }
    }

    /// The payload that notification-controller takes.
    fn payload(&self, when: Timestamp, event: &Event) -> Value {
        let level = match event.severity {
            Severity::Trace => severity::TRACE,
            Severity::Info => severity::INFO,
            Severity::Error => severity::ERROR,
        };
        let mut payload = json!({
            "involvedObject": event.object,
            "severity": level,
            "timestamp": sluice_base::time::format_seconds(when),
            "message": event.message,
            "reason": event.reason,
            "reportingController": self.controller,
            "reportingInstance": self.instance,
        });
        if !event.metadata.is_empty() {
            payload["metadata"] = json!(event.metadata);
        }
        payload
    }

    async fn tell_kubernetes(&mut self, when: Timestamp, event: &Event) -> Result<(), kube::Error> {
        let kind = if event.severity == Severity::Error { kind::WARNING } else { kind::NORMAL };
        let api: Api<CoreEvent> = Api::namespaced(self.client.clone(), event.namespace());
        let uid = event.object.uid.clone().unwrap_or_default();
        let same = (uid, event.reason.clone(), event.message.clone(), kind);
        self.sequence += 1;
        if let Some(told) = self.told.get_mut(&same) {
            told.count = told.count.saturating_add(1);
            told.order = self.sequence;
            let (name, count) = (told.name.clone(), told.count);
            let patch =
                json!({"count": count, "lastTimestamp": sluice_base::time::format_seconds(when)});
            let result = api.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await;
            match result {
                Err(kube::Error::Api(status)) if status.code == 404 => {
                    self.told.remove(&same);
                }
                other => return other.map(|_| ()),
            }
        }
        let core = core_event(event, kind, &self.controller, when, self.sequence);
        let name = core.metadata.name.clone().unwrap_or_default();
        api.create(&PostParams::default(), &core).await?;
        self.remember(same, name);
        Ok(())
    }

    fn remember(&mut self, same: Same, name: String) {
        if self.told.len() >= REMEMBERED {
            let oldest = self.told.iter().min_by_key(|(_, told)| told.order);
            if let Some(oldest) = oldest.map(|(same, _)| same.clone()) {
                self.told.remove(&oldest);
            }
        }
        self.told.insert(same, Recorded { name, count: 1, order: self.sequence });
    }
}

/// An event as Kubernetes keeps it, new, as client-go makes it.
pub(crate) fn core_event(
    event: &Event,
    kind: &str,
    reporter: &str,
    when: Timestamp,
    sequence: u64,
) -> CoreEvent {
    let object = event.object.name.clone().unwrap_or_default();
    let moment = when.as_nanosecond().wrapping_add(i128::from(sequence));
    let time = Some(MetaTime(when));
    CoreEvent {
        metadata: ObjectMeta {
            name: Some(format!("{object}.{moment:x}")),
            namespace: Some(event.namespace().to_owned()),
            annotations: (!event.metadata.is_empty()).then(|| event.metadata.clone()),
            ..ObjectMeta::default()
        },
        involved_object: event.object.clone(),
        reason: Some(event.reason.clone()),
        message: Some(event.message.clone()),
        type_: Some(kind.to_owned()),
        count: Some(1),
        first_timestamp: time.clone(),
        last_timestamp: time,
        source: Some(EventSource { component: Some(reporter.to_owned()), host: None }),
        reporting_component: Some(reporter.to_owned()),
        reporting_instance: Some(String::new()),
        ..CoreEvent::default()
    }
}
