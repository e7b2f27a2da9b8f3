//! JSON patches as kustomize applies them: the object is converted to JSON, patched as by evanphx/json-patch, and
//! parsed again. Numbers become floats on the way, as in Go.
//!
//! The operations are those of `sluice_schema`, because kustomize and the API server use the same library; the API
//! server has lower limits.

use serde_json::Value;
use sluice_schema::patch::json_patch_in_build;
use sluice_yaml::{Duplicates, Node, SequenceIndent, parse};

use crate::decode;
use crate::failure::{Failure, Result};

/// The operations of a patch.
#[derive(Debug, Clone)]
pub(crate) struct JsonPatch(Value);

impl JsonPatch {
    /// Parses operations: JSON if the text starts like a list, else the first YAML document.
    pub(crate) fn parse(text: &[u8]) -> Result<Self> {
        let operations = if text.starts_with(b"[") {
            serde_json::from_slice(text).map_err(|error| Failure::new(error.to_string()))?
        } else {
            sluice_yaml::to_json(text, Duplicates::LastWins)?.unwrap_or_default()
        };
        let wrong = |found: &Value, wanted: &str| {
            Failure::new(format!(
                "json: cannot unmarshal {} into Go value of type jsonpatch.{wanted}",
                decode::kind(found)
            ))
        };
        let odd = match &operations {
            Value::Array(operations) => {
                operations.iter().find(|one| !one.is_object() && !one.is_null())
            }
            Value::Null => None,
            other => return Err(wrong(other, "Patch")),
        };
        match odd {
            Some(odd) => Err(wrong(odd, "Operation")),
            None => Ok(Self(operations)),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_array().is_none_or(Vec::is_empty)
    }

    /// Applies the operations to an object.
    pub(crate) fn apply(&self, object: &Node) -> Result<Node> {
        let patched = json_patch_in_build(object.marshal_json()?, &self.0)
            .map_err(|error| Failure::new(error.to_string()))?;
        match patched {
            Value::Object(_) => Ok(Node::from_decoded_json(&patched)?),
            Value::Null => Ok(Node::mapping(Vec::new())),
            other => Err(Failure::new(format!(
                "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                decode::kind(&other)
            ))),
        }
    }
}

/// Applies a JSON patch to a document, like kustomize's filter.
pub fn json_patch_text(patch: &str, target: &str) -> std::result::Result<String, Failure> {
    let patch = JsonPatch::parse(patch.as_bytes())?;
    let mut documents = parse(target.as_bytes())?.into_iter();
    let root = documents.next().ok_or_else(|| Failure::new("EOF"))?.root;
    Ok(patch.apply(&root)?.to_yaml(SequenceIndent::Compact))
}

/// Numbers as Go decodes them into an `interface{}`.
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

#[cfg(test)]
mod tests {
    use super::{JsonPatch, json_patch_text};

    #[test]
    fn a_patch_is_json_or_yaml() {
        let target = "b: [1, 2] # gone\na: yes\n";
        for patch in [
            r#"[{"op": "add", "path": "/b/-", "value": 1000000}]"#,
            "- op: add\n  path: /b/-\n  value: 1000000\n",
        ] {
            let result = json_patch_text(patch, target).expect("it applies");
            assert_eq!(result, "a: \"yes\"\nb:\n- 1\n- 2\n- 1e+06\n");
        }
    }

    #[test]
    fn what_is_no_patch_is_refused() {
        for (text, message) in [
            ("a: b", "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
            ("- a", "json: cannot unmarshal string into Go value of type jsonpatch.Operation"),
        ] {
            assert_eq!(JsonPatch::parse(text.as_bytes()).unwrap_err().to_string(), message);
        }
        assert!(JsonPatch::parse(b"[").is_err());
        assert!(JsonPatch::parse(b"").is_ok_and(|patch| patch.is_empty()));
    }

    #[test]
    fn a_path_that_is_not_there_is_named() {
        let wrong = json_patch_text("- {op: remove, path: /x/y}", "a: 1").unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "remove operation does not apply: doc is missing path: \"/x/y\": missing value"
        );
    }
}
