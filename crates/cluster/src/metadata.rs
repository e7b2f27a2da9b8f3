//! Accessors for `metadata`, for all verbs.

use serde_json::{Map, Value};

/// The metadata of an object; an empty map if it has none.
pub(crate) fn of(object: &Value) -> &Map<String, Value> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    object.get("metadata").and_then(Value::as_object).unwrap_or(&EMPTY)
}

/// The metadata of an object, made if it has none.
pub(crate) fn of_mut(object: &mut Value) -> &mut Map<String, Value> {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let metadata = &mut object["metadata"];
    if !metadata.is_object() {
        *metadata = Value::Object(Map::new());
    }
    metadata.as_object_mut().expect("it was made an object just above")
}

/// A string field of the metadata; empty if absent.
pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    of(object).get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The name.
pub(crate) fn name(object: &Value) -> &str {
    text(object, "name")
}

/// The namespace; empty for cluster-scoped objects.
pub(crate) fn namespace(object: &Value) -> &str {
    text(object, "namespace")
}

/// The uid.
pub(crate) fn uid(object: &Value) -> &str {
    text(object, "uid")
}

/// The finalizers.
pub(crate) fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    of(object)
        .get("finalizers")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// Whether deletion has begun.
pub(crate) fn is_terminating(object: &Value) -> bool {
    !text(object, "deletionTimestamp").is_empty()
}

/// A label or annotation.
pub(crate) fn entry<'a>(object: &'a Value, map: &str, key: &str) -> Option<&'a str> {
    of(object).get(map)?.get(key)?.as_str()
}

/// Sets a field, or removes it when the value is null.
pub(crate) fn set(object: &mut Value, field: &str, value: impl Into<Value>) {
    let value = value.into();
    let metadata = of_mut(object);
    if value.is_null() {
        metadata.remove(field);
    } else {
        metadata.insert(field.to_owned(), value);
    }
}

/// Sets a field to what it is in `source`.
pub(crate) fn copy(object: &mut Value, source: &Value, field: &str) {
    set(object, field, of(source).get(field).cloned().unwrap_or_default());
}
