//! Field validation of a patch's text before it is applied.

use serde_json::Value;

use super::PatchError;
use crate::gotypes::Document;

/// Upstream keeps no more complaints than this.
const MAX_COMPLAINTS: usize = 100;

/// Keys that occur twice in a merge patch or a strategic merge patch: `duplicate field "spec.a"`.
pub fn duplicate_fields(patch: &Document) -> Vec<String> {
    let mut complaints = Vec::new();
    duplicates(patch, &mut String::new(), &mut complaints);
    complaints
}

fn duplicates(document: &Document, path: &mut String, complaints: &mut Vec<String>) {
    match document {
        Document::Object(members) => {
            let mut seen = std::collections::BTreeSet::new();
            for (key, member) in members {
                let length = path.len();
                if length > 0 {
                    path.push('.');
                }
                path.push_str(key);
                if !seen.insert(key) {
                    complain(complaints, "duplicate field", path);
                }
                duplicates(member, path, complaints);
                path.truncate(length);
            }
        }
        Document::List(items) => {
            for (index, item) in items.iter().enumerate() {
                let length = path.len();
                path.push('[');
                path.push_str(&index.to_string());
                path.push(']');
                duplicates(item, path, complaints);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

/// What is wrong with the operations of a JSON patch: `json patch unknown field "[0].foo"`. The
/// error is that of a patch which is no list of operations.
pub fn json_patch_complaints(patch: &Document) -> Result<Vec<String>, PatchError> {
    let mismatch = |found: &Document, place: &str| {
        let found = kind_of(found);
        PatchError::Malformed(format!(
            "error decoding patch: json: cannot unmarshal {found} into Go {place}"
        ))
    };
    let items = match patch {
        Document::List(items) => items.as_slice(),
        Document::Null => &[],
        other => return Err(mismatch(other, "value of type []handlers.jsonPatchOp")),
    };
    let mut complaints = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let members = match item {
            Document::Object(members) => members.as_slice(),
            Document::Null => &[],
            other => return Err(mismatch(other, "value of type handlers.jsonPatchOp")),
        };
        let mut seen = Vec::new();
        for (key, member) in members {
            let path = format!("[{index}].{key}");
            match (key.as_str(), member) {
                ("op" | "path" | "from", Document::Text(_) | Document::Null) | ("value", _) => {
                    if seen.contains(&key) {
                        complain(&mut complaints, "duplicate field", &path);
                    }
                    seen.push(key);
                    duplicates(member, &mut path.clone(), &mut complaints);
                }
                ("op" | "path" | "from", other) => {
                    let place = format!("struct field jsonPatchOp.{key} of type string");
                    return Err(mismatch(other, &place));
                }
                _ => complain(&mut complaints, "unknown field", &path),
            }
        }
    }
    Ok(complaints.into_iter().map(|complaint| format!("json patch {complaint}")).collect())
}

fn complain(complaints: &mut Vec<String>, what: &str, path: &str) {
    let complaint = format!("{what} {}", sluice_base::go::quote(path));
    if complaints.len() < MAX_COMPLAINTS && !complaints.contains(&complaint) {
        complaints.push(complaint);
    }
}

/// The name of a JSON type in Go's decoder.
pub(super) fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn kind_of(document: &Document) -> &'static str {
    match document {
        Document::Null => "null",
        Document::Bool(_) => "bool",
        Document::Number(_) => "number",
        Document::Text(_) => "string",
        Document::List(_) => "array",
        Document::Object(_) => "object",
    }
}
