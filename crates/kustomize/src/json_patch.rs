//! JSON patches as kustomize applies them: the object becomes JSON, the operations are evanphx/json-patch's,
//! and what comes of them is read as a new object. Numbers are floats on the way, as in Go.

use serde_json::Value;
use sluice_schema::patch;
use sluice_yaml::{Duplicates, Node, SequenceIndent};

use crate::failure::{Failure, Result};

/// The operations of a patch.
#[derive(Debug, Clone)]
pub(crate) struct JsonPatch(Vec<Value>);

impl JsonPatch {
    /// Reads operations: JSON if the text starts as a list of it does, else the first document of YAML.
    pub(crate) fn parse(text: &[u8]) -> Result<Self> {
        let value = if text.starts_with(b"[") {
            serde_json::from_slice(text).map_err(|error| Failure::new(error.to_string()))?
        } else {
            sluice_yaml::to_json(text, Duplicates::LastWins)?.unwrap_or_default()
        };
        let wrong = |found: &Value, wanted: &str| {
            Failure::new(format!(
                "json: cannot unmarshal {} into Go value of type jsonpatch.{wanted}",
                go_kind(found)
            ))
        };
        let operations = match value {
            Value::Array(operations) => operations,
            Value::Null => Vec::new(),
            other => return Err(wrong(&other, "Patch")),
        };
        let odd = operations.iter().find(|one| !one.is_object() && !one.is_null());
        match odd {
            Some(odd) => Err(wrong(odd, "Operation")),
            None => Ok(Self(operations)),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Applies the operations to an object.
    pub(crate) fn apply(&self, object: &Node) -> Result<Node> {
        let patched = patch::json_patch(&object.marshal_json()?, &Value::Array(self.0.clone()))
            .map_err(|error| Failure::new(error.to_string()))?;
        match patched {
            Value::Object(_) | Value::Null => read(&floats(patched)),
            other => Err(Failure::new(format!(
                "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                go_kind(&other)
            ))),
        }
    }
}

/// An object written and read again, which decides how its texts are quoted.
fn read(value: &Value) -> Result<Node> {
    let text = match value {
        Value::Null => "{}\n".to_owned(),
        value => Node::from_json(value).to_yaml(SequenceIndent::Compact),
    };
    let documents = sluice_yaml::parse(text.as_bytes())?;
    Ok(documents.into_iter().next().map(|document| document.root).unwrap_or_default())
}

/// Numbers as they are after Go read them into an `interface{}`.
pub(crate) fn floats(value: Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().map_or(Value::Null, Value::from),
        Value::Array(items) => items.into_iter().map(floats).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name, floats(value))).collect()
        }
        other => other,
    }
}

fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
