//! The policy group: PodDisruptionBudget.

use std::sync::Arc;

use serde_json::Value;
use sluice_schema::field::Path;

use crate::kind::{Context, Kind};
use crate::kinds::apps::workload;
use crate::validation::{Errors, invalid_raw, labels, non_negative_fields, one_of_or_unset};
use crate::value::{at, present};

/// The hooks of a resource of the policy group.
pub(super) fn kind(resource: &str) -> Option<Arc<dyn Kind>> {
    (resource == "poddisruptionbudgets").then(|| Arc::new(PodDisruptionBudget) as _)
}

struct PodDisruptionBudget;

impl Kind for PodDisruptionBudget {
    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let path = Path::new("spec");
        let spec = at(object, "spec");
        let mut errors = Vec::new();
        if present(spec, "minAvailable") && present(spec, "maxUnavailable") {
            errors.push(invalid_raw(
                &path,
                &crate::kinds::internal::print("PodDisruptionBudgetSpec", spec),
                "minAvailable and maxUnavailable cannot be both set",
            ));
        }
        for name in ["minAvailable", "maxUnavailable"] {
            let value = at(spec, name);
            if !value.is_null() {
                errors.extend(workload::number_or_percent(value, &path.child(name)));
                errors.extend(workload::at_most_all(value, &path.child(name)));
            }
        }
        errors.extend(labels::selector(at(spec, "selector"), &path.child("selector")));
        let policies = ["AlwaysAllow", "IfHealthyBudget"];
        errors.extend(one_of_or_unset(spec, "unhealthyPodEvictionPolicy", &policies, &path));
        errors
    }

    fn validate_status_update(
        &self,
        _context: &Context<'_>,
        object: &Value,
        _old: &Value,
    ) -> Errors {
        let counts = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];
        non_negative_fields(at(object, "status"), &counts, &Path::new("status"))
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
