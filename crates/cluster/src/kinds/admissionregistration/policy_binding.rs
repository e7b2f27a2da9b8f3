//! ValidatingAdmissionPolicyBinding.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use super::rules;
use crate::kind::{Context, Kind};
use crate::validation::{Errors, labels, named, names, one_of};
use crate::value::{at, at_mut, present, text, texts};

/// The hooks of ValidatingAdmissionPolicyBinding.
pub(super) struct PolicyBinding;

impl Kind for PolicyBinding {
    fn default(&self, object: &mut Value) {
        if let Some(resources) = at_mut(object, "spec.matchResources") {
            rules::match_defaults(resources);
        }
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let path = Path::new("spec");
        let spec = at(object, "spec");
        let mut errors = Vec::new();
        let policy = text(spec, "policyName");
        if policy.is_empty() {
            errors.push(FieldError::required(&path.child("policyName"), ""));
        } else {
            errors.extend(named(names::dns_subdomain, policy, &path.child("policyName")));
        }
        if present(spec, "paramRef") {
            errors.extend(parameters(at(spec, "paramRef"), &path.child("paramRef")));
        }
        if present(spec, "matchResources") {
            let place = path.child("matchResources");
            errors.extend(rules::match_resources(at(spec, "matchResources"), &place));
        }
        errors.extend(actions(spec, &path.child("validationActions")));
        errors
    }

    fn allows_unconditional_update(&self) -> bool {
        false
    }

    fn has_generation(&self) -> bool {
        true
    }
}

fn parameters(reference: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let name = text(reference, "name");
    let has_selector = present(reference, "selector");
    if !name.is_empty() {
        errors.extend(named(names::path_segment, name, &path.child("name")));
        if has_selector {
            let detail = "name and selector are mutually exclusive";
            errors.push(FieldError::forbidden(&path.child("name"), detail));
        }
    }
    if has_selector {
        errors.extend(labels::selector(at(reference, "selector"), &path.child("selector")));
    } else if name.is_empty() {
        errors.push(FieldError::required(path, "one of name or selector must be specified"));
    }
    errors.extend(one_of(reference, "parameterNotFoundAction", &["Allow", "Deny"], path));
    errors
}

fn actions(spec: &Value, path: &Path) -> Errors {
    let actions = texts(spec, "validationActions");
    let known = ["Audit", "Deny", "Warn"];
    let mut errors = Vec::new();
    for (index, action) in actions.iter().enumerate() {
        let path = path.index(index);
        if !known.contains(action) {
            errors.push(FieldError::not_supported(&path, *action, &known));
        }
        if actions[..index].contains(action) {
            errors.push(FieldError::duplicate(&path, *action));
        }
    }
    if actions.contains(&"Deny") && actions.contains(&"Warn") {
        let shown = at(spec, "validationActions").clone();
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
        errors.push(FieldError::invalid(path, shown, detail));
    }
    if actions.is_empty() {
        let detail = "at least one validation action is required";
        errors.push(FieldError::required(path, detail));
    }
    errors
}
