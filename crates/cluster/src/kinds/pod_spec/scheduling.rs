//! Scheduling fields: affinity, tolerations, topology spread, gates.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::validation::{Errors, labels, named, names, one_of_or_unset, positive};
use crate::value::{at, entries, int, list, number, present, text, texts};

/// Validates affinities.
pub(super) fn affinity(affinity: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let node = at(affinity, "nodeAffinity");
    let node_path = path.child("nodeAffinity");
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    if present(node, required) {
        errors.extend(node_selector(at(node, required), &node_path.child(required)));
    }
    for (index, term) in list(node, preferred).iter().enumerate() {
        let path = node_path.child(preferred).index(index);
        errors.extend(weight(term, &path));
        let term = at(term, "preference");
        errors.extend(node_selector_term(term, false, &path.child("preference")));
    }
    for field in ["podAffinity", "podAntiAffinity"] {
        let path = path.child(field);
        let pod = at(affinity, field);
        for (index, term) in list(pod, required).iter().enumerate() {
            errors.extend(pod_term(term, &path.child(required).index(index)));
        }
        for (index, term) in list(pod, preferred).iter().enumerate() {
            let path = path.child(preferred).index(index);
            errors.extend(weight(term, &path));
            errors.extend(pod_term(at(term, "podAffinityTerm"), &path.child("podAffinityTerm")));
        }
    }
    errors
}

fn weight(term: &Value, path: &Path) -> Errors {
    let weight = number(term, "weight");
    if (1..=100).contains(&weight) {
        return Vec::new();
    }
    vec![FieldError::invalid(&path.child("weight"), weight, "must be in the range 1-100")]
}

/// Validates a node selector.
pub(crate) fn node_selector(selector: &Value, path: &Path) -> Errors {
    let path = path.child("nodeSelectorTerms");
    let terms = list(selector, "nodeSelectorTerms");
    if terms.is_empty() {
        return vec![FieldError::required(&path, "must have at least one node selector term")];
    }
    terms
        .iter()
        .enumerate()
        .flat_map(|(index, term)| node_selector_term(term, true, &path.index(index)))
        .collect()
}

fn node_selector_term(term: &Value, check_values: bool, path: &Path) -> Errors {
    let mut errors = Vec::new();
    for (index, requirement) in list(term, "matchExpressions").iter().enumerate() {
        let path = path.child("matchExpressions").index(index);
        let values = texts(requirement, "values");
        let place = path.child("values");
        match text(requirement, "operator") {
            "In" | "NotIn" if values.is_empty() => errors.push(FieldError::required(
                &place,
                "must be specified when `operator` is 'In' or 'NotIn'",
            )),
            "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(FieldError::forbidden(
                &place,
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            )),
            "Gt" | "Lt" if values.len() != 1 => errors.push(FieldError::required(
                &place,
                "must be specified single value when `operator` is 'Lt' or 'Gt'",
            )),
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            other => errors.push(FieldError::invalid(
                &path.child("operator"),
                other,
                "not a valid selector operator",
            )),
        }
        errors.extend(labels::label_name(text(requirement, "key"), &path.child("key")));
        if check_values {
            for (index, value) in values.into_iter().enumerate() {
                errors.extend(named(names::label_value, value, &place.index(index)));
            }
        }
    }
    for (index, requirement) in list(term, "matchFields").iter().enumerate() {
        let path = path.child("matchFields").index(index);
        let values = texts(requirement, "values");
        match text(requirement, "operator") {
            "In" | "NotIn" if values.len() != 1 => errors.push(FieldError::required(
                &path.child("values"),
                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
            )),
            "In" | "NotIn" => {}
            other => errors.push(FieldError::invalid(
                &path.child("operator"),
                other,
                "not a valid selector operator",
            )),
        }
        let key = text(requirement, "key");
        if key == "metadata.name" {
            for (index, value) in values.into_iter().enumerate() {
                let path = path.child("values").index(index);
                errors.extend(named(names::dns_subdomain, value, &path));
            }
        } else {
            let detail = "not a valid field selector key";
            errors.push(FieldError::invalid(&path.child("key"), key, detail));
        }
    }
    errors
}

fn pod_term(term: &Value, path: &Path) -> Errors {
    let selector = at(term, "labelSelector");
    let mut errors = labels::selector(selector, &path.child("labelSelector"));
    errors
        .extend(labels::selector(at(term, "namespaceSelector"), &path.child("namespaceSelector")));
    for namespace in texts(term, "namespaces") {
        errors.extend(named(names::dns_label, namespace, &path.child("namespace")));
    }
    for field in ["matchLabelKeys", "mismatchLabelKeys"] {
        errors.extend(label_keys(term, field, path));
    }
    errors.extend(repeated_keys(term, path));
    for (index, key) in texts(term, "matchLabelKeys").into_iter().enumerate() {
        if texts(term, "mismatchLabelKeys").contains(&key) {
            errors.push(FieldError::invalid(
                &path.child("matchLabelKeys").index(index),
                key,
                "exists in both matchLabelKeys and mismatchLabelKeys",
            ));
        }
    }
    let key = text(term, "topologyKey");
    if key.is_empty() {
        errors.push(FieldError::required(&path.child("topologyKey"), "can not be empty"));
    }
    errors.extend(labels::label_name(key, &path.child("topologyKey")));
    errors
}

fn label_keys(term: &Value, field: &str, path: &Path) -> Errors {
    let keys = texts(term, field);
    let path = path.child(field);
    let mut errors = Vec::new();
    if !keys.is_empty() && !present(term, "labelSelector") {
        let detail = "must not be specified when labelSelector is not set";
        errors.push(FieldError::forbidden(&path, detail));
    }
    for (index, key) in keys.into_iter().enumerate() {
        errors.extend(labels::label_name(key, &path.index(index)));
    }
    errors
}

/// Errors for keys of `matchLabelKeys` that the selector has itself.
fn repeated_keys(term: &Value, path: &Path) -> Errors {
    let keys = texts(term, "matchLabelKeys");
    let mut errors = Vec::new();
    let mut seen: Vec<&str> =
        entries(term, "labelSelector.matchLabels").keys().map(String::as_str).collect();
    for expression in list(term, "labelSelector.matchExpressions") {
        let key = text(expression, "key");
        if seen.contains(&key)
            && let Some(index) = keys.iter().rposition(|found| *found == key)
        {
            let detail = "exists in both matchLabelKeys and labelSelector";
            errors.push(FieldError::invalid(&path.index(index), key, detail));
        }
        seen.push(key);
    }
    errors
}

/// Validates scheduling gates.
pub(super) fn gates(spec: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let mut seen = Vec::new();
    for (index, gate) in list(spec, "schedulingGates").iter().enumerate() {
        let path = path.index(index);
        let name = text(gate, "name");
        errors.extend(named(names::qualified_name, name, &path));
        if seen.contains(&name) {
            errors.push(FieldError::duplicate(&path, name));
        }
        seen.push(name);
    }
    errors
}

/// Validates topology spread constraints.
pub(super) fn spread(spec: &Value, path: &Path) -> Errors {
    let constraints = list(spec, "topologySpreadConstraints");
    let mut errors = Vec::new();
    for (index, constraint) in constraints.iter().enumerate() {
        let path = path.index(index);
        errors.extend(positive(number(constraint, "maxSkew"), &path.child("maxSkew")));
        let (key, action) =
            (text(constraint, "topologyKey"), text(constraint, "whenUnsatisfiable"));
        if key.is_empty() {
            errors.push(FieldError::required(&path.child("topologyKey"), "can not be empty"));
        }
        if !["DoNotSchedule", "ScheduleAnyway"].contains(&action) {
            errors.push(FieldError::not_supported(
                &path.child("whenUnsatisfiable"),
                action,
                &["DoNotSchedule", "ScheduleAnyway"],
            ));
        }
        let repeats = constraints[index + 1..].iter().any(|other| {
            text(other, "topologyKey") == key && text(other, "whenUnsatisfiable") == action
        });
        if repeats {
            errors.push(FieldError::duplicate(
                &path.child("{topologyKey, whenUnsatisfiable}"),
                format!("{{{key}, {action}}}"),
            ));
        }
        if let Some(domains) = int(constraint, "minDomains") {
            errors.extend(positive(domains, &path.child("minDomains")));
            if action != "DoNotSchedule" {
                errors.push(FieldError::invalid(
                    &path.child("minDomains"),
                    domains,
                    format!(
                        "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
                    ),
                ));
            }
        }
        for field in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            errors.extend(one_of_or_unset(constraint, field, &["Honor", "Ignore"], &path));
        }
        errors.extend(label_keys(constraint, "matchLabelKeys", &path));
        errors.extend(repeated_keys(constraint, &path));
        errors.extend(labels::selector(
            at(constraint, "labelSelector"),
            &path.child("labelSelector"),
        ));
    }
    errors
}

/// Validates tolerations.
pub(crate) fn tolerations(spec: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    for (index, toleration) in list(spec, "tolerations").iter().enumerate() {
        let path = path.index(index);
        let (key, operator) = (text(toleration, "key"), text(toleration, "operator"));
        let (value, effect) = (text(toleration, "value"), text(toleration, "effect"));
        if !key.is_empty() {
            errors.extend(labels::label_name(key, &path.child("key")));
        } else if operator != "Exists" {
            errors.push(FieldError::invalid(
                &path.child("operator"),
                operator,
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
            ));
        }
        if present(toleration, "tolerationSeconds") && effect != "NoExecute" {
            errors.push(FieldError::invalid(
                &path.child("effect"),
                effect,
                "effect must be 'NoExecute' when `tolerationSeconds` is set",
            ));
        }
        let place = path.child("operator");
        match operator {
            "Equal" | "" => {
                let wrong = names::label_value(value);
                if !wrong.is_empty() {
                    errors.push(FieldError::invalid(&place, value, wrong.join(";")));
                }
            }
            "Exists" => {
                if !value.is_empty() {
                    let detail = "value must be empty when `operator` is 'Exists'";
                    errors.push(FieldError::invalid(&place, value, detail));
                }
            }
            "Lt" | "Gt" => errors.push(FieldError::not_supported(
                &place,
                operator,
                &["Equal", "Exists", "Lt", "Gt"],
            )),
            _ => errors.push(FieldError::not_supported(&place, operator, &["Equal", "Exists"])),
        }
        if !effect.is_empty() {
            errors.extend(taint_effect(effect, &path.child("effect")));
        }
    }
    errors
}

/// Validates the effect of a taint.
pub(crate) fn taint_effect(effect: &str, path: &Path) -> Errors {
    let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    if effects.contains(&effect) {
        return Vec::new();
    }
    vec![FieldError::not_supported(path, effect, &effects)]
}

/// Merges `matchLabelKeys` and `mismatchLabelKeys` into their selectors.
pub(crate) fn merge_label_keys(pod: &mut Value) {
    let labels = entries(pod, "metadata.labels").clone();
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    for field in ["podAffinity", "podAntiAffinity"] {
        let base = format!("spec.affinity.{field}");
        for term in crate::value::list_mut(pod, &format!("{base}.{preferred}")) {
            if let Some(term) = term.get_mut("podAffinityTerm") {
                merge_into(term, &labels);
            }
        }
        for term in crate::value::list_mut(pod, &format!("{base}.{required}")) {
            merge_into(term, &labels);
        }
    }
    for constraint in crate::value::list_mut(pod, "spec.topologySpreadConstraints") {
        merge_into(constraint, &labels);
    }
}

fn merge_into(term: &mut Value, labels: &serde_json::Map<String, Value>) {
    if !present(term, "labelSelector") {
        return;
    }
    let mut added = Vec::new();
    for (field, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        for key in texts(term, field) {
            if let Some(value) = labels.get(key) {
                added
                    .push(serde_json::json!({"key": key, "operator": operator, "values": [value]}));
            }
        }
    }
    if added.is_empty() {
        return;
    }
    let mut expressions = list(term, "labelSelector.matchExpressions").to_vec();
    expressions.extend(added);
    crate::value::set(term, "labelSelector.matchExpressions", expressions);
}
