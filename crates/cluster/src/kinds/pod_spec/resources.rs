//! Resource names, quantities, requests and limits.

use std::cmp::Ordering;

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::validation::{Errors, named, names, quantity};
use crate::value::{entries, list, text};

const STANDARD: &[&str] = &[
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "requests.storage",
    "services.nodeports",
    "services.loadbalancers",
];

const WHOLE: &[&str] = &[
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && names::qualified_name(&format!("requests.{name}")).is_empty()
}

/// Validates the name of any resource.
pub(crate) fn resource_name(name: &str, path: &Path) -> Errors {
    let errors = named(names::qualified_name, name, path);
    let huge = is_huge_page(name) || name.starts_with("requests.hugepages-");
    if errors.is_empty() && !name.contains('/') && !STANDARD.contains(&name) && !huge {
        let detail = "must be a standard resource type or fully qualified";
        return vec![FieldError::invalid(path, name, detail)];
    }
    errors
}

/// Validates the name of a resource of a container.
pub(crate) fn container_resource_name(name: &str, path: &Path) -> Errors {
    let mut errors = resource_name(name, path);
    if !name.contains('/') {
        if !["cpu", "memory", "ephemeral-storage"].contains(&name) && !is_huge_page(name) {
            let detail = "must be a standard resource for containers";
            errors.push(FieldError::invalid(path, name, detail));
        }
    } else if !is_native(name) && !is_extended(name) {
        let detail = "doesn't follow extended resource name standard";
        errors.push(FieldError::invalid(path, name, detail));
    }
    errors
}

/// Validates the amount of a resource.
pub(crate) fn quantity_value(name: &str, amount: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    if quantity::nanos(amount).unwrap_or_default() < 0 {
        let detail = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(path, amount.clone(), detail));
    }
    if (WHOLE.contains(&name) || is_extended(name)) && !quantity::is_whole(amount) {
        errors.push(FieldError::invalid(path, amount.clone(), "must be an integer"));
    }
    errors
}

/// Validates the requests, limits and claims of a container.
pub(super) fn requirements(resources: &Value, claims: &[&str], path: &Path) -> Errors {
    let mut errors = Vec::new();
    let (limits_path, requests_path) = (path.child("limits"), path.child("requests"));
    let (limits, requests) = (entries(resources, "limits"), entries(resources, "requests"));
    for (name, amount) in limits {
        let path = limits_path.key(name);
        errors.extend(container_resource_name(name, &path));
        errors.extend(quantity_value(name, amount, &path));
    }
    for (name, amount) in requests {
        let path = requests_path.key(name);
        errors.extend(container_resource_name(name, &path));
        errors.extend(quantity_value(name, amount, &path));
        let overcommits = is_native(name) && !is_huge_page(name);
        let shown = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match limits.get(name).map(|limit| (quantity::compare(amount, limit), limit)) {
            Some((order, limit)) if order != Ordering::Equal && !overcommits => {
                let detail = format!("must be equal to {name} limit of {}", shown(limit));
                errors.push(FieldError::invalid(&requests_path, amount.clone(), detail));
            }
            Some((Ordering::Greater, limit)) => {
                let detail =
                    format!("must be less than or equal to {name} limit of {}", shown(limit));
                errors.push(FieldError::invalid(&requests_path, amount.clone(), detail));
            }
            None if !overcommits => errors.push(FieldError::required(
                &limits_path,
                "Limit must be set for non overcommitable resources",
            )),
            _ => {}
        }
    }
    let any = |rule: fn(&str) -> bool| limits.keys().chain(requests.keys()).any(|name| rule(name));
    if any(is_huge_page) && !any(|name| name == "cpu" || name == "memory") {
        errors.push(FieldError::forbidden(path, "HugePages require cpu or memory"));
    }
    errors.extend(claim_names(resources, claims, &path.child("claims")));
    errors
}

fn claim_names(resources: &Value, claims: &[&str], path: &Path) -> Errors {
    let mut errors = Vec::new();
    let mut seen = Vec::new();
    for (index, claim) in list(resources, "claims").iter().enumerate() {
        let path = path.index(index);
        let name = text(claim, "name");
        if name.is_empty() {
            errors.push(FieldError::required(&path, ""));
            continue;
        }
        let key = (name, text(claim, "request"));
        if seen.contains(&key) || seen.contains(&(name, "")) {
            errors.push(FieldError::duplicate(&path, name));
        } else {
            seen.push(key);
        }
        if !claims.contains(&name) {
            let mut error = FieldError::not_found(&path, name);
            error.detail = if claims.is_empty() {
                "must be one of the names in pod.spec.resourceClaims which is empty".to_owned()
            } else {
                format!(
                    "must be one of the names in pod.spec.resourceClaims: {}",
                    claims.join(", ")
                )
            };
            errors.push(error);
        }
    }
    errors
}
