//! Fields of JSON objects by dotted path, with Go's zero values for absent ones. Keys that contain
//! dots (labels, data keys) go through [`entries`].

use std::sync::LazyLock;

use serde_json::{Map, Value};

static NULL: Value = Value::Null;
static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

/// The value at `path`, null if absent. The empty path is the value itself.
pub(crate) fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    if path.is_empty() {
        return value;
    }
    path.split('.').try_fold(value, |value, name| value.get(name)).unwrap_or(&NULL)
}

/// The string at `path`, empty if absent.
pub(crate) fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    at(value, path).as_str().unwrap_or_default()
}

/// The integer at `path`.
pub(crate) fn int(value: &Value, path: &str) -> Option<i64> {
    at(value, path).as_i64()
}

/// The integer at `path`, 0 if absent.
pub(crate) fn number(value: &Value, path: &str) -> i64 {
    int(value, path).unwrap_or_default()
}

/// Whether `path` holds `true`.
pub(crate) fn flag(value: &Value, path: &str) -> bool {
    at(value, path).as_bool().unwrap_or_default()
}

/// The items of the list at `path`, none if there is no list.
pub(crate) fn list<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    at(value, path).as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The strings of the list at `path`.
pub(crate) fn texts<'a>(value: &'a Value, path: &str) -> Vec<&'a str> {
    list(value, path).iter().map(|item| item.as_str().unwrap_or_default()).collect()
}

/// The entries of the map at `path`, none if there is no map.
pub(crate) fn entries<'a>(value: &'a Value, path: &str) -> &'a Map<String, Value> {
    at(value, path).as_object().unwrap_or(&EMPTY)
}

/// Whether the value at `path` is not null (a non-nil pointer).
pub(crate) fn present(value: &Value, path: &str) -> bool {
    !at(value, path).is_null()
}

/// Whether the value is Go's zero value of its type, or null.
pub(crate) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

/// The field at `path`, created (as null) with its parent objects if absent. `None` if a parent
/// exists and is not an object.
pub(crate) fn slot<'a>(value: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    let mut value = value;
    for name in path.split('.') {
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
        value = value.as_object_mut()?.entry(name).or_insert(Value::Null);
    }
    Some(value)
}

/// The field at `path` if it exists and is not null.
pub(crate) fn at_mut<'a>(value: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    path.split('.')
        .try_fold(value, |value, name| value.get_mut(name))
        .filter(|value| !value.is_null())
}

/// Sets the field at `path`.
pub(crate) fn set(value: &mut Value, path: &str, new: impl Into<Value>) {
    if let Some(slot) = slot(value, path) {
        *slot = new.into();
    }
}

/// Sets the field at `path` if it is null or an empty string.
pub(crate) fn fill(value: &mut Value, path: &str, new: impl Into<Value>) {
    if let Value::Null = at(value, path) {
        set(value, path, new);
    } else if text(value, path).is_empty() && at(value, path).is_string() {
        set(value, path, new);
    }
}

/// Sets the field at `path` if it is absent: a pointer to an empty string is a value.
pub(crate) fn fill_absent(value: &mut Value, path: &str, new: impl Into<Value>) {
    if !present(value, path) {
        set(value, path, new);
    }
}

/// Sets the field at `path` if it holds Go's zero value.
pub(crate) fn fill_zero(value: &mut Value, path: &str, new: impl Into<Value>) {
    if is_zero(at(value, path)) {
        set(value, path, new);
    }
}

/// Removes the field at `path`.
pub(crate) fn remove(value: &mut Value, path: &str) -> Option<Value> {
    let (parent, name) = match path.rsplit_once('.') {
        Some((parent, name)) => (at_mut(value, parent)?, name),
        None => (value, path),
    };
    parent.as_object_mut()?.remove(name)
}

/// The items of the list at `path`, mutable.
pub(crate) fn list_mut<'a>(value: &'a mut Value, path: &str) -> &'a mut [Value] {
    at_mut(value, path).and_then(Value::as_array_mut).map(Vec::as_mut_slice).unwrap_or_default()
}

/// Copies the field at `path` from `old` to `new`, or removes it if `old` has none.
pub(crate) fn restore(new: &mut Value, old: &Value, path: &str) {
    match at(old, path) {
        Value::Null => {
            remove(new, path);
        }
        value => set(new, path, value.clone()),
    }
}

/// Equality as `apiequality.Semantic.DeepEqual` has it: absent, null and empty collections are equal.
pub(crate) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            left.iter().all(|(name, value)| same(value, right.get(name).unwrap_or(&NULL)))
                && right.iter().all(|(name, value)| left.contains_key(name) || same(value, &NULL))
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Null, Value::Null) => true,
        (Value::Null, other) | (other, Value::Null) => match other {
            Value::Object(fields) => fields.is_empty(),
            Value::Array(items) => items.is_empty(),
            _ => false,
        },
        (left, right) => left == right,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn absent_fields_read_as_zero_values_and_are_made_on_write() {
        let mut object = json!({"spec": {"replicas": 0, "name": "", "items": ["a"]}});
        assert_eq!(text(&object, "spec.missing.deeper"), "");
        assert_eq!(int(&object, "spec.replicas"), Some(0));
        fill(&mut object, "spec.replicas", 1);
        fill(&mut object, "spec.name", "x");
        fill_zero(&mut object, "spec.period", 10);
        set(&mut object, "status.phase", "Active");
        set(&mut object, "spec.name.below.a.text", 1);
        assert_eq!(
            object,
            json!({"spec": {"replicas": 0, "name": "x", "items": ["a"], "period": 10}, "status": {"phase": "Active"}})
        );
    }

    #[test]
    fn null_absent_and_empty_collections_are_the_same() {
        let cases = [
            (json!({"a": []}), json!({}), true),
            (json!({"a": {}}), json!({"a": null}), true),
            (json!({"a": ""}), json!({}), false),
            (json!({"a": [1]}), json!({"a": [2]}), false),
        ];
        for (left, right, expected) in cases {
            assert_eq!(same(&left, &right), expected, "{left} {right}");
            assert_eq!(same(&right, &left), expected, "{right} {left}");
        }
    }
}
