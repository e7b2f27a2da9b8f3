//! Environment variables and their value sources.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::validation::{Errors, invalid_each, named, names, required_text};
use crate::value::{list, present, text};

const FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// Fields that field references know.
const KNOWN: &[&str] = &[
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
    "spec.host",
];

/// Fields that a downward API volume may contain.
pub(super) const VOLUME_FIELDS: &[&str] = &[
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];

const RESOURCES: &[&str] = &[
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// Validates `env`.
pub(super) fn variables(container: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    for (index, variable) in list(container, "env").iter().enumerate() {
        let path = path.index(index);
        let name = text(variable, "name");
        if name.is_empty() {
            errors.push(FieldError::required(&path.child("name"), ""));
        } else {
            errors.extend(named(names::environment_name, name, &path.child("name")));
        }
        errors.extend(value_from(variable, &path.child("valueFrom")));
    }
    errors
}

fn value_from(variable: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let Some(from) = variable.get("valueFrom").filter(|from| !from.is_null()) else {
        return errors;
    };
    let mut sources = 0;
    if let Some(reference) = from.get("fieldRef") {
        sources += 1;
        errors.extend(field_reference(reference, FIELDS, &path.child("fieldRef")));
    }
    if let Some(reference) = from.get("resourceFieldRef") {
        sources += 1;
        errors.extend(resource_reference(reference, false, &path.child("resourceFieldRef")));
    }
    for name in ["configMapKeyRef", "secretKeyRef"] {
        if let Some(reference) = from.get(name) {
            sources += 1;
            errors.extend(key_reference(reference, &path.child(name)));
        }
    }
    if present(from, "fileKeyRef") {
        sources += 1;
    }
    if sources == 0 {
        errors.push(FieldError::invalid(
            path,
            "",
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
        ));
    } else if !text(variable, "value").is_empty() {
        let detail = "may not be specified when `value` is not empty";
        errors.push(FieldError::invalid(path, "", detail));
    } else if sources > 1 {
        let detail = "may not have more than one field specified at a time";
        errors.push(FieldError::invalid(path, "", detail));
    }
    errors
}

/// Validates a reference to a field of the pod.
pub(super) fn field_reference(reference: &Value, fields: &[&str], path: &Path) -> Errors {
    for name in ["apiVersion", "fieldPath"] {
        if text(reference, name).is_empty() {
            return vec![FieldError::required(&path.child(name), "")];
        }
    }
    let field = text(reference, "fieldPath");
    let version = text(reference, "apiVersion");
    if version != "v1" {
        return vec![FieldError::invalid(
            &path.child("fieldPath"),
            field,
            format!("error converting fieldPath: unsupported pod version: {version}"),
        )];
    }
    if let Some((base, subscript)) = field.strip_suffix("']").and_then(|f| f.split_once("['")) {
        return match base {
            "metadata.annotations" => named(names::qualified_name, &subscript.to_lowercase(), path),
            "metadata.labels" => named(names::qualified_name, subscript, path),
            _ => vec![FieldError::invalid(
                &path.child("fieldPath"),
                field,
                format!(
                    "error converting fieldPath: field label does not support subscript: {base}"
                ),
            )],
        };
    }
    if !KNOWN.contains(&field) {
        return vec![FieldError::invalid(
            &path.child("fieldPath"),
            field,
            format!("error converting fieldPath: field label not supported: {field}"),
        )];
    }
    if !fields.contains(&field) {
        return vec![FieldError::not_supported(&path.child("fieldPath"), field, fields)];
    }
    Vec::new()
}

/// Validates a reference to a resource of a container.
pub(super) fn resource_reference(reference: &Value, volume: bool, path: &Path) -> Errors {
    let resource = text(reference, "resource");
    let huge = ["requests.hugepages-", "limits.hugepages-"]
        .iter()
        .any(|prefix| resource.starts_with(prefix));
    let mut errors = Vec::new();
    if volume && text(reference, "containerName").is_empty() {
        errors.push(FieldError::required(&path.child("containerName"), ""));
    } else if resource.is_empty() {
        errors.push(FieldError::required(&path.child("resource"), ""));
    } else if !RESOURCES.contains(&resource) && !huge {
        errors.push(FieldError::not_supported(&path.child("resource"), resource, RESOURCES));
    }
    errors.extend(divisor(resource, huge, text(reference, "divisor"), path));
    errors
}

fn divisor(resource: &str, huge: bool, divisor: &str, path: &Path) -> Errors {
    const SIZES: &[&str] =
        &["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];
    if divisor.is_empty() || divisor == "0" {
        return Vec::new();
    }
    let (good, what) = match resource {
        "limits.cpu" | "requests.cpu" => {
            if ["1m", "1"].contains(&divisor) {
                return Vec::new();
            }
            let detail = "only divisor's values 1m and 1 are supported with the cpu resource";
            return vec![FieldError::invalid(&path.child("divisor"), resource, detail)];
        }
        "limits.memory" | "requests.memory" => (SIZES.contains(&divisor), "memory"),
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => {
            (SIZES.contains(&divisor), "local ephemeral storage")
        }
        _ if huge => (SIZES.contains(&divisor), "hugepages"),
        _ => return Vec::new(),
    };
    if good {
        return Vec::new();
    }
    vec![FieldError::invalid(
        &path.child("divisor"),
        resource,
        format!(
            "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the {what} resource"
        ),
    )]
}

fn key_reference(reference: &Value, path: &Path) -> Errors {
    let mut errors = named(names::dns_subdomain, text(reference, "name"), &path.child("name"));
    let key = text(reference, "key");
    if key.is_empty() {
        errors.push(FieldError::required(&path.child("key"), ""));
    } else {
        errors.extend(named(names::config_key, key, &path.child("key")));
    }
    errors
}

/// Validates `envFrom`.
pub(super) fn sources(container: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    for (index, source) in list(container, "envFrom").iter().enumerate() {
        let item = path.index(index);
        let prefix = text(source, "prefix");
        if !prefix.is_empty() {
            errors.extend(named(names::environment_name, prefix, &item.child("prefix")));
        }
        let mut sources = 0;
        for name in ["configMapRef", "secretRef"] {
            if let Some(reference) = source.get(name) {
                sources += 1;
                let path = item.child(name);
                let missing = required_text(reference, "name", &path);
                if missing.is_empty() {
                    let name = text(reference, "name");
                    let wrong = names::by_rule(crate::kind::NameRule::Subdomain, name, true);
                    errors.extend(invalid_each(&path.child("name"), name, wrong));
                } else {
                    errors.extend(missing);
                }
            }
        }
        if sources == 0 {
            let detail = "must specify one of: `configMapRef` or `secretRef`";
            errors.push(FieldError::invalid(path, "", detail));
        } else if sources > 1 {
            let detail = "may not have more than one field specified at a time";
            errors.push(FieldError::invalid(path, "", detail));
        }
    }
    errors
}
