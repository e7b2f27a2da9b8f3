//! The scheduling.k8s.io group: PriorityClass.

use std::sync::Arc;

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind};
use crate::validation::{Errors, immutable, one_of_or_unset};
use crate::value::{at, fill_absent, flag, number, text};

/// The hooks of a resource of the scheduling group.
pub(super) fn kind(resource: &str) -> Option<Arc<dyn Kind>> {
    (resource == "priorityclasses").then(|| Arc::new(PriorityClass) as _)
}

const SYSTEM: [(&str, i64); 2] =
    [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

struct PriorityClass;

impl Kind for PriorityClass {
    fn default(&self, object: &mut Value) {
        fill_absent(object, "preemptionPolicy", "PreemptLowerPriority");
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let mut errors = Vec::new();
        let (name, value) = (text(object, "metadata.name"), number(object, "value"));
        if name.starts_with("system-") {
            if let Some(why) = not_a_system_class(name, value, flag(object, "globalDefault")) {
                errors.push(FieldError::forbidden(
                    &Path::new("metadata").child("name"),
                    format!("priority class names with 'system-' prefix are reserved for system use only. error: {why}"),
                ));
            }
        } else if value > 1_000_000_000 {
            let detail = "maximum allowed value of a user defined priority is 1000000000";
            errors.push(FieldError::forbidden(&Path::new("value"), detail));
        }
        let policies = ["PreemptLowerPriority", "Never"];
        errors.extend(one_of_or_unset(object, "preemptionPolicy", &policies, &Path::default()));
        errors
    }

    fn validate_update(&self, _context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        let mut errors = Vec::new();
        if number(object, "value") != number(old, "value") {
            let detail = "may not be changed in an update.";
            errors.push(FieldError::forbidden(&Path::new("value"), detail));
        }
        let name = "preemptionPolicy";
        errors.extend(immutable(at(object, name), at(old, name), &Path::new(name)));
        errors
    }

    fn has_generation(&self) -> bool {
        true
    }

    fn changes_generation(&self, _object: &Value, _old: &Value) -> bool {
        false
    }
}

fn not_a_system_class(name: &str, value: i64, default: bool) -> Option<String> {
    let Some((_, expected)) = SYSTEM.iter().find(|(system, _)| *system == name) else {
        return Some(format!("{name} is not a known system priority class"));
    };
    if value != *expected {
        return Some(format!("value of {name} PriorityClass must be {expected}"));
    }
    default.then(|| format!("globalDefault of {name} PriorityClass must be false"))
}
