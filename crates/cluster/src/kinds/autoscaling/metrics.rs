//! The metrics of an autoscaler.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use super::horizontal_pod_autoscaler::reference;
use crate::kinds::pod_spec::container_resource_name;
use crate::validation::{Errors, named, names, quantity};
use crate::value::{at, int, present, text};

const KINDS: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];
/// In upstream's order of validation.
const SOURCES: [&str; 5] = ["object", "external", "pods", "resource", "containerResource"];

/// Validates one metric.
pub(super) fn metric(metric: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let kind = text(metric, "type");
    if kind.is_empty() {
        let detail = "must specify a metric source type";
        errors.push(FieldError::required(&path.child("type"), detail));
    }
    if !KINDS.contains(&kind) {
        errors.push(FieldError::not_supported(&path.child("type"), kind, &KINDS));
    }
    let found: Vec<&str> = SOURCES.into_iter().filter(|name| present(metric, name)).collect();
    if let Some(first) = found.first() {
        errors.extend(source(first, at(metric, first), &path.child(first)));
    }
    let expected = SOURCES.into_iter().find(|name| name.eq_ignore_ascii_case(kind));
    match expected {
        Some(expected) if !present(metric, expected) => {
            let detail = "must populate information for the given metric source";
            errors.push(FieldError::required(&path.child(expected), detail));
        }
        Some(_) => {}
        None => errors.push(FieldError::not_supported(&path.child("type"), kind, &KINDS)),
    }
    if found.len() != 1 {
        for name in found.into_iter().filter(|name| Some(*name) != expected) {
            let detail = "must populate the given metric source only";
            errors.push(FieldError::forbidden(&path.child(name), detail));
        }
    }
    errors
}

fn source(kind: &str, source: &Value, path: &Path) -> Errors {
    let target = at(source, "target");
    let place = path.child("target");
    let mut errors = Vec::new();
    match kind {
        "object" => {
            errors.extend(reference(at(source, "describedObject"), &path.child("describedObject")));
            errors.extend(identifier(source, path));
        }
        "external" | "pods" => errors.extend(identifier(source, path)),
        "resource" if text(source, "name").is_empty() => {
            let detail = "must specify a resource name";
            errors.push(FieldError::required(&path.child("name"), detail));
        }
        "containerResource" => errors.extend(container_resource(source, path)),
        _ => {}
    }
    errors.extend(self::target(target, &place));
    let missing = |name: &str, detail: &str| FieldError::required(&place.child(name), detail);
    let (value, average) = (present(target, "value"), present(target, "averageValue"));
    let utilization = present(target, "averageUtilization");
    match kind {
        "object" if !value && !average => {
            errors.push(missing("averageValue", "must set either a target value or averageValue"));
        }
        "external" if !value && !average => errors.push(missing(
            "averageValue",
            "must set either a target value for metric or a per-pod target",
        )),
        "external" if value && average => {
            let detail = "may not set both a target value for metric and a per-pod target";
            errors.push(FieldError::forbidden(&place.child("value"), detail));
        }
        "pods" if !average => {
            errors.push(missing("averageValue", "must specify a positive target averageValue"));
        }
        "resource" | "containerResource" if !utilization && !average => errors.push(missing(
            "averageUtilization",
            "must set either a target raw value or a target utilization",
        )),
        "resource" | "containerResource" if utilization && average => {
            let detail = "may not set both a target raw value and a target utilization";
            errors.push(FieldError::forbidden(&place.child("averageValue"), detail));
        }
        _ => {}
    }
    errors
}

fn container_resource(source: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let (name, container) = (text(source, "name"), text(source, "container"));
    if name.is_empty() {
        let detail = "must specify a resource name";
        errors.push(FieldError::required(&path.child("name"), detail));
    } else {
        errors.extend(container_resource_name(name, &path.child("name")));
    }
    if container.is_empty() {
        errors.push(FieldError::required(&path.child("container"), "must specify a container"));
    } else {
        errors.extend(named(names::dns_label, container, &path.child("container")));
    }
    errors
}

fn identifier(source: &Value, path: &Path) -> Errors {
    let path = path.child("metric").child("name");
    match text(source, "metric.name") {
        "" => vec![FieldError::required(&path, "must specify a metric name")],
        name => named(names::path_segment, name, &path),
    }
}

fn target(target: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let kind = text(target, "type");
    if kind.is_empty() {
        let detail = "must specify a metric target type";
        errors.push(FieldError::required(&path.child("type"), detail));
    }
    if !["Utilization", "Value", "AverageValue"].contains(&kind) {
        let detail = "must be either Utilization, Value, or AverageValue";
        errors.push(FieldError::invalid(&path.child("type"), kind, detail));
    }
    for name in ["value", "averageValue"] {
        let amount = at(target, name);
        if quantity::nanos(amount).is_some_and(|amount| amount <= 0) {
            errors.push(FieldError::invalid(&path.child(name), amount.clone(), "must be positive"));
        }
    }
    if let Some(percent) = int(target, "averageUtilization").filter(|percent| *percent < 1) {
        let path = path.child("averageUtilization");
        errors.push(FieldError::invalid(&path, percent, "must be greater than 0"));
    }
    errors
}
