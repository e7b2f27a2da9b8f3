//! What webhooks and policies share: rules, match resources, match conditions.

use serde_json::{Value, json};
use sluice_schema::field::{FieldError, Path};

use crate::validation::{Errors, labels, named, names, one_of_or_unset};
use crate::value::{at, fill, fill_absent, list, list_mut, text, texts};

/// Defaults of rules with operations.
pub(super) fn rule_defaults(rules: &mut [Value]) {
    for rule in rules {
        fill_absent(rule, "scope", "*");
    }
}

/// Defaults of `matchConstraints` and `matchResources`.
pub(super) fn match_defaults(matches: &mut Value) {
    fill_absent(matches, "matchPolicy", "Equivalent");
    fill(matches, "namespaceSelector", json!({}));
    fill(matches, "objectSelector", json!({}));
    rule_defaults(list_mut(matches, "resourceRules"));
    rule_defaults(list_mut(matches, "excludeResourceRules"));
}

/// Validates a rule.
pub(super) fn rule(rule: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let operations = texts(rule, "operations");
    let place = path.child("operations");
    if operations.is_empty() {
        errors.push(FieldError::required(&place, ""));
    }
    let lone_star = |name: &str, what: &str, errors: &mut Errors| {
        let words = texts(rule, name);
        if words.len() > 1 && words.contains(&"*") {
            errors.push(FieldError::invalid(
                &path.child(name),
                at(rule, name).clone(),
                format!("if '*' is present, must not specify other {what}"),
            ));
        }
    };
    lone_star("operations", "operations", &mut errors);
    let known = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
    for (index, operation) in operations.into_iter().enumerate() {
        if !known.contains(&operation) {
            let place = place.index(index);
            errors.push(FieldError::not_supported(&place, operation, &known));
        }
    }
    for (name, what) in [("apiGroups", "API groups"), ("apiVersions", "API versions")] {
        if list(rule, name).is_empty() {
            errors.push(FieldError::required(&path.child(name), ""));
        }
        lone_star(name, what, &mut errors);
    }
    for (index, version) in texts(rule, "apiVersions").into_iter().enumerate() {
        if version.is_empty() {
            errors.push(FieldError::required(&path.child("apiVersions").index(index), ""));
        }
    }
    errors.extend(resources(rule, &path.child("resources")));
    errors.extend(one_of_or_unset(rule, "scope", &["*", "Cluster", "Namespaced"], path));
    errors
}

fn resources(rule: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let resources = texts(rule, "resources");
    if resources.is_empty() {
        errors.push(FieldError::required(path, ""));
    }
    let mut all_subresources_of = Vec::new();
    let mut subresource_of_all = Vec::new();
    let mut plain = false;
    for (index, name) in resources.iter().enumerate() {
        let path = path.index(index);
        if name.is_empty() {
            errors.push(FieldError::required(&path, ""));
            continue;
        }
        let Some((resource, subresource)) = name.split_once('/') else {
            plain = *name != "*";
            continue;
        };
        if all_subresources_of.contains(&resource) {
            let detail = format!("if '{resource}/*' is present, must not specify {name}");
            errors.push(FieldError::invalid(&path, *name, detail));
        }
        if subresource_of_all.contains(&subresource) {
            let detail = format!("if '*/{subresource}' is present, must not specify {name}");
            errors.push(FieldError::invalid(&path, *name, detail));
        }
        if subresource == "*" {
            all_subresources_of.push(resource);
        }
        if resource == "*" {
            subresource_of_all.push(subresource);
        }
    }
    let mut wrong = |detail: &str| {
        errors.push(FieldError::invalid(path, at(rule, "resources").clone(), detail));
    };
    if resources.len() > 1 && resources.contains(&"*/*") {
        wrong("if '*/*' is present, must not specify other resources");
    }
    if resources.contains(&"*") && plain {
        wrong("if '*' is present, must not specify other resources without subresources");
    }
    errors
}

/// Validates `matchConstraints` or `matchResources`.
pub(super) fn match_resources(matches: &Value, path: &Path) -> Errors {
    let mut errors = one_of_or_unset(matches, "matchPolicy", &["Equivalent", "Exact"], path);
    for name in ["namespaceSelector", "objectSelector"] {
        errors.extend(labels::selector(at(matches, name), &path.child(name)));
    }
    for name in ["resourceRules", "excludeResourceRules"] {
        for (index, rule) in list(matches, name).iter().enumerate() {
            let path = path.child(name).index(index);
            let resource_names = texts(rule, "resourceNames");
            for (index, name) in resource_names.iter().enumerate() {
                let path = path.child("resourceNames").index(index);
                errors.extend(named(names::path_segment, name, &path));
                if resource_names[..index].contains(name) {
                    errors.push(FieldError::duplicate(&path, *name));
                }
            }
            errors.extend(self::rule(rule, &path));
        }
    }
    errors
}

/// Validates match conditions, their expressions apart.
pub(super) fn match_conditions(holder: &Value, path: &Path) -> Errors {
    let conditions = list(holder, "matchConditions");
    let path = path.child("matchConditions");
    let mut errors = Vec::new();
    if conditions.len() > 64 {
        errors.push(FieldError::too_many(&path, conditions.len(), 64));
    }
    let mut seen = Vec::new();
    for (index, condition) in conditions.iter().enumerate() {
        let path = path.index(index);
        if text(condition, "expression").trim().is_empty() {
            errors.push(FieldError::required(&path.child("expression"), ""));
        }
        let name = text(condition, "name");
        if name.is_empty() {
            errors.push(FieldError::required(&path.child("name"), ""));
        } else {
            errors.extend(named(names::qualified_name, name, &path.child("name")));
            if seen.contains(&name) {
                errors.push(FieldError::duplicate(&path.child("name"), name));
            }
            seen.push(name);
        }
    }
    errors
}
