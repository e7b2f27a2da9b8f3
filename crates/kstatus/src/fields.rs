//! Accessors for fields of any type, with the errors of Go's accessors.

use serde_json::Value;
use sluice_base::go;

/// A field has the wrong type; with Go's message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FieldError(pub(crate) String);

/// The kind of the object.
pub fn kind(object: &Value) -> &str {
    object.get("kind").and_then(Value::as_str).unwrap_or_default()
}

/// The API group of the object; empty if its version is invalid.
pub fn api_group(object: &Value) -> Option<&str> {
    let version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    match version.split_once('/') {
        None => Some(""),
        Some((group, rest)) if !rest.contains('/') => Some(group),
        Some(_) => None,
    }
}

/// The value at a path of field names; the error names the part where the path ends.
fn nested<'v>(object: &'v Value, path: &[&str]) -> Result<Option<&'v Value>, FieldError> {
    let mut value = object;
    for (depth, field) in path.iter().enumerate() {
        match value {
            Value::Null => return Ok(None),
            Value::Object(map) => match map.get(*field) {
                Some(found) => value = found,
                None => return Ok(None),
            },
            other => {
                let walked = path.get(..=depth).unwrap_or(path);
                return Err(unexpected(walked, other, "map[string]interface{}"));
            }
        }
    }
    Ok(Some(value))
}

fn unexpected(path: &[&str], found: &Value, wanted: &str) -> FieldError {
    FieldError(format!(
        ".{} accessor error: {} is of the type {}, expected {wanted}",
        path.join("."),
        Printed(found),
        go_type(found)
    ))
}

/// An optional string.
pub(crate) fn text<'v>(object: &'v Value, path: &[&str]) -> Result<Option<&'v str>, FieldError> {
    match nested(object, path)? {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(unexpected(path, other, "string")),
    }
}

/// An optional integer.
pub(crate) fn integer(object: &Value, path: &[&str]) -> Result<Option<i64>, FieldError> {
    match nested(object, path)? {
        None => Ok(None),
        Some(value) => value.as_i64().map(Some).ok_or_else(|| unexpected(path, value, "int64")),
    }
}

/// An optional list.
pub(crate) fn list<'v>(
    object: &'v Value,
    path: &[&str],
) -> Result<Option<&'v Vec<Value>>, FieldError> {
    match nested(object, path)? {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(other) => Err(unexpected(path, other, "[]interface{}")),
    }
}

/// The string at a pointer, or a default.
pub(crate) fn text_or<'v>(object: &'v Value, pointer: &str, default: &'v str) -> &'v str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or(default)
}

/// The integer at a pointer, or a default.
pub(crate) fn integer_or(object: &Value, pointer: &str, default: i64) -> i64 {
    object.pointer(pointer).and_then(Value::as_i64).unwrap_or(default)
}

/// A condition of an object's status; missing fields are empty.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ConditionFields<'v> {
    pub(crate) kind: &'v str,
    pub(crate) status: &'v str,
    pub(crate) reason: &'v str,
    pub(crate) message: &'v str,
}

impl ConditionFields<'_> {
    pub(crate) fn is(&self, kind: &str, status: &str) -> bool {
        self.kind == kind && self.status == status
    }
}

/// The conditions of an object's status, converted as Go's converter does.
pub(crate) fn conditions(object: &Value) -> Result<Vec<ConditionFields<'_>>, FieldError> {
    let status = match object.get("status") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(status)) => status,
        Some(other) => return Err(no_struct(other)),
    };
    let items = match status.get("conditions") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(items)) => items,
        Some(other) => {
            return Err(FieldError(format!("cannot restore slice from {}", go_kind(other))));
        }
    };
    items.iter().map(condition).collect()
}

fn condition(item: &Value) -> Result<ConditionFields<'_>, FieldError> {
    let fields = match item {
        Value::Null => return Ok(ConditionFields::default()),
        Value::Object(fields) => fields,
        other => return Err(no_struct(other)),
    };
    let text = |name: &str, go_type: &str| match fields.get(name) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text.as_str()),
        // Go could convert a number to the text of one character; its converter rejects that with this message.
        Some(Value::Number(number)) if number.as_i64().is_some() => {
            Err(FieldError(format!("cannot convert int64 to {go_type}")))
        }
        Some(_) => Err(FieldError("unrecognized type: string".to_owned())),
    };
    Ok(ConditionFields {
        kind: text("type", "string")?,
        status: text("status", "v1.ConditionStatus")?,
        reason: text("reason", "string")?,
        message: text("message", "string")?,
    })
}

fn no_struct(found: &Value) -> FieldError {
    FieldError(format!("cannot restore struct from: {}", go_kind(found)))
}

fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
        other => go_type(other),
    }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.as_i64().is_some() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A value as Go's `%v` prints it.
struct Printed<'v>(&'v Value);

impl std::fmt::Display for Printed<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Value::Null => f.write_str("<nil>"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (None, Some(float)) => f.write_str(&go::float::general(float)),
                _ => write!(f, "{number}"),
            },
            Value::String(text) => f.write_str(text),
            Value::Array(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    let gap = if index == 0 { "" } else { " " };
                    write!(f, "{gap}{}", Printed(item))?;
                }
                f.write_str("]")
            }
            Value::Object(map) => {
                f.write_str("map[")?;
                for (index, (key, value)) in map.iter().enumerate() {
                    let gap = if index == 0 { "" } else { " " };
                    write!(f, "{gap}{key}:{}", Printed(value))?;
                }
                f.write_str("]")
            }
        }
    }
}
