//! ValidatingAdmissionPolicy. Expressions are not compiled here.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use super::rules;
use crate::kind::{Context, Kind};
use crate::validation::{Errors, named, names, one_of, one_of_or_unset};
use crate::value::{at, at_mut, fill_absent, list, present, text};

/// The hooks of ValidatingAdmissionPolicy.
pub(super) struct Policy;

impl Kind for Policy {
    fn default(&self, object: &mut Value) {
        fill_absent(object, "spec.failurePolicy", "Fail");
        if let Some(constraints) = at_mut(object, "spec.matchConstraints") {
            rules::match_defaults(constraints);
        }
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let path = Path::new("spec");
        let spec = at(object, "spec");
        let mut errors = one_of(spec, "failurePolicy", &["Fail", "Ignore"], &path);
        if present(spec, "paramKind") {
            errors.extend(parameter_kind(at(spec, "paramKind"), &path.child("paramKind")));
        }
        let constraints = at(spec, "matchConstraints");
        let place = path.child("matchConstraints");
        if constraints.is_null() {
            errors.push(FieldError::required(&place, ""));
        } else {
            errors.extend(rules::match_resources(constraints, &place));
            if list(constraints, "resourceRules").is_empty() {
                errors.push(FieldError::required(&place.child("resourceRules"), ""));
            }
        }
        errors.extend(rules::match_conditions(spec, &path));
        for (index, variable) in list(spec, "variables").iter().enumerate() {
            errors.extend(self::variable(variable, &path.child("variables").index(index)));
        }
        errors.extend(validations(object, &path));
        errors
    }

    fn allows_unconditional_update(&self) -> bool {
        false
    }

    fn has_status(&self) -> bool {
        true
    }

    fn has_generation(&self) -> bool {
        true
    }
}

fn validations(object: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let spec = at(object, "spec");
    let (checks, annotations) = (list(spec, "validations"), list(spec, "auditAnnotations"));
    if checks.is_empty() && annotations.is_empty() {
        let detail = "validations or auditAnnotations must contain at least one item";
        for name in ["validations", "auditAnnotations"] {
            errors.push(FieldError::required(&path.child(name), detail));
        }
        return errors;
    }
    for (index, check) in checks.iter().enumerate() {
        let path = path.child("validations").index(index);
        if text(check, "expression").trim().is_empty() {
            let detail = "expression is not specified";
            errors.push(FieldError::required(&path.child("expression"), detail));
        }
        for name in ["messageExpression", "message"] {
            let words = text(check, name);
            if !words.is_empty() && words.trim().is_empty() {
                let detail = "must be non-empty if specified";
                errors.push(FieldError::invalid(&path.child(name), words, detail));
            }
        }
        let message = text(check, "message");
        if message.trim().contains('\n') {
            let detail = "must not contain line breaks";
            errors.push(FieldError::invalid(&path.child("message"), message, detail));
        }
        let reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
        errors.extend(one_of_or_unset(check, "reason", &reasons, &path));
    }
    let name = text(object, "metadata.name");
    let mut seen = Vec::new();
    for (index, annotation) in annotations.iter().enumerate() {
        let path = path.child("auditAnnotations").index(index);
        let key = text(annotation, "key");
        let full = format!("{name}/{key}");
        errors.extend(named(names::qualified_name, &full, &path.child("key")));
        if text(annotation, "valueExpression").trim().is_empty() {
            let detail = "valueExpression is not specified";
            errors.push(FieldError::required(&path.child("valueExpression"), detail));
        }
        if seen.contains(&key) {
            errors.push(FieldError::duplicate(&path.child("key"), key));
        }
        seen.push(key);
    }
    errors
}

fn variable(variable: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let name = text(variable, "name");
    if name.trim().is_empty() {
        errors.push(FieldError::required(&path.child("name"), "name is not specified"));
    } else if !names::c_identifier(name).is_empty() {
        let detail = "must be a valid CEL identifier";
        errors.push(FieldError::invalid(&path.child("name"), name, detail));
    }
    if text(variable, "expression").trim().is_empty() {
        let detail = "expression is not specified";
        errors.push(FieldError::required(&path.child("expression"), detail));
    }
    errors
}

fn parameter_kind(kind: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let place = path.child("apiVersion");
    let full = text(kind, "apiVersion");
    let (group, version) = full.split_once('/').unwrap_or(("", full));
    if full.is_empty() {
        errors.push(FieldError::required(&place, ""));
    } else {
        let wrong = names::dns_subdomain(group);
        if !group.is_empty() && !wrong.is_empty() {
            errors.push(FieldError::invalid(&place, group, wrong.join(",")));
        }
        let wrong = names::dns_1035_label(version);
        if version.is_empty() {
            errors.push(FieldError::invalid(&place, full, "version must be specified"));
        } else if !wrong.is_empty() {
            errors.push(FieldError::invalid(&place, version, wrong.join(",")));
        }
    }
    let name = text(kind, "kind");
    let wrong = names::dns_1035_label(&name.to_lowercase());
    if name.is_empty() {
        errors.push(FieldError::required(&path.child("kind"), ""));
    } else if !wrong.is_empty() {
        let detail =
            format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
        errors.push(FieldError::invalid(&path.child("kind"), name, detail));
    }
    errors
}
