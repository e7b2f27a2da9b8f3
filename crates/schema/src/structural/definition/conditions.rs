//! The conditions of a definition, as functions of it and the other definitions of its group.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sluice_base::go::quote;

use super::{APPROVED_ANNOTATION, flag, list, text};
use crate::field::{FieldError, Path, aggregate};
use crate::structural::{Schema, formats, invariants};

/// A condition without its times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// `type`.
    pub kind: &'static str,
    /// `True`, `False` or `Unknown`.
    pub status: &'static str,
    /// `reason`.
    pub reason: String,
    /// `message`.
    pub message: String,
}

impl Condition {
    /// A condition.
    pub fn new(
        kind: &'static str,
        status: &'static str,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self { kind, status, reason: reason.into(), message: message.into() }
    }

    /// Whether `found` says the same.
    pub fn says(&self, found: Option<&Value>) -> bool {
        found.is_some_and(|found| {
            text(found, "status") == self.status
                && text(found, "reason") == self.reason
                && text(found, "message") == self.message
        })
    }
}

/// The condition of a type.
pub fn condition<'a>(definition: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = definition.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|condition| text(condition, "type") == kind)
}

/// Sets a condition; its transition time moves only with its status.
pub fn set_condition(definition: &mut Value, condition: &Condition, now: &str) {
    let Some(conditions) = super::status_list(definition, "conditions") else { return };
    let mut entry = json!({
        "type": condition.kind,
        "status": condition.status,
        "lastTransitionTime": now,
        "reason": condition.reason,
        "message": condition.message,
    });
    match conditions.iter_mut().find(|found| text(found, "type") == condition.kind) {
        None => conditions.push(entry),
        Some(found) => {
            let time = text(found, "lastTransitionTime");
            if text(found, "status") == condition.status && !time.is_empty() {
                entry["lastTransitionTime"] = time.into();
            }
            *found = entry;
        }
    }
}

/// What the naming controller decides: the accepted names, and two conditions.
#[derive(Debug, Clone, PartialEq)]
pub struct Names {
    /// `status.acceptedNames`.
    pub accepted: Value,
    /// `NamesAccepted`.
    pub names_accepted: Condition,
    /// `Established`, unless the definition keeps the one it has.
    pub established: Option<Condition>,
}

/// Gives a definition the names it asks for, as far as no other definition of its group has them.
pub fn names_and_conditions(definition: &Value, all: &[&Value]) -> Names {
    let null = Value::Null;
    let spec = definition.get("spec").unwrap_or(&null);
    let group = text(spec, "group");
    let mut resources = BTreeSet::new();
    let mut kinds = BTreeSet::new();
    for other in all {
        if text(other.get("spec").unwrap_or(&null), "group") != group {
            continue;
        }
        let Some(names) = other.pointer("/status/acceptedNames") else { continue };
        resources.extend([text(names, "plural"), text(names, "singular")]);
        resources.extend(list(names, "shortNames").iter().filter_map(Value::as_str));
        kinds.extend([text(names, "kind"), text(names, "listKind")]);
    }
    let requested = spec.get("names").cloned().unwrap_or_default();
    let before = definition.pointer("/status/acceptedNames").cloned().unwrap_or_else(|| json!({}));
    let mut accepted = before.clone();
    let mut conflict: Option<(&str, String)> = None;
    let taken = |name: &str| format!("{} is already in use", quote(name));
    let mut claim = |field: &str, reason: &'static str, used: &BTreeSet<&str>| {
        let name = text(&requested, field);
        if name != text(&before, field) && used.contains(name) {
            conflict = Some((reason, taken(name)));
        } else {
            accepted[field] = name.into();
        }
    };
    claim("plural", "PluralConflict", &resources);
    claim("singular", "SingularConflict", &resources);
    let mut short_conflict = None;
    let (short, short_before) = (list(&requested, "shortNames"), list(&before, "shortNames"));
    if short != short_before {
        let clashes: Vec<String> = short
            .iter()
            .filter(|name| !short_before.contains(name))
            .filter_map(Value::as_str)
            .filter(|name| resources.contains(name))
            .map(taken)
            .collect();
        short_conflict = match clashes.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            many => Some(format!("[{}]", many.join(", "))),
        };
    }
    claim("kind", "KindConflict", &kinds);
    claim("listKind", "ListKindConflict", &kinds);
    // The last conflict in upstream's order is the one reported; short names come before kinds.
    let late = conflict.as_ref().is_some_and(|(reason, _)| reason.ends_with("KindConflict"));
    match short_conflict {
        Some(message) if !late => conflict = Some(("ShortNamesConflict", message)),
        Some(_) => {}
        None => replace(&mut accepted, "shortNames", requested.get("shortNames")),
    }
    replace(&mut accepted, "categories", requested.get("categories"));
    let names_accepted = match conflict {
        Some((reason, message)) => Condition::new("NamesAccepted", "False", reason, message),
        None => Condition::new("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
    };
    let old = condition(definition, "Established");
    let is_established = old.is_some_and(|old| text(old, "status") == "True");
    let established = if !is_established && names_accepted.status == "True" {
        let message = "the initial names have been accepted";
        Some(Condition::new("Established", "False", "Installing", message))
    } else if old.is_none() {
        Some(Condition::new("Established", "False", "NotAccepted", "not all names are accepted"))
    } else {
        None
    };
    Names { accepted, names_accepted, established }
}

fn replace(target: &mut Value, field: &str, value: Option<&Value>) {
    let Some(fields) = target.as_object_mut() else { return };
    match value {
        Some(value) => fields.insert(field.to_owned(), value.clone()),
        None => fields.remove(field),
    };
}

/// `NonStructuralSchema`, for definitions that should have it.
pub fn non_structural_condition(definition: &Value) -> Option<Condition> {
    let spec = definition.get("spec")?;
    let mut errors = Vec::new();
    if flag(spec, "preserveUnknownFields") {
        let at = Path::new("spec").child("preserveUnknownFields");
        errors.push(FieldError::invalid(&at, true, "must be false"));
    }
    for (index, version) in list(spec, "versions").iter().enumerate() {
        let Some(schema) = version.pointer("/schema/openAPIV3Schema").filter(|s| !s.is_null())
        else {
            continue;
        };
        let at = Path::new("spec").child("versions").index(index);
        match Schema::parse(schema) {
            Ok(schema) => {
                let at = at.child("schema").child("openAPIV3Schema");
                errors.extend(invariants::check(&schema, &at));
            }
            Err(why) => {
                let message = format!(
                    "failed to check validation schema for version {}: {why}",
                    text(version, "name")
                );
                return Some(Condition::new(
                    "NonStructuralSchema",
                    "Unknown",
                    "StructuralError",
                    message,
                ));
            }
        }
    }
    (!errors.is_empty())
        .then(|| Condition::new("NonStructuralSchema", "True", "Violations", aggregate(&errors)))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Approval {
    Invalid,
    Approved,
    Bypassed,
    Missing,
}

fn is_protected(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"].iter().any(|domain| {
        group == *domain || group.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
    })
}

fn approval(definition: &Value) -> (Approval, String) {
    let annotation = definition
        .pointer("/metadata/annotations")
        .map(|annotations| text(annotations, APPROVED_ANNOTATION))
        .unwrap_or_default();
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    let quoted = quote(APPROVED_ANNOTATION);
    let has_host = annotation
        .split_once("://")
        .is_some_and(|(_, rest)| !rest.is_empty() && !rest.starts_with(['/', '?']));
    if annotation.is_empty() {
        let why = format!("protected groups must have approval annotation {quoted}, {see}");
        (Approval::Missing, why)
    } else if annotation.starts_with("unapproved") {
        (Approval::Bypassed, format!("not approved: {}", quote(annotation)))
    } else if has_host && formats::is_request_uri(annotation) {
        (Approval::Approved, format!("approved in {annotation}"))
    } else {
        let why = format!(
            "protected groups must have approval annotation {quoted} with either a URL or a reason starting with \"unapproved\", {see}"
        );
        (Approval::Invalid, why)
    }
}

/// `KubernetesAPIApprovalPolicyConformant`, for groups of the Kubernetes community.
pub fn api_approval_condition(definition: &Value) -> Option<Condition> {
    if !is_protected(text(definition.get("spec")?, "group")) {
        return None;
    }
    let (state, message) = approval(definition);
    let (status, reason) = match state {
        Approval::Invalid => ("False", "InvalidAnnotation"),
        Approval::Missing => ("False", "MissingAnnotation"),
        Approval::Approved => ("True", "ApprovedAnnotation"),
        Approval::Bypassed => ("False", "UnapprovedAnnotation"),
    };
    Some(Condition::new("KubernetesAPIApprovalPolicyConformant", status, reason, message))
}

pub(super) fn validate_api_approval(definition: &Value, old: Option<&Value>) -> Option<FieldError> {
    if !is_protected(text(definition.get("spec")?, "group")) {
        return None;
    }
    let (state, why) = approval(definition);
    if old.is_some_and(|old| approval(old).0 == state) {
        return None;
    }
    let at = Path::new("metadata").child("annotations").key(APPROVED_ANNOTATION);
    match state {
        Approval::Approved | Approval::Bypassed => None,
        Approval::Missing => Some(FieldError::required(&at, why)),
        Approval::Invalid => {
            let annotations = definition.pointer("/metadata/annotations").unwrap_or(&Value::Null);
            Some(FieldError::invalid(&at, text(annotations, APPROVED_ANNOTATION), why))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(plural: &str, kind: &str, accepted: &Value) -> Value {
        json!({
            "spec": {
                "group": "example.com",
                "names": {
                    "plural": plural,
                    "singular": kind.to_lowercase(),
                    "kind": kind,
                    "listKind": format!("{kind}List"),
                    "shortNames": ["sn"],
                },
            },
            "status": {"acceptedNames": accepted},
        })
    }

    #[test]
    fn names_are_granted_unless_another_definition_has_them() {
        let first = definition("widgets", "Widget", &json!({}));
        let names = names_and_conditions(&first, &[&first]);
        assert_eq!(names.accepted, first["spec"]["names"]);
        assert_eq!(names.names_accepted.reason, "NoConflicts");
        let established = names.established.expect("a first condition");
        assert_eq!((established.status, established.reason.as_str()), ("False", "Installing"));

        let taken = definition("widgets", "Widget", &first["spec"]["names"]);
        let cases = [
            ("widgets", "Gadget", "ShortNamesConflict"),
            ("gadgets", "Widget", "ListKindConflict"),
            ("widget", "Gadget", "ShortNamesConflict"),
        ];
        for (plural, kind, reason) in cases {
            let other = definition(plural, kind, &json!({}));
            let names = names_and_conditions(&other, &[&taken, &other]);
            assert_eq!(names.names_accepted.reason, reason, "{plural} {kind}");
            assert_eq!(names.established.expect("a condition").reason, "NotAccepted");
        }
        let mut plain = definition("widgets", "Gadget", &json!({}));
        plain["spec"]["names"]["shortNames"] = json!([]);
        let names = names_and_conditions(&plain, &[&taken]);
        assert_eq!(names.names_accepted.reason, "PluralConflict");
        assert_eq!(names.names_accepted.message, r#""widgets" is already in use"#);
    }

    #[test]
    fn a_condition_keeps_its_time_while_its_status_holds() {
        let mut object = json!({"status": {"conditions": null}});
        let mut set = |status, now| {
            let condition = Condition::new("Established", status, "Reason", "message");
            set_condition(&mut object, &condition, now);
            condition_time(&object)
        };
        assert_eq!(set("False", "t1"), "t1");
        assert_eq!(set("False", "t2"), "t1");
        assert_eq!(set("True", "t3"), "t3");
    }

    fn condition_time(object: &Value) -> String {
        let found = condition(object, "Established").expect("the condition");
        text(found, "lastTransitionTime").to_owned()
    }

    #[test]
    fn schemas_without_structure_and_groups_without_approval_are_named() {
        let object = json!({
            "spec": {
                "group": "x.k8s.io",
                "preserveUnknownFields": true,
                "versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"properties": {"spec": {}}}}}],
            },
        });
        let structural = non_structural_condition(&object).expect("a condition");
        assert_eq!(
            structural.message,
            "[spec.preserveUnknownFields: Invalid value: true: must be false, spec.versions[0].schema.openAPIV3Schema.properties[spec].type: Required value: must not be empty for specified object fields, spec.versions[0].schema.openAPIV3Schema.type: Required value: must not be empty at the root]"
        );
        let approval = api_approval_condition(&object).expect("a condition");
        assert_eq!((approval.status, approval.reason.as_str()), ("False", "MissingAnnotation"));
    }
}
