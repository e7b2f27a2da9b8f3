//! Ownership of a field: looks up a JSON pointer in the managed fields of an object.

use serde_json::{Map, Value};

type Fields = Map<String, Value>;

/// Whether another manager applies the field at a pointer. A field without a manager is applied by no
/// other.
pub(super) fn is_applied_by_another(live: &Value, pointer: &str, field_manager: &str) -> bool {
    let applied: Vec<(&str, &Fields)> = live
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|entry| {
            let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
            text("operation") == "Apply" && text("subresource").is_empty()
        })
        .filter_map(|entry| {
            Some((entry.get("manager")?.as_str()?, entry.get("fieldsV1")?.as_object()?))
        })
        .collect();
    let Some(segments) = segments(live, pointer, &applied) else { return false };
    applied
        .iter()
        .filter(|(manager, _)| *manager != field_manager)
        .any(|(_, fields)| contains(fields, &segments))
}

/// The path in managed fields: `f:name` for a field, `k:{...}` for a list item.
fn segments(live: &Value, pointer: &str, applied: &[(&str, &Fields)]) -> Option<Vec<String>> {
    let mut value = Some(live);
    let mut out = Vec::new();
    for part in pointer.strip_prefix('/')?.split('/') {
        let name = part.replace("~1", "/").replace("~0", "~");
        let next = value.and_then(|value| match value {
            Value::Array(items) => items.get(name.parse::<usize>().ok()?),
            other => other.get(&name),
        });
        let segment = if name.parse::<usize>().is_ok() {
            item_key(next?.as_object()?, &out, applied)?
        } else {
            format!("f:{name}")
        };
        out.push(segment);
        value = next;
    }
    Some(out)
}

/// The key of an item in managed fields: the one with all fields equal to the item's.
fn item_key(item: &Fields, parent: &[String], applied: &[(&str, &Fields)]) -> Option<String> {
    applied
        .iter()
        .filter_map(|(_, fields)| walk(fields, parent))
        .flat_map(|fields| fields.keys())
        .find(|key| {
            let Some(text) = key.strip_prefix("k:") else { return false };
            let Ok(Value::Object(wanted)) = serde_json::from_str(text) else { return false };
            wanted.iter().all(|(name, value)| item.get(name) == Some(value))
        })
        .cloned()
}

fn walk<'f>(fields: &'f Fields, segments: &[String]) -> Option<&'f Fields> {
    segments.iter().try_fold(fields, |fields, segment| fields.get(segment)?.as_object())
}

fn contains(fields: &Fields, segments: &[String]) -> bool {
    segments.split_last().is_some_and(|(last, parent)| {
        walk(fields, parent).is_some_and(|fields| fields.contains_key(last))
    })
}
