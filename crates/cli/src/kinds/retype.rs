//! Objects as Flux's Go types write them: durations in Go's form, zero values left out unless required.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Fields with a pointer as their Go type, so that `false` differs from absent.
const POINTERS: &[&str] = &["persistentClient", "ignoreTestFailures", "remediateLastFailure"];

/// Fields with arbitrary content.
const FREE: &[&str] = &["values", "substitute", "matchLabels", "metadata", "labels", "annotations"];

/// An object, decoded and encoded as its type.
pub(super) fn as_go<T: Serialize + DeserializeOwned>(
    object: &Value,
) -> Result<Value, serde_json::Error> {
    let mut object = object.clone();
    for part in ["spec", "status"] {
        if let Some(part) = object.get_mut(part) {
            drop_zeros(part);
        }
    }
    // Required fields appear with their zero value, because the type always has them.
    serde_json::to_value(serde_json::from_value::<T>(object)?)
}

fn drop_zeros(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                if !FREE.contains(&name.as_str()) {
                    drop_zeros(field);
                }
            }
            *fields =
                std::mem::take(fields).into_iter().filter(says_something).collect::<Map<_, _>>();
        }
        Value::Array(items) => items.iter_mut().for_each(drop_zeros),
        _ => {}
    }
}

fn says_something((name, value): &(String, Value)) -> bool {
    match value {
        Value::Bool(false) => POINTERS.contains(&name.as_str()),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::Null => false,
        Value::Bool(true) | Value::Object(_) => true,
    }
}
