//! ReplicaSet.

use serde_json::Value;
use sluice_schema::field::Path;

use super::workload;
use crate::kind::{Context, Kind};
use crate::kinds::pod_spec;
use crate::validation::{Errors, non_negative_fields};
use crate::value::{at, fill, slot};

/// The hooks of ReplicaSet.
pub(super) struct ReplicaSet;

impl Kind for ReplicaSet {
    fn default(&self, object: &mut Value) {
        let Some(spec) = slot(object, "spec") else { return };
        fill(spec, "replicas", 1);
        if let Some(template) = slot(spec, "template") {
            pod_spec::template_defaults(template);
        }
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let path = Path::new("spec");
        let spec = at(object, "spec");
        let mut errors = non_negative_fields(spec, &["replicas", "minReadySeconds"], &path);
        errors.extend(workload::selector_and_template(spec, &path));
        errors
    }

    fn validate_update(&self, context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        let mut errors = self.validate(context, object);
        errors.extend(workload::immutable_selector(object, old));
        errors
    }

    fn validate_status_update(
        &self,
        _context: &Context<'_>,
        object: &Value,
        _old: &Value,
    ) -> Errors {
        workload::replica_counts(
            object,
            &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
            &["observedGeneration", "terminatingReplicas"],
            "readyReplicas",
        )
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        workload::warnings(self, object, old, true)
    }

    fn has_status(&self) -> bool {
        true
    }

    fn has_generation(&self) -> bool {
        true
    }
}
