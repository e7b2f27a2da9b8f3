//! Labels and label selectors.

use serde_json::Value;
use sluice_base::labels::Selector;
use sluice_schema::field::{FieldError, Path};

use super::names;
use crate::value::{at, entries, text, texts};

/// Validates a set of labels.
pub(crate) fn labels(labels: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in entries(labels, "") {
        errors.extend(label_name(key, path));
        let value = value.as_str().unwrap_or_default();
        errors.extend(super::invalid_each(path, value, names::label_value(value)));
    }
    errors
}

/// Validates a label key.
pub(crate) fn label_name(name: &str, path: &Path) -> Vec<FieldError> {
    super::invalid_each(path, name, names::qualified_name(name))
}

/// Validates a label selector; null selects nothing and is fine.
pub(crate) fn selector(selector: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = labels(at(selector, "matchLabels"), &path.child("matchLabels"));
    let requirements = path.child("matchExpressions");
    for (index, requirement) in crate::value::list(selector, "matchExpressions").iter().enumerate()
    {
        errors.extend(self::requirement(requirement, &requirements.index(index)));
    }
    errors
}

/// Validates one requirement of a selector.
pub(crate) fn requirement(requirement: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let values = texts(requirement, "values");
    match text(requirement, "operator") {
        "In" | "NotIn" => {
            if values.is_empty() {
                let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.push(FieldError::required(&path.child("values"), detail));
            }
        }
        "Exists" | "DoesNotExist" => {
            if !values.is_empty() {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(FieldError::forbidden(&path.child("values"), detail));
            }
        }
        other => errors.push(FieldError::invalid(
            &path.child("operator"),
            other,
            "not a valid selector operator",
        )),
    }
    errors.extend(label_name(text(requirement, "key"), &path.child("key")));
    for (index, value) in values.into_iter().enumerate() {
        let path = path.child("values").index(index);
        errors.extend(super::invalid_each(&path, value, names::label_value(value)));
    }
    errors
}

/// Whether a selector has neither labels nor expressions.
pub(crate) fn is_empty(selector: &Value) -> bool {
    entries(selector, "matchLabels").is_empty()
        && crate::value::list(selector, "matchExpressions").is_empty()
}

/// Whether a label selector selects a set of labels. An empty selector and none select everything.
pub(crate) fn selects(selector: &Value, labels: &Value) -> bool {
    match Selector::from_object(selector) {
        Ok(Some(selector)) => selector.matches(|key| labels.get(key).and_then(Value::as_str)),
        Ok(None) => true,
        Err(_) => false,
    }
}

/// A selector as Go prints it.
pub(crate) fn print(selector: &Value) -> String {
    super::in_order(selector, &["matchLabels", "matchExpressions"])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_are_checked_and_applied() {
        let bad = json!({"matchExpressions": [
            {"key": "a", "operator": "In"},
            {"key": "b", "operator": "Exists", "values": ["x"]},
            {"key": "c", "operator": "Near"},
        ]});
        let messages: Vec<_> =
            selector(&bad, &Path::new("s")).iter().map(ToString::to_string).collect();
        assert_eq!(
            messages,
            [
                "s.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
                "s.matchExpressions[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                r#"s.matchExpressions[2].operator: Invalid value: "Near": not a valid selector operator"#,
            ]
        );
        let good = json!({"matchLabels": {"app": "x"}, "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["y"]}]});
        assert!(selects(&good, &json!({"app": "x"})));
        assert!(!selects(&good, &json!({"app": "x", "tier": "y"})));
    }
}
