//! The coordination.k8s.io group: Lease.

use std::sync::Arc;

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind};
use crate::validation::{Errors, named, names};
use crate::value::{at, int, text};

/// The hooks of a resource of the coordination group.
pub(super) fn kind(resource: &str) -> Option<Arc<dyn Kind>> {
    (resource == "leases").then(|| Arc::new(Lease) as _)
}

struct Lease;

impl Kind for Lease {
    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let path = Path::new("spec");
        let spec = at(object, "spec");
        let mut errors = Vec::new();
        if let Some(seconds) = int(spec, "leaseDurationSeconds").filter(|seconds| *seconds <= 0) {
            let place = path.child("leaseDurationSeconds");
            errors.push(FieldError::invalid(&place, seconds, "must be greater than 0"));
        }
        if let Some(count) = int(spec, "leaseTransitions").filter(|count| *count < 0) {
            let place = path.child("leaseTransitions");
            errors.push(FieldError::invalid(&place, count, "must be greater than or equal to 0"));
        }
        if let Some(strategy) = at(spec, "strategy").as_str() {
            let place = path.child("strategy").child("strategy");
            if strategy.contains('/') {
                errors.extend(named(names::qualified_name, strategy, &place));
            } else if strategy != "OldestEmulationVersion" {
                let known = ["OldestEmulationVersion"];
                errors.push(FieldError::not_supported(&place, strategy, &known));
            }
        }
        if !text(spec, "preferredHolder").is_empty() && text(spec, "strategy").is_empty() {
            let detail = "may only be specified if `strategy` is defined";
            errors.push(FieldError::forbidden(&path.child("preferredHolder"), detail));
        }
        errors
    }

    fn allows_unconditional_update(&self) -> bool {
        false
    }

    fn allows_create_on_update(&self) -> bool {
        true
    }
}
