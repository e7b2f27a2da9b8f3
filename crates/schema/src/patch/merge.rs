//! Merge patches (RFC 7386) the way evanphx/json-patch v4 applies them: where a value is new, nulls
//! are taken out of it even inside lists.

use serde_json::{Map, Value};

use super::PatchError;

/// Applies `patch` to the object `document`.
pub fn merge_patch(document: &Value, patch: &Value) -> Result<Value, PatchError> {
    match (document, patch) {
        (_, Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            Err(PatchError::Malformed("Invalid JSON Patch".to_owned()))
        }
        (Value::Object(members), Value::Object(changes)) => {
            let mut members = members.clone();
            merge(&mut members, changes);
            Ok(Value::Object(members))
        }
        (_, patch) => Ok(without_nulls(patch)),
    }
}

fn merge(members: &mut Map<String, Value>, changes: &Map<String, Value>) {
    for (key, change) in changes {
        if change.is_null() {
            members.remove(key);
            continue;
        }
        match (members.get_mut(key), change) {
            (Some(Value::Object(inner)), Value::Object(changes)) => merge(inner, changes),
            (Some(present @ Value::Object(_)), other) => *present = other.clone(),
            (_, change) => {
                members.insert(key.clone(), without_nulls(change));
            }
        }
    }
}

/// Drops null members everywhere; null items of lists stay.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(
            members
                .iter()
                .filter(|(_, member)| !member.is_null())
                .map(|(key, member)| (key.clone(), without_nulls(member)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(without_nulls).collect()),
        other => other.clone(),
    }
}
