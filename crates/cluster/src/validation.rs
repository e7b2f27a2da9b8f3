//! Validation functions that several kinds share: names, labels, metadata, numbers.
//!
//! Message texts, fields and their order are upstream's. Go iterates maps in random order; here
//! keys are visited sorted.

use serde_json::Value;
use sluice_base::{go, gojson};
use sluice_schema::field::{ErrorType, FieldError, Path};

use crate::value::{at, number, same, text};

pub(crate) mod addresses;
pub(crate) mod labels;
pub(crate) mod metadata;
pub(crate) mod names;
pub(crate) mod quantity;

/// Upstream's message for a change of an immutable field.
pub(crate) const IMMUTABLE: &str = "field is immutable";

/// `must be between low and high, inclusive`.
pub(crate) fn range_message(low: i64, high: i64) -> String {
    format!("must be between {low} and {high}, inclusive")
}

/// An error if the value is negative.
pub(crate) fn non_negative(value: i64, path: &Path) -> Vec<FieldError> {
    if value < 0 {
        return vec![FieldError::invalid(path, value, "must be greater than or equal to 0")];
    }
    Vec::new()
}

/// An error if the value is zero or less.
pub(crate) fn positive(value: i64, path: &Path) -> Vec<FieldError> {
    if value <= 0 {
        return vec![FieldError::invalid(path, value, "must be greater than zero")];
    }
    Vec::new()
}

/// An error if the value is not a port number.
pub(crate) fn port_number(value: i64, path: &Path) -> Vec<FieldError> {
    if (1..=65535).contains(&value) {
        return Vec::new();
    }
    vec![FieldError::invalid(path, value, range_message(1, 65535))]
}

/// An error if the value changed.
pub(crate) fn immutable(new: &Value, old: &Value, path: &Path) -> Vec<FieldError> {
    if same(new, old) {
        return Vec::new();
    }
    vec![FieldError::invalid(path, new.clone(), IMMUTABLE)]
}

/// An error if the string `name` changed; absent equals empty.
pub(crate) fn immutable_text(new: &Value, old: &Value, name: &str, path: &Path) -> Errors {
    let (new, old) = (text(new, name), text(old, name));
    immutable(&new.into(), &old.into(), path)
}

/// An `Invalid` error with the value printed as given: Go prints structs in declaration order, which
/// a JSON value does not keep.
pub(crate) fn invalid_raw(path: &Path, printed: &str, detail: &str) -> FieldError {
    FieldError {
        kind: ErrorType::Invalid,
        field: path.to_string(),
        value: None,
        detail: format!("{printed}: {detail}"),
    }
}

/// One `Invalid` error per message.
pub(crate) fn invalid_each(path: &Path, value: &str, messages: Vec<String>) -> Vec<FieldError> {
    messages.into_iter().map(|message| FieldError::invalid(path, value, message)).collect()
}

/// The object as Go prints a struct with fields declared in the order `names`; absent fields and
/// fields that are not in `names` are left out.
pub(crate) fn in_order(value: &Value, names: &[&str]) -> String {
    let mut out = String::from("{");
    for name in names {
        if let Some(field) = value.get(name) {
            if out.len() > 1 {
                out.push(',');
            }
            out.push_str(&go::quote(name));
            out.push(':');
            gojson::write(&mut out, field);
        }
    }
    out.push('}');
    out
}

/// Validation errors.
pub(crate) type Errors = Vec<FieldError>;

/// A `Required` error if the string `name` of `value` is empty.
pub(crate) fn required_text(value: &Value, name: &str, path: &Path) -> Errors {
    if text(value, name).is_empty() {
        return vec![FieldError::required(&path.child(name), "")];
    }
    Vec::new()
}

/// An error if the string `name` of `value` is empty (`Required`) or not in `allowed`.
pub(crate) fn one_of(value: &Value, name: &str, allowed: &[&str], path: &Path) -> Errors {
    match text(value, name) {
        "" => vec![FieldError::required(&path.child(name), "")],
        _ => one_of_or_unset(value, name, allowed, path),
    }
}

/// An error if the string `name` of `value` is set and not in `allowed`.
pub(crate) fn one_of_or_unset(value: &Value, name: &str, allowed: &[&str], path: &Path) -> Errors {
    match at(value, name).as_str() {
        Some(word) if !allowed.contains(&word) => {
            vec![FieldError::not_supported(&path.child(name), word, allowed)]
        }
        _ => Vec::new(),
    }
}

/// Validates a string by a rule of [`names`].
pub(crate) fn named(rule: fn(&str) -> Vec<String>, name: &str, path: &Path) -> Errors {
    invalid_each(path, name, rule(name))
}

/// An error for each integer field of `names` that is negative.
pub(crate) fn non_negative_fields(value: &Value, names: &[&str], path: &Path) -> Errors {
    names.iter().flat_map(|name| non_negative(number(value, name), &path.child(name))).collect()
}
