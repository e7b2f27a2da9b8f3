//! The resource.k8s.io group: claims, classes and slices of devices.

use std::sync::Arc;

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind};
use crate::kinds::internal;
use crate::validation::{Errors, IMMUTABLE, invalid_raw, named, names, required_text};
use crate::value::{at, at_mut, fill, fill_zero, list, list_mut, same, text};

/// The hooks of a resource of the resource group.
pub(super) fn kind(resource: &str) -> Option<Arc<dyn Kind>> {
    Some(match resource {
        "deviceclasses" => Arc::new(DeviceClass),
        "resourceclaims" => Arc::new(ResourceClaim),
        "resourceclaimtemplates" => Arc::new(ResourceClaimTemplate),
        "resourceslices" => Arc::new(ResourceSlice),
        _ => return None,
    })
}

fn claim_defaults(spec: &mut Value) {
    for request in list_mut(spec, "devices.requests") {
        if let Some(exact) = at_mut(request, "exactly") {
            request_defaults(exact);
        }
        for alternative in list_mut(request, "firstAvailable") {
            request_defaults(alternative);
        }
    }
}

fn request_defaults(request: &mut Value) {
    fill(request, "allocationMode", "ExactCount");
    if text(request, "allocationMode") == "ExactCount" {
        fill_zero(request, "count", 1);
    }
}

fn claim(spec: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let mut seen = Vec::new();
    for (index, request) in list(spec, "devices.requests").iter().enumerate() {
        let path = path.child("devices").child("requests").index(index);
        let name = text(request, "name");
        errors.extend(named(names::dns_label, name, &path.child("name")));
        if seen.contains(&name) {
            errors.push(FieldError::duplicate(&path, name));
        }
        seen.push(name);
        let exact = at(request, "exactly");
        let alternatives = list(request, "firstAvailable");
        if exact.is_null() && alternatives.is_empty() {
            let detail = "exactly one of `exactly` or `firstAvailable` is required";
            errors.push(FieldError::required(&path, detail));
        } else if !exact.is_null() {
            let path = path.child("exactly");
            errors.extend(required_text(exact, "deviceClassName", &path));
        }
    }
    errors
}

struct ResourceClaim;

impl Kind for ResourceClaim {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = at_mut(object, "spec") {
            claim_defaults(spec);
        }
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        claim(at(object, "spec"), &Path::new("spec"))
    }

    fn validate_update(&self, _context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        if same(at(object, "spec"), at(old, "spec")) {
            return Vec::new();
        }
        let printed = internal::print("ResourceClaimSpec", at(object, "spec"));
        vec![invalid_raw(&Path::new("spec"), &printed, IMMUTABLE)]
    }

    fn has_status(&self) -> bool {
        true
    }
}

struct ResourceClaimTemplate;

impl Kind for ResourceClaimTemplate {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = at_mut(object, "spec.spec") {
            claim_defaults(spec);
        }
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        claim(at(object, "spec.spec"), &Path::new("spec").child("spec"))
    }
}

struct DeviceClass;

impl Kind for DeviceClass {
    fn has_generation(&self) -> bool {
        true
    }
}

struct ResourceSlice;

impl Kind for ResourceSlice {
    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        required_text(at(object, "spec"), "driver", &Path::new("spec"))
    }

    fn has_generation(&self) -> bool {
        true
    }
}
