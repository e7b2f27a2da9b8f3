//! Events as client-go's recorder writes them: what is said again is counted, not filed twice.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use sluice_base::clock::Clock as _;

use super::Key;
use super::control::{Actor, Control};
use crate::metadata;
use crate::store::GroupResource;

/// How many different events are remembered for counting; the oldest is forgotten first.
const MEMORY: usize = 4096;

/// The events told so far.
#[derive(Debug, Default)]
pub(crate) struct Recorder(Mutex<Recorded>);

#[derive(Debug, Default)]
struct Recorded {
    /// What was said to the key of its Event.
    events: BTreeMap<String, (u64, Key)>,
    /// Arrival number to what was said.
    order: BTreeMap<u64, String>,
    arrivals: u64,
}

impl Recorded {
    fn remember(&mut self, said: String, key: Key) {
        self.arrivals += 1;
        if let Some((place, _)) = self.events.insert(said.clone(), (self.arrivals, key)) {
            self.order.remove(&place);
        }
        self.order.insert(self.arrivals, said);
        while self.order.len() > MEMORY {
            if let Some((_, oldest)) = self.order.pop_first() {
                self.events.remove(&oldest);
            }
        }
    }
}

/// Who tells an event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventSource<'a> {
    pub(crate) actor: Actor,
    pub(crate) component: &'a str,
    /// The node, if the teller runs on one.
    pub(crate) host: &'a str,
}

/// What is told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewEvent<'a> {
    pub(crate) warning: bool,
    pub(crate) reason: &'a str,
    pub(crate) message: &'a str,
    /// The part of the object, such as `spec.containers{web}`.
    pub(crate) part: &'a str,
}

impl<'a> NewEvent<'a> {
    /// All is well.
    pub(crate) fn normal(reason: &'a str, message: &'a str) -> Self {
        Self { warning: false, reason, message, part: "" }
    }

    /// Something is wrong.
    pub(crate) fn warning(reason: &'a str, message: &'a str) -> Self {
        Self { warning: true, reason, message, part: "" }
    }

    /// About a part of the object.
    pub(crate) fn about(self, part: &'a str) -> Self {
        Self { part, ..self }
    }
}

impl Control {
    /// Records an Event about an object. An event that cannot be written is nobody's failure.
    pub(crate) async fn tell(&self, teller: EventSource<'_>, about: &Value, word: NewEvent<'_>) {
        let namespace = match metadata::namespace(about) {
            "" => "default",
            namespace => namespace,
        };
        let now = self.now();
        let NewEvent { reason, message, part, .. } = word;
        let kind = if word.warning { "Warning" } else { "Normal" };
        let said =
            [teller.component, teller.host, metadata::uid(about), part, kind, reason, message]
                .join("\0");
        let known = {
            let told = self.recorder.0.lock().unwrap_or_else(PoisonError::into_inner);
            told.events.get(&said).map(|(_, key)| key.clone())
        };
        if let Some(key) = &known {
            let counted = self
                .update(teller.actor, key, "", &mut |event| {
                    event["count"] = (event["count"].as_i64().unwrap_or(0) + 1).into();
                    event["lastTimestamp"] = now.as_str().into();
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
        let mut source = json!({"component": teller.component});
        if !teller.host.is_empty() {
            source["host"] = teller.host.into();
        }
        let event = json!({
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": involved,
            "reason": reason,
            "message": message,
            "source": source,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": kind,
            "eventTime": null,
            "reportingComponent": teller.component,
            "reportingInstance": teller.host,
        });
        self.file_event(teller.actor, namespace, event).await;
        let mut told = self.recorder.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.remember(said, Key::new("", "events", namespace, &name));
    }

    /// The name of a new Event: the object's, and a number that grows with time.
    pub(crate) fn event_name(&self, about: &Value) -> String {
        // In virtual time many things happen at one moment, so chance tells them apart.
        let nanos = u64::try_from(self.state.clock.now().as_nanosecond()).unwrap_or_default();
        let stamp = nanos.wrapping_add(self.state.random.below(1 << 40));
        format!("{}.{stamp:x}", metadata::name(about))
    }

    /// Files an Event that has been put together.
    pub(crate) async fn file_event(&self, actor: Actor, namespace: &str, event: Value) {
        let events = GroupResource::new("", "events");
        if let Err(status) = self.create(actor, &events, namespace, event).await {
            tracing::debug!(%status, "event not written");
        }
    }
}
