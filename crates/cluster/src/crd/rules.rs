//! CEL rules of CRD schemas, and their field errors.

use serde_json::Value;
use sluice_expr::kubernetes::{self, Reason, Shown, Violation};
use sluice_schema::field::{ErrorType, FieldError, Path};
use sluice_schema::structural::defaulting::DefaultValue;
use sluice_schema::structural::definition::Rules;

/// The CEL engine for the validation of definitions.
pub(crate) struct Cel;

impl Rules for Cel {
    fn check(&self, schema: &Value, path: &Path) -> Vec<FieldError> {
        kubernetes::refusals(schema, path.as_str()).into_iter().map(refused).collect()
    }

    fn check_default(&self, default: &DefaultValue<'_>) -> Vec<FieldError> {
        let rules = kubernetes::Rules::new(default.node, default.is_resource);
        let value = default.value;
        let mut found = rules.validate(value, Some(value)).errors;
        if found.is_empty() {
            // The default is also applied where there was no old value.
            found = rules.validate(value, None).errors;
        }
        found.iter().map(|violation| error(violation, default.path)).collect()
    }
}

/// The field error of an invalid rule. The engine prints the rule as Go does.
fn refused(refusal: kubernetes::Refusal) -> FieldError {
    let kind = match refusal.kind {
        "Required value" => ErrorType::Required,
        "Forbidden" => ErrorType::Forbidden,
        "Unsupported value" => ErrorType::NotSupported,
        "Internal error" => ErrorType::Internal,
        _ => ErrorType::Invalid,
    };
    let detail = if refusal.value.is_empty() {
        refusal.detail
    } else {
        format!("{}: {}", refusal.value, refusal.detail)
    };
    FieldError { kind, field: refusal.path, value: None, detail }
}

/// The field error of a violated rule, below `path`.
pub(super) fn error(violation: &Violation, path: &Path) -> FieldError {
    let kind = match violation.reason {
        Reason::Invalid => ErrorType::Invalid,
        Reason::Forbidden => ErrorType::Forbidden,
        Reason::Required => ErrorType::Required,
        Reason::Duplicate => ErrorType::Duplicate,
    };
    let below = violation.field();
    let field = match (below.as_str(), path == &Path::default()) {
        ("", _) => path.to_string(),
        (_, true) => below,
        (below, false) if below.starts_with('[') => format!("{path}{below}"),
        (below, false) => format!("{path}.{below}"),
    };
    let value = match &violation.value {
        Shown::Omitted => None,
        Shown::Value(value) => Some(value.clone()),
        Shown::Type(name) => Some(Value::String(name.clone())),
    };
    // A `Duplicate` error has no detail.
    let detail = if kind == ErrorType::Duplicate { "" } else { violation.message.as_str() };
    FieldError { kind, field, value, detail: detail.to_owned() }
}
