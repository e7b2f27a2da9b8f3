//! The apiregistration.k8s.io group: APIService.

use std::sync::Arc;

use serde_json::{Value, json};
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind, NameRule};
use crate::status::Status;
use crate::validation::{Errors, named, names, range_message};
use crate::value::{at, at_mut, fill, flag, list, number, present, restore, set, text};

/// The hooks of a resource of the API registration group.
pub(super) fn kind(resource: &str) -> Option<Arc<dyn Kind>> {
    (resource == "apiservices").then(|| Arc::new(ApiService) as _)
}

struct ApiService;

impl Kind for ApiService {
    fn default(&self, object: &mut Value) {
        if let Some(service) = at_mut(object, "spec.service") {
            fill(service, "port", 443);
        }
    }

    fn prepare_create(&self, context: &Context<'_>, object: &mut Value) -> Result<(), Status> {
        let mut status = json!({});
        if !present(object, "spec.service") {
            status["conditions"] = json!([{
                "type": "Available",
                "status": "True",
                "lastTransitionTime": sluice_base::time::format_seconds(context.now),
                "reason": "Local",
                "message": "Local APIServices are always available",
            }]);
        }
        set(object, "status", status);
        Ok(())
    }

    fn prepare_status_update(&self, _context: &Context<'_>, object: &mut Value, old: &Value) {
        for name in ["labels", "annotations", "finalizers", "ownerReferences"] {
            restore(object, old, &format!("metadata.{name}"));
        }
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let path = Path::new("spec");
        let spec = at(object, "spec");
        let mut errors = Vec::new();
        let (group, version) = (text(spec, "group"), text(spec, "version"));
        let (name, expected) = (text(object, "metadata.name"), format!("{version}.{group}"));
        if names::path_segment(name).is_empty() && name != expected {
            let detail = format!("must be `spec.version+\".\"+spec.group`: \"{expected}\"");
            errors.push(FieldError::invalid(&Path::new("metadata").child("name"), name, detail));
        }
        if group.is_empty() && version != "v1" {
            let detail = "only v1 may have an empty group and it better be legacy kube";
            errors.push(FieldError::required(&path.child("group"), detail));
        }
        if !group.is_empty() {
            errors.extend(named(names::dns_subdomain, group, &path.child("group")));
        }
        errors.extend(named(names::dns_1035_label, version, &path.child("version")));
        for (name, most) in [("groupPriorityMinimum", 20000), ("versionPriority", 1000)] {
            let value = number(spec, name);
            if !(1..=most).contains(&value) {
                let detail = format!("must be positive and less than {most}");
                errors.push(FieldError::invalid(&path.child(name), value, detail));
            }
        }
        errors.extend(backend(spec, &path));
        errors
    }

    fn validate_status_update(
        &self,
        _context: &Context<'_>,
        object: &Value,
        _old: &Value,
    ) -> Errors {
        let mut errors = Vec::new();
        for (index, condition) in list(object, "status.conditions").iter().enumerate() {
            let status = text(condition, "status");
            let known = ["True", "False", "Unknown"];
            if !known.contains(&status) {
                let path = Path::new("status").child("conditions").index(index).child("status");
                errors.push(FieldError::not_supported(&path, status, &known));
            }
        }
        errors
    }

    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn allows_unconditional_update(&self) -> bool {
        false
    }

    fn has_status(&self) -> bool {
        true
    }
}

fn backend(spec: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let service = at(spec, "service");
    let bundle = text(spec, "caBundle");
    let skips = flag(spec, "insecureSkipTLSVerify");
    let place = path.child("insecureSkipTLSVerify");
    if service.is_null() {
        if !bundle.is_empty() {
            let size = bundle.trim_end_matches('=').len() * 3 / 4;
            let detail = "local APIServices may not have a caBundle";
            let shown = format!("{size} bytes");
            errors.push(FieldError::invalid(&path.child("caBundle"), shown, detail));
        }
        if skips {
            let detail = "local APIServices may not have insecureSkipTLSVerify";
            errors.push(FieldError::invalid(&place, true, detail));
        }
        return errors;
    }
    let service_path = path.child("service");
    for name in ["namespace", "name"] {
        if text(service, name).is_empty() {
            errors.push(FieldError::required(&service_path.child(name), ""));
        }
    }
    let port = number(service, "port");
    if !(1..=65535).contains(&port) {
        let detail = format!("port is not valid: {}", range_message(1, 65535));
        errors.push(FieldError::invalid(&service_path.child("port"), port, detail));
    }
    if skips && !bundle.is_empty() {
        let detail = "may not be true if caBundle is present";
        errors.push(FieldError::invalid(&place, true, detail));
    }
    errors
}
