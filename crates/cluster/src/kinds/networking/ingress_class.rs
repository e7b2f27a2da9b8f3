//! IngressClass.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind};
use crate::kinds::batch::domain_prefixed_path;
use crate::validation::{Errors, immutable_text, named, names};
use crate::value::{at, fill_absent, present, text};

/// The hooks of IngressClass.
pub(super) struct IngressClass;

impl Kind for IngressClass {
    fn default(&self, object: &mut Value) {
        if present(object, "spec.parameters") {
            fill_absent(object, "spec.parameters.scope", "Cluster");
        }
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let path = Path::new("spec");
        let controller = text(object, "spec.controller");
        let mut errors = Vec::new();
        if controller.len() > 250 {
            errors.push(FieldError::too_long(&path.child("controller"), 250));
        }
        errors.extend(domain_prefixed_path(controller, &path.child("controller")));
        let parameters = at(object, "spec.parameters");
        if !parameters.is_null() {
            errors.extend(self::parameters(parameters, &path.child("parameters")));
        }
        errors
    }

    fn validate_update(&self, context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        let path = Path::new("spec").child("controller");
        let mut errors = immutable_text(object, old, "spec.controller", &path);
        errors.extend(self.validate(context, object));
        errors
    }

    fn has_generation(&self) -> bool {
        true
    }
}

fn parameters(parameters: &Value, path: &Path) -> Errors {
    let mut errors = typed_reference(parameters, path);
    let namespace = at(parameters, "namespace").as_str();
    let place = path.child("namespace");
    match text(parameters, "scope") {
        "Namespace" => match namespace {
            None => {
                let detail = "`parameters.scope` is set to 'Namespace'";
                errors.push(FieldError::required(&place, detail));
            }
            Some(name) => errors.extend(named(names::dns_label, name, &place)),
        },
        "Cluster" => {
            if namespace.is_some() {
                let detail = "`parameters.scope` is set to 'Cluster'";
                errors.push(FieldError::forbidden(&place, detail));
            }
        }
        other => errors.push(FieldError::not_supported(
            &path.child("scope"),
            other,
            &["Cluster", "Namespace"],
        )),
    }
    errors
}

/// Validates a reference to an object of any kind.
pub(super) fn typed_reference(reference: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    if let Some(group) = at(reference, "apiGroup").as_str() {
        errors.extend(named(names::dns_subdomain, group, &path.child("apiGroup")));
    }
    for name in ["kind", "name"] {
        let value = text(reference, name);
        if value.is_empty() {
            errors.push(FieldError::required(&path.child(name), ""));
        } else {
            errors.extend(named(names::path_segment, value, &path.child(name)));
        }
    }
    errors
}
