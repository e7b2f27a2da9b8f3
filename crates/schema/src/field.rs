//! Paths and field errors with upstream's messages (`k8s.io/apimachinery/pkg/util/validation/field`).
//!
//! Validation returns a list of [`FieldError`]s; the API server turns the list into one Status with a
//! cause per error. Messages are observable: clients and controllers match on them.

use std::fmt;

use serde_json::Value;
use sluice_base::{go, gojson};

/// A path into an object: `spec.containers[0].name`, `metadata.labels[app]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Path(String);

impl Path {
    /// A path that starts at `name`. [`Path::default`] is the object itself.
    pub fn new(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// The field `name` below this path.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        if self.0.is_empty() { Self::new(name) } else { Self(format!("{}.{name}", self.0)) }
    }

    /// The list item at `index` below this path.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// The map entry `key` below this path.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }

    /// The path as upstream prints it; the object itself is `<nil>`.
    pub fn as_str(&self) -> &str {
        if self.0.is_empty() { "<nil>" } else { &self.0 }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What is wrong with a field; the name is the `reason` of the Status cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorType {
    /// A reference leads nowhere.
    NotFound,
    /// A required value is missing or empty.
    Required,
    /// A value that must be unique occurs twice.
    Duplicate,
    /// A malformed value.
    Invalid,
    /// A value outside the enumeration.
    NotSupported,
    /// A value that is not allowed here and now.
    Forbidden,
    /// A value that is too long.
    TooLong,
    /// A list with too many items.
    TooMany,
    /// Something went wrong that is not the user's fault.
    Internal,
    /// A value of the wrong type.
    TypeInvalid,
}

impl ErrorType {
    /// The machine-readable reason, as in `status.details.causes[].reason`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::Internal => "InternalError",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::Internal => "Internal error",
        }
    }
}

/// One thing wrong with one field.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldError {
    /// What kind of wrong.
    pub kind: ErrorType,
    /// Where, in upstream's notation.
    pub field: String,
    /// The offending value; `None` where upstream omits it.
    pub value: Option<Value>,
    /// The detail, possibly empty.
    pub detail: String,
}

impl FieldError {
    fn new(kind: ErrorType, field: &Path, value: Option<Value>, detail: impl Into<String>) -> Self {
        Self { kind, field: field.to_string(), value, detail: detail.into() }
    }

    /// A malformed value.
    pub fn invalid(field: &Path, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Invalid, field, Some(value.into()), detail)
    }

    /// A value of the wrong type.
    pub fn type_invalid(field: &Path, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::TypeInvalid, field, Some(value.into()), detail)
    }

    /// A missing value.
    pub fn required(field: &Path, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Required, field, None, detail)
    }

    /// A value that occurs twice.
    pub fn duplicate(field: &Path, value: impl Into<Value>) -> Self {
        Self::new(ErrorType::Duplicate, field, Some(value.into()), "")
    }

    /// A reference that leads nowhere.
    pub fn not_found(field: &Path, value: impl Into<Value>) -> Self {
        Self::new(ErrorType::NotFound, field, Some(value.into()), "")
    }

    /// A value outside an enumeration; `supported` is listed in the given order (upstream sorts it
    /// in most callers, so most callers pass it sorted).
    pub fn not_supported(field: &Path, value: impl Into<Value>, supported: &[&str]) -> Self {
        let detail = if supported.is_empty() {
            String::new()
        } else {
            let list: Vec<_> = supported.iter().map(|word| go::quote(word)).collect();
            format!("supported values: {}", list.join(", "))
        };
        Self::new(ErrorType::NotSupported, field, Some(value.into()), detail)
    }

    /// A value that is not allowed here and now.
    pub fn forbidden(field: &Path, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Forbidden, field, None, detail)
    }

    /// A text longer than `limit` bytes.
    pub fn too_long(field: &Path, limit: usize) -> Self {
        let unit = if limit == 1 { "byte" } else { "bytes" };
        Self::new(ErrorType::TooLong, field, None, format!("may not be more than {limit} {unit}"))
    }

    /// A list of more than `limit` items.
    pub fn too_many(field: &Path, actual: usize, limit: usize) -> Self {
        let unit = if limit == 1 { "item" } else { "items" };
        let detail = format!("must have at most {limit} {unit}");
        Self::new(ErrorType::TooMany, field, Some(actual.into()), detail)
    }

    /// A fault of the server.
    pub fn internal(field: &Path, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Internal, field, None, detail)
    }

    /// The message without the field, as in `status.details.causes[].message`.
    pub fn body(&self) -> String {
        let mut out = self.kind.words().to_owned();
        let shows_value = !matches!(
            self.kind,
            ErrorType::Required | ErrorType::Forbidden | ErrorType::TooLong | ErrorType::Internal
        );
        if shows_value && let Some(value) = &self.value {
            out.push_str(": ");
            match value {
                Value::String(text) => out.push_str(&go::quote(text)),
                Value::Number(number) if number.is_f64() => {
                    out.push_str(&go::float::general(number.as_f64().unwrap_or_default()));
                }
                other => out.push_str(&gojson::to_string(other)),
            }
        }
        if !self.detail.is_empty() {
            out.push_str(": ");
            out.push_str(&self.detail);
        }
        out
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

/// The errors joined as `utilerrors.NewAggregate` prints them: one bare, several in brackets,
/// repeated messages once.
pub fn aggregate(errors: &[FieldError]) -> String {
    let mut seen: Vec<String> = Vec::new();
    for error in errors {
        let text = error.to_string();
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    match seen.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_upstreams() {
        let path = Path::new("spec").child("ports").index(0).child("port");
        let cases = [
            (
                FieldError::invalid(&path, 0, "must be between 1 and 65535, inclusive"),
                "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
            ),
            (FieldError::required(&path, ""), "spec.ports[0].port: Required value"),
            (
                FieldError::not_supported(&Path::new("type"), "X", &["A", "B"]),
                r#"type: Unsupported value: "X": supported values: "A", "B""#,
            ),
            (
                FieldError::too_long(&Path::new("a"), 63),
                "a: Too long: may not be more than 63 bytes",
            ),
            (
                FieldError::too_many(&Path::new("a"), 3, 1),
                "a: Too many: 3: must have at most 1 item",
            ),
        ];
        for (error, expected) in cases {
            assert_eq!(error.to_string(), expected);
        }
    }
}
