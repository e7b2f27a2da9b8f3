//! ConfigMap.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind};
use crate::validation::{Errors, named, names};
use crate::value::{at, entries, flag, same};

/// The limit of all values together, in bytes.
pub(super) const LIMIT: usize = 1024 * 1024;

/// Upstream's message for a change of an object with `immutable: true`.
pub(super) const FROZEN: &str = "field is immutable when `immutable` is set";

/// The hooks of ConfigMap.
pub(super) struct ConfigMap;

impl Kind for ConfigMap {
    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let mut errors = Vec::new();
        let mut size = 0;
        let binary = entries(object, "binaryData");
        for (key, value) in entries(object, "data") {
            let path = Path::new("data").key(key);
            errors.extend(named(names::config_key, key, &path));
            if binary.contains_key(key) {
                let detail = "duplicate of key present in binaryData";
                errors.push(FieldError::invalid(&path, key.as_str(), detail));
            }
            size += value.as_str().unwrap_or_default().len();
        }
        for (key, value) in binary {
            errors.extend(named(names::config_key, key, &Path::new("binaryData").key(key)));
            size += decoded_length(value);
        }
        if size > LIMIT {
            let mut error = FieldError::too_long(&Path::default(), LIMIT);
            error.field = String::new();
            errors.push(error);
        }
        errors
    }

    fn validate_update(&self, context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        let mut errors = frozen(object, old, &["data", "binaryData"]);
        errors.extend(self.validate(context, object));
        errors
    }
}

/// Validates a change of an immutable ConfigMap or Secret.
pub(super) fn frozen(object: &Value, old: &Value, fields: &[&str]) -> Errors {
    let mut errors = Vec::new();
    if flag(old, "immutable") {
        if !flag(object, "immutable") {
            errors.push(FieldError::forbidden(&Path::new("immutable"), FROZEN));
        }
        for field in fields {
            if !same(at(object, field), at(old, field)) {
                errors.push(FieldError::forbidden(&Path::new(field), FROZEN));
            }
        }
    }
    errors
}

/// The decoded length of a base64 text.
pub(super) fn decoded_length(value: &Value) -> usize {
    let text = value.as_str().unwrap_or_default();
    let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
    text.len() / 4 * 3 - padding.min(text.len() / 4 * 3)
}
