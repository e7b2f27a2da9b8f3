//! Drift: whether applying would change a live object, and what differs.

mod describe;

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::ignore::IgnoreRules;
use crate::normalise::is_secret;

pub use describe::{Difference, differences, render};

/// The replacement of secret values.
const MASK: &str = "***";

/// Whether applying would change labels, annotations or anything but metadata and status. `merged` is the
/// result of a dry run.
pub fn has_drifted(live: Option<&Value>, merged: &Value, ignored: &IgnoreRules) -> bool {
    let Some(live) = live else { return true };
    if merged.pointer("/metadata/resourceVersion").is_none() {
        return true;
    }
    if ignored.is_empty() {
        return differs(live, merged);
    }
    let (mut live, mut merged) = (live.clone(), merged.clone());
    ignored.strip(&mut live, &mut merged);
    differs(&live, &merged)
}

fn differs(live: &Value, merged: &Value) -> bool {
    let entries = |object: &Value, field: &str| -> Option<Map<String, Value>> {
        let map = object.get("metadata")?.get(field)?.as_object()?;
        (!map.is_empty()).then(|| map.clone())
    };
    ["labels", "annotations"]
        .into_iter()
        .any(|field| entries(live, field) != entries(merged, field))
        || content(live) != content(merged)
}

/// The fields that are compared, with a bug of old API servers corrected.
fn content(object: &Value) -> Vec<(&str, Cow<'_, Value>)> {
    let is_autoscaler = object.get("kind").and_then(Value::as_str)
        == Some("HorizontalPodAutoscaler")
        && object.get("apiVersion").and_then(Value::as_str) == Some("autoscaling/v2");
    object
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(field, _)| !matches!(field.as_str(), "metadata" | "status"))
        .map(|(field, value)| {
            let value = if is_autoscaler && field == "spec" {
                Cow::Owned(without_repeated_metrics(value))
            } else {
                Cow::Borrowed(value)
            };
            (field.as_str(), value)
        })
        .collect()
}

/// Removes the repeated first metric and the empty one that dry runs before Kubernetes 1.27 add to
/// autoscalers (kubernetes#118293).
fn without_repeated_metrics(spec: &Value) -> Value {
    let mut spec = spec.clone();
    if let Some(metrics) = spec.get_mut("metrics").and_then(Value::as_array_mut) {
        let mut seen: Vec<Value> = Vec::new();
        for metric in metrics.drain(..) {
            let is_empty =
                metric.get("type").and_then(Value::as_str).unwrap_or_default().is_empty();
            if !is_empty && !seen.contains(&metric) {
                seen.push(metric);
            }
        }
        *metrics = seen;
    }
    spec
}

/// Masks the values of a Secret; different masks still show that a value changed.
pub fn mask_secrets(live: &mut Value, merged: &mut Value) {
    if !is_secret(merged) && !is_secret(live) {
        return;
    }
    for field in ["data", "stringData"] {
        let before = live.get(field).and_then(Value::as_object).cloned().unwrap_or_default();
        let after = merged.get(field).and_then(Value::as_object).cloned().unwrap_or_default();
        let masked = |own: &Map<String, Value>, other: &Map<String, Value>, changed: &str| {
            own.iter()
                .map(|(key, value)| {
                    let is_changed = other.get(key).is_some_and(|other| other != value);
                    let mask =
                        if is_changed { format!("{MASK} ({changed})") } else { MASK.to_owned() };
                    (key.clone(), Value::from(mask))
                })
                .collect::<Map<_, _>>()
        };
        if !before.is_empty() {
            live[field] = Value::Object(masked(&before, &after, "before"));
        }
        if !after.is_empty() {
            merged[field] = Value::Object(masked(&after, &before, "after"));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(extra: &Value) -> Value {
        let mut object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "resourceVersion": "1"}, "data": {"a": "1"},
        });
        for (key, value) in extra.as_object().into_iter().flatten() {
            object[key] = value.clone();
        }
        object
    }

    #[test]
    fn only_what_counts_is_drift() {
        let none = IgnoreRules::default();
        let live = object(&json!({}));
        let metadata =
            |extra: Value| json!({"metadata": {"resourceVersion": "2", "labels": extra}});
        for (merged, drifts) in [
            (object(&json!({})), false),
            (object(&json!({"status": {"a": 1}})), false),
            (object(&metadata(json!({}))), false),
            (object(&metadata(json!({"a": "b"}))), true),
            (object(&json!({"data": {"a": "2"}})), true),
            (object(&json!({"immutable": true})), true),
            (object(&json!({"metadata": {"name": "a"}})), true),
        ] {
            assert_eq!(has_drifted(Some(&live), &merged, &none), drifts, "{merged}");
        }
        assert!(has_drifted(None, &live, &none));
    }

    #[test]
    fn repeated_metrics_are_no_drift() {
        let autoscaler = |metrics: Value| {
            json!({
                "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
                "metadata": {"resourceVersion": "1"}, "spec": {"metrics": metrics},
            })
        };
        let live = autoscaler(json!([{"type": "Resource"}]));
        let merged = autoscaler(json!([{"type": "Resource"}, {"type": "Resource"}, {"type": ""}]));
        assert!(!has_drifted(Some(&live), &merged, &IgnoreRules::default()));
    }

    #[test]
    fn secrets_show_that_they_differ_and_nothing_else() {
        let secret = |data: Value| json!({"apiVersion": "v1", "kind": "Secret", "data": data});
        let mut live = secret(json!({"same": "YQ==", "changed": "Yg==", "gone": "Yw=="}));
        let mut merged = secret(json!({"same": "YQ==", "changed": "ZA==", "new": "ZQ=="}));
        mask_secrets(&mut live, &mut merged);
        let before = json!({"same": "***", "changed": "*** (before)", "gone": "***"});
        assert_eq!(live["data"], before);
        assert_eq!(merged["data"], json!({"same": "***", "changed": "*** (after)", "new": "***"}));
    }
}
