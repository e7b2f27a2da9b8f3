//! ReplicationController.

use std::borrow::Cow;

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind};
use crate::kinds::apps::workload;
use crate::kinds::pod_spec;
use crate::validation::{Errors, non_negative_fields};
use crate::value::{at, entries, fill, is_zero, number, present, set, slot};

/// The hooks of ReplicationController.
pub(super) struct ReplicationController;

impl Kind for ReplicationController {
    fn default(&self, object: &mut Value) {
        let labels = at(object, "spec.template.metadata.labels").clone();
        if !labels.is_null() {
            for path in ["spec.selector", "metadata.labels"] {
                if is_zero(at(object, path)) {
                    set(object, path, labels.clone());
                }
            }
        }
        fill(object, "spec.replicas", 1);
        if present(object, "spec.template")
            && let Some(template) = slot(object, "spec.template")
        {
            pod_spec::template_defaults(template);
        }
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let path = Path::new("spec");
        let spec = at(object, "spec");
        let mut errors = non_negative_fields(spec, &["minReadySeconds"], &path);
        let selector = entries(spec, "selector");
        if selector.is_empty() {
            errors.push(FieldError::required(&path.child("selector"), ""));
        }
        errors.extend(non_negative_fields(spec, &["replicas"], &path));
        let place = path.child("template");
        let template = at(spec, "template");
        if template.is_null() {
            errors.push(FieldError::required(&place, ""));
            return errors;
        }
        let labels = at(template, "metadata.labels");
        if selector.iter().any(|(key, value)| labels.get(key) != Some(value)) {
            errors.push(workload::labels_do_not_match(labels, &place));
        }
        errors.extend(pod_spec::validate_template(template, &place));
        errors.extend(workload::long_running(template, "ReplicationController", &place));
        errors
    }

    fn validate_status_update(
        &self,
        _context: &Context<'_>,
        object: &Value,
        _old: &Value,
    ) -> Errors {
        let counts = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
        workload::replica_counts(object, &counts, &["observedGeneration"], "readyReplicas")
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

    fn selectable_fields(&self, object: &Value) -> Vec<(Cow<'static, str>, String)> {
        vec![("status.replicas".into(), number(object, "status.replicas").to_string())]
    }
}
