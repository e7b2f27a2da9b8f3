//! JSON read with a schema: what the schema says decides the type.

use std::sync::Arc;

use serde_json::Value as Json;

use super::collection::{Items, Kind, List, Map};
use super::{EvalError, Outcome, Value};
use crate::schema::{ListType, Schema};
use crate::time;

/// The name of JSON's type as a Go program holds it.
fn go_type(json: &Json) -> &'static str {
    match json {
        Json::Null => "<nil>",
        Json::Bool(_) => "bool",
        Json::Number(number) if number.is_i64() => "int64",
        Json::Number(_) => "float64",
        Json::String(_) => "string",
        Json::Array(_) => "[]interface {}",
        Json::Object(_) => "map[string]interface {}",
    }
}

fn invalid<'v>(what: &str) -> Outcome<'v> {
    Err(EvalError::new(format!("invalid data, {what}")))
}

impl<'v> Value<'v> {
    /// The value of JSON that should fit `schema`; only the outermost layer is looked at.
    pub(crate) fn from_schema(json: &'v Json, schema: &'v Schema) -> Outcome<'v> {
        if json.is_null() {
            if schema.nullable {
                return Ok(Value::Null);
            }
            return invalid("got null for schema with nullable=false");
        }
        if schema.int_or_string {
            return match json {
                Json::String(text) => Ok(Value::from(text.as_str())),
                Json::Number(number) => match number.as_i64() {
                    Some(value) => Ok(Value::Int(value)),
                    None => int_or_string(),
                },
                _ => int_or_string(),
            };
        }
        match schema.kind.as_str() {
            "object" => match json {
                Json::Object(object) => Ok(Value::Map(Map::Typed(object, schema.view()))),
                _ => invalid("expected a map for the provided schema with type=object"),
            },
            "array" => array(json, schema),
            "string" => match json {
                Json::String(text) => string(text, &schema.format),
                other => invalid(&format!("expected string, got {}", go_type(other))),
            },
            "number" => match json {
                Json::Number(number) => Ok(Value::Double(number.as_f64().unwrap_or(f64::NAN))),
                other => invalid(&format!("expected float, got {}", go_type(other))),
            },
            "integer" => match json.as_i64() {
                Some(value) => Ok(Value::Int(value)),
                None => invalid(&format!("expected int, got {}", go_type(json))),
            },
            "boolean" => match json {
                Json::Bool(value) => Ok(Value::Bool(*value)),
                other => invalid(&format!("expected bool, got {}", go_type(other))),
            },
            _ if schema.preserve_unknown => Ok(Value::Preserved(json)),
            other => Err(EvalError::new(format!(
                "invalid type, expected object, array, number, integer, boolean or string, or no \
                 type with x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is \
                 true, got {other}"
            ))),
        }
    }
}

fn int_or_string<'v>() -> Outcome<'v> {
    invalid("expected XIntOrString value to be either a string or integer")
}

fn array<'v>(json: &'v Json, schema: &'v Schema) -> Outcome<'v> {
    let Json::Array(items) = json else {
        return invalid("expected an array for the provided schema with type=array");
    };
    let Some(element) = schema.items.as_deref() else {
        return Err(EvalError::new("invalid array type, expected Items with a non-empty Schema"));
    };
    let kind = match schema.list_type {
        ListType::Set => Kind::Set,
        ListType::Map => Kind::Keyed(&schema.list_map_keys),
        ListType::Atomic => Kind::Typed,
    };
    Ok(Value::List(List { items: Items::Typed(items, element), kind }))
}

fn string<'v>(text: &'v str, format: &str) -> Outcome<'v> {
    match format {
        "duration" => time::parse_schema_duration(text)
            .map(Value::Duration)
            .map_err(|error| EvalError::new(format!("Invalid duration {text}: {error}"))),
        "date" => time::parse_date(text)
            .map(Value::Timestamp)
            .map_err(|e| EvalError::new(format!("Invalid date formatted string {text}: {e}"))),
        "date-time" => time::parse_schema_datetime(text)
            .map(Value::Timestamp)
            .map_err(|e| EvalError::new(format!("Invalid date-time formatted string {text}: {e}"))),
        "byte" => crate::functions::encoders::decode_schema(text)
            .map(|bytes| Value::Bytes(Arc::from(bytes)))
            .map_err(|e| EvalError::new(format!("Invalid byte formatted string {text}: {e}"))),
        _ => Ok(Value::from(text)),
    }
}
