//! Conditions in a status: finding, setting and removing them the way each kind does.

use serde_json::{Map, Value, json};

use crate::value;

/// The condition of a type.
pub(super) fn find<'a>(status: &'a Value, kind: &str) -> Option<&'a Value> {
    value::list(status, "conditions").iter().find(|condition| condition["type"] == kind)
}

/// Whether the condition of a type is `True`.
pub(super) fn is_true(status: &Value, kind: &str) -> bool {
    find(status, kind).is_some_and(|condition| condition["status"] == "True")
}

/// Removes the condition of a type.
pub(super) fn remove(status: &mut Value, kind: &str) {
    let Some(conditions) = status.get_mut("conditions").and_then(Value::as_array_mut) else {
        return;
    };
    conditions.retain(|condition| condition["type"] != kind);
    if conditions.is_empty()
        && let Some(fields) = status.as_object_mut()
    {
        fields.remove("conditions");
    }
}

/// Appends a condition and removes an older one of the same type.
pub(super) fn append(status: &mut Value, condition: Value) {
    let kind = condition["type"].as_str().unwrap_or_default().to_owned();
    remove(status, &kind);
    if !status.is_object() {
        *status = Value::Object(Map::new());
    }
    match status["conditions"].as_array_mut() {
        Some(conditions) => conditions.push(condition),
        None => status["conditions"] = json!([condition]),
    }
}

/// Sets a condition of a Deployment: the same status and reason change nothing, the same status
/// keeps `lastTransitionTime`.
pub(super) fn set_progress(
    status: &mut Value,
    kind: &str,
    state: &str,
    reason: &str,
    message: &str,
    now: &str,
) {
    let mut since = now.to_owned();
    if let Some(current) = find(status, kind)
        && current["status"] == state
    {
        if current["reason"] == reason {
            return;
        }
        value::text(current, "lastTransitionTime").clone_into(&mut since);
    }
    append(
        status,
        json!({
            "type": kind, "status": state, "reason": reason, "message": message,
            "lastUpdateTime": now, "lastTransitionTime": since,
        }),
    );
}

/// Sets a condition in place; `lastTransitionTime` changes with the status only.
pub(super) fn set(
    status: &mut Value,
    kind: &str,
    state: &str,
    reason: &str,
    message: &str,
    now: &str,
) {
    let since = find(status, kind)
        .filter(|current| current["status"] == state)
        .map_or(now, |current| value::text(current, "lastTransitionTime"))
        .to_owned();
    let condition = json!({
        "type": kind, "status": state, "reason": reason, "message": message,
        "lastTransitionTime": since,
    });
    put(status, condition);
}

/// Replaces the condition of the same type, or appends.
pub(super) fn put(status: &mut Value, condition: Value) {
    if !status.is_object() {
        *status = Value::Object(Map::new());
    }
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let conditions = status["conditions"].as_array_mut().expect("it was made a list just above");
    match conditions.iter_mut().find(|current| current["type"] == condition["type"]) {
        Some(current) => *current = condition,
        None => conditions.push(condition),
    }
}

/// Sets a condition of a pod: reason and message are left out when empty.
pub(super) fn set_pod(
    status: &mut Value,
    kind: &str,
    state: bool,
    reason: &str,
    message: &str,
    now: &str,
) {
    let state = if state { "True" } else { "False" };
    let current = find(status, kind);
    let since = current
        .filter(|current| current["status"] == state)
        .map_or(now, |current| value::text(current, "lastTransitionTime"))
        .to_owned();
    let mut condition = json!({
        "type": kind, "status": state, "lastProbeTime": null, "lastTransitionTime": since,
    });
    if let Some(generation) = current.map(|current| &current["observedGeneration"])
        && !generation.is_null()
    {
        condition["observedGeneration"] = generation.clone();
    }
    for (field, text) in [("reason", reason), ("message", message)] {
        if !text.is_empty() {
            condition[field] = text.into();
        }
    }
    put(status, condition);
}
