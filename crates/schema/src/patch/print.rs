//! Values that should have been of another type, as Go's messages print them.

use serde_json::Value;
use sluice_base::go::value;

/// The Go type of an unstructured value, as `%s` of its reflection prints it.
pub(super) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// What Go's `%s` makes of a value that should have been a string.
pub(super) fn go_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "%!s(<nil>)".to_owned(),
        other => format!("%!s({}={})", go_type(other), value::plain(other)),
    }
}
