//! Validation that all workload kinds share: selectors, templates, rollout parameters, replica counts.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::kind::Kind;
use crate::kinds::pod_spec;
use crate::validation::{
    Errors, IMMUTABLE, invalid_raw, labels, names, non_negative, non_negative_fields,
};
use crate::value::{at, int, number, present, same, text};

/// An error for a template with labels that the selector does not match.
pub(crate) fn labels_do_not_match(labels: &Value, template: &Path) -> FieldError {
    let path = template.child("metadata").child("labels");
    FieldError::invalid(&path, labels.clone(), "`selector` does not match template `labels`")
}

/// Requires `restartPolicy: Always` and no deadline.
pub(crate) fn long_running(template: &Value, kind: &str, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let path = path.child("spec");
    let policy = text(template, "spec.restartPolicy");
    if policy != "Always" {
        let path = path.child("restartPolicy");
        errors.push(FieldError::not_supported(&path, policy, &["Always"]));
    }
    if present(template, "spec.activeDeadlineSeconds") {
        errors.push(FieldError::forbidden(
            &path.child("activeDeadlineSeconds"),
            format!("activeDeadlineSeconds in {kind} is not Supported"),
        ));
    }
    errors
}

/// Validates a required selector.
pub(super) fn required_selector(spec: &Value, kind: &str, path: &Path) -> Errors {
    let place = path.child("selector");
    let selector = at(spec, "selector");
    if selector.is_null() {
        return vec![FieldError::required(&place, "")];
    }
    let mut errors = labels::selector(selector, &place);
    if labels::is_empty(selector) {
        let detail = format!("empty selector is invalid for {kind}");
        errors.push(invalid_raw(&place, &labels::print(selector), &detail));
    }
    errors
}

/// Whether the selector, if it is valid, matches the template's labels. No selector matches nothing;
/// `None` for an empty one.
pub(super) fn selects_template(spec: &Value) -> Option<bool> {
    let selector = at(spec, "selector");
    if selector.is_null() {
        return Some(false);
    }
    if !labels::selector(selector, &Path::default()).is_empty() {
        return None;
    }
    Some(labels::selects(selector, at(spec, "template.metadata.labels")))
}

/// Validates the selector and template of a Deployment or ReplicaSet.
pub(super) fn selector_and_template(spec: &Value, path: &Path) -> Errors {
    let mut errors = required_selector(spec, "deployment", path);
    let place = path.child("template");
    let template = at(spec, "template");
    match selects_template(spec) {
        None => errors.push(invalid_raw(
            &path.child("selector"),
            &labels::print(at(spec, "selector")),
            "invalid label selector",
        )),
        Some(selects) => {
            if !selects {
                errors.push(labels_do_not_match(at(template, "metadata.labels"), &place));
            }
            errors.extend(pod_spec::validate_template(template, &place));
            errors.extend(long_running(template, "ReplicaSet", &place));
        }
    }
    errors
}

/// Requires an unchanged selector.
pub(crate) fn immutable_selector(object: &Value, old: &Value) -> Errors {
    let (new, old) = (at(object, "spec.selector"), at(old, "spec.selector"));
    if same(new, old) {
        return Vec::new();
    }
    let path = Path::new("spec").child("selector");
    if new.is_null() {
        return vec![FieldError::invalid(&path, Value::Null, IMMUTABLE)];
    }
    vec![invalid_raw(&path, &labels::print(new), IMMUTABLE)]
}

/// Validates a number or percentage.
pub(crate) fn number_or_percent(value: &Value, path: &Path) -> Errors {
    match value.as_str() {
        Some(percent) => names::percent(percent)
            .into_iter()
            .map(|message| FieldError::invalid(path, percent, message))
            .collect(),
        None => non_negative(value.as_i64().unwrap_or_default(), path),
    }
}

/// The number of a number or percentage, 0 if it is neither.
pub(crate) fn plain_number(value: &Value) -> i64 {
    match value.as_str() {
        Some(percent) => percent.trim_end_matches('%').parse().unwrap_or_default(),
        None => value.as_i64().unwrap_or_default(),
    }
}

/// An error for more than 100 %.
pub(crate) fn at_most_all(value: &Value, path: &Path) -> Errors {
    let is_percent = value.as_str().is_some_and(|percent| names::percent(percent).is_empty());
    if is_percent && plain_number(value) > 100 {
        return vec![FieldError::invalid(path, value.clone(), "must not be greater than 100%")];
    }
    Vec::new()
}

/// Validates the counts of a status: none negative, none above `replicas`, no more available than
/// ready.
pub(crate) fn replica_counts(
    object: &Value,
    counts: &[&str],
    others: &[&str],
    ready: &str,
) -> Errors {
    let path = Path::new("status");
    let status = at(object, "status");
    let mut errors = non_negative_fields(status, &["replicas"], &path);
    errors.extend(non_negative_fields(status, counts, &path));
    errors.extend(non_negative_fields(status, others, &path));
    for name in counts.iter().filter(|name| **name != "unavailableReplicas") {
        let count = number(status, name);
        if count > number(status, "replicas") {
            let detail = "cannot be greater than status.replicas";
            errors.push(FieldError::invalid(&path.child(name), count, detail));
        }
    }
    let available = number(status, "availableReplicas");
    if available > number(status, "readyReplicas") {
        let detail = format!("cannot be greater than {ready}");
        errors.push(FieldError::invalid(&path.child("availableReplicas"), available, detail));
    }
    errors
}

/// Requires a collision count that does not decrease.
pub(super) fn collision_count(object: &Value, old: &Value) -> Errors {
    let name = "status.collisionCount";
    let now = int(object, name);
    match int(old, name) {
        Some(before) if now.unwrap_or_default() < before => vec![FieldError::invalid(
            &Path::new("status").child("collisionCount"),
            now.unwrap_or_default(),
            "cannot be decremented",
        )],
        _ => Vec::new(),
    }
}

/// Warnings of a workload: its name becomes part of host names, its template is a pod's.
pub(crate) fn warnings(
    kind: &dyn Kind,
    object: &Value,
    old: Option<&Value>,
    names_pods: bool,
) -> Vec<String> {
    let path = Path::new("spec").child("template");
    let template = at(object, "spec.template");
    match old {
        Some(old) if !kind.changes_generation(object, old) => Vec::new(),
        Some(_) => pod_spec::template_warnings(template, &path),
        None => {
            let mut warnings = if names_pods { name_warning(object) } else { Vec::new() };
            warnings.extend(pod_spec::template_warnings(template, &path));
            warnings
        }
    }
}

/// The warning for a name that is not a valid host name.
pub(crate) fn name_warning(object: &Value) -> Vec<String> {
    let wrong = names::dns_label(text(object, "metadata.name"));
    if wrong.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [{}]",
        wrong.join(" ")
    )]
}
