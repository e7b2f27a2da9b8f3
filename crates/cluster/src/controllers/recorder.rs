//! Events as client-go's recorder writes them: a repeated event increments `count`.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use sluice_base::clock::Clock as _;

use super::Key;
use super::control::{Actor, Control};
use crate::metadata;
use crate::store::GroupResource;

/// The number of distinct events that are remembered for counting; the oldest is dropped first.
const MEMORY: usize = 4096;

/// The events recorded so far.
#[derive(Debug, Default)]
pub(crate) struct Recorder(Mutex<Recorded>);

#[derive(Debug, Default)]
struct Recorded {
    /// Aggregation key to the key of its Event.
    events: BTreeMap<String, (u64, Key)>,
    /// Arrival number to aggregation key.
    order: BTreeMap<u64, String>,
    arrivals: u64,
}

impl Recorded {
    fn remember(&mut self, aggregate: String, key: Key) {
        self.arrivals += 1;
        if let Some((place, _)) = self.events.insert(aggregate.clone(), (self.arrivals, key)) {
            self.order.remove(&place);
        }
        self.order.insert(self.arrivals, aggregate);
        while self.order.len() > MEMORY {
            if let Some((_, oldest)) = self.order.pop_first() {
                self.events.remove(&oldest);
            }
        }
    }
}

/// The source of an event (`reportingComponent` and `source.host`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventSource<'a> {
    pub(crate) actor: Actor,
    pub(crate) component: &'a str,
    /// The node, if the source runs on one.
    pub(crate) host: &'a str,
}

/// An event to record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewEvent<'a> {
    pub(crate) warning: bool,
    pub(crate) reason: &'a str,
    pub(crate) message: &'a str,
    /// The part of the object, such as `spec.containers{web}`.
    pub(crate) part: &'a str,
}

impl<'a> NewEvent<'a> {
    /// An event of type `Normal`.
    pub(crate) fn normal(reason: &'a str, message: &'a str) -> Self {
        Self { warning: false, reason, message, part: "" }
    }

    /// An event of type `Warning`.
    pub(crate) fn warning(reason: &'a str, message: &'a str) -> Self {
        Self { warning: true, reason, message, part: "" }
    }

    /// Sets the `fieldPath` of the involved object.
    pub(crate) fn about(self, part: &'a str) -> Self {
        Self { part, ..self }
    }
}

impl Control {
    /// Records an Event about an object. Failing to write it is ignored, as in client-go.
    pub(crate) async fn record(&self, source: EventSource<'_>, about: &Value, event: NewEvent<'_>) {
        let namespace = match metadata::namespace(about) {
            "" => "default",
            namespace => namespace,
        };
        let now = self.now();
        let NewEvent { reason, message, part, .. } = event;
        let kind = if event.warning { "Warning" } else { "Normal" };
        let aggregate =
            [source.component, source.host, metadata::uid(about), part, kind, reason, message]
                .join("\0");
        let known = {
            let recorded = self.recorder.0.lock().unwrap_or_else(PoisonError::into_inner);
            recorded.events.get(&aggregate).map(|(_, key)| key.clone())
        };
        if let Some(key) = &known {
            let counted = self
                .update(source.actor, key, "", &mut |known| {
                    known["count"] = (known["count"].as_i64().unwrap_or(0) + 1).into();
                    known["lastTimestamp"] = now.as_str().into();
                })
                .await;
            if counted.is_ok() {
                return;
            }
        }
        let name = self.event_name(about);
        let mut involved = json!({
            "kind": about["kind"],
            "apiVersion": about["apiVersion"],
            "name": metadata::name(about),
            "uid": metadata::uid(about),
            "resourceVersion": metadata::text(about, "resourceVersion"),
        });
        if !metadata::namespace(about).is_empty() {
            involved["namespace"] = namespace.into();
        }
        if !part.is_empty() {
            involved["fieldPath"] = part.into();
        }
        let mut reporter = json!({"component": source.component});
        if !source.host.is_empty() {
            reporter["host"] = source.host.into();
        }
        let event = json!({
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": involved,
            "reason": reason,
            "message": message,
            "source": reporter,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": kind,
            "eventTime": null,
            "reportingComponent": source.component,
            "reportingInstance": source.host,
        });
        self.file_event(source.actor, namespace, event).await;
        let mut recorded = self.recorder.0.lock().unwrap_or_else(PoisonError::into_inner);
        recorded.remember(aggregate, Key::new("", "events", namespace, &name));
    }

    /// The name of a new Event: the object's name and a number that grows with time.
    pub(crate) fn event_name(&self, about: &Value) -> String {
        // In virtual time many events have the same time, so a random number makes names unique.
        let nanos = u64::try_from(self.state.clock.now().as_nanosecond()).unwrap_or_default();
        let stamp = nanos.wrapping_add(self.state.random.below(1 << 40));
        format!("{}.{stamp:x}", metadata::name(about))
    }

    /// Creates an Event object.
    pub(crate) async fn file_event(&self, actor: Actor, namespace: &str, event: Value) {
        let events = GroupResource::new("", "events");
        if let Err(status) = self.create(actor, &events, namespace, event).await {
            tracing::debug!(%status, "event not written");
        }
    }
}
