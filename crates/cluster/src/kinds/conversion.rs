//! Conversion of built-in kinds between served versions.
//!
//! Autoscalers are stored as `autoscaling/v2`, events as `v1`. All other kinds are stored as they were
//! written, and their versions differ only in `apiVersion`.

use std::borrow::Cow;

use serde_json::Value;

use super::autoscaling::conversion as autoscaler;
use crate::value::{remove, set, text};

/// Names of an event's fields in `v1` and in `events.k8s.io/v1`.
const EVENT: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

/// Converts an object to its storage version.
pub(crate) fn stored_form(object: Value) -> Value {
    match text(&object, "apiVersion") {
        "autoscaling/v1" => autoscaler::to_v2(&object),
        "events.k8s.io/v1" => event(object, "v1"),
        _ => object,
    }
}

/// An object of any version as it would be stored.
pub(crate) fn as_stored(object: &Value) -> Cow<'_, Value> {
    match (text(object, "apiVersion"), text(object, "kind")) {
        ("autoscaling/v1", "HorizontalPodAutoscaler") | ("events.k8s.io/v1", "Event") => {
            Cow::Owned(stored_form(object.clone()))
        }
        ("apps/v1", "DaemonSet") => Cow::Owned(without_template_generation(object.clone())),
        _ => Cow::Borrowed(object),
    }
}

/// Upstream's internal DaemonSet has the template generation as a field, so its printed form lacks
/// the annotation.
fn without_template_generation(mut set: Value) -> Value {
    if let Some(Value::Object(metadata)) = set.get_mut("metadata")
        && let Some(Value::Object(annotations)) = metadata.get_mut("annotations")
    {
        annotations.remove("deprecated.daemonset.template.generation");
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
    set
}

/// Converts a stored object to the version `api_version`.
pub(crate) fn served<'a>(api_version: &str, stored: &'a Value) -> Cow<'a, Value> {
    if text(stored, "apiVersion") == api_version {
        return Cow::Borrowed(stored);
    }
    Cow::Owned(match api_version {
        "autoscaling/v1" => autoscaler::to_v1(stored),
        "events.k8s.io/v1" => event(stored.clone(), api_version),
        _ => {
            let mut object = stored.clone();
            set(&mut object, "apiVersion", api_version);
            object
        }
    })
}

fn event(mut event: Value, api_version: &str) -> Value {
    for (core, events) in EVENT {
        let (from, to) = if api_version == "v1" { (events, core) } else { (core, events) };
        if let Some(value) = remove(&mut event, from) {
            set(&mut event, to, value);
        }
    }
    set(&mut event, "apiVersion", api_version);
    event
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_have_other_names_in_their_own_group() {
        let events = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "note": "hello", "regarding": {"name": "p"}});
        let stored = stored_form(events.clone());
        assert_eq!(
            stored,
            json!({"apiVersion": "v1", "kind": "Event", "message": "hello", "involvedObject": {"name": "p"}})
        );
        assert_eq!(served("events.k8s.io/v1", &stored).into_owned(), events);
    }
}
