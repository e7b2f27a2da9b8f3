//! Deployment.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use super::workload;
use crate::kind::{Context, Kind};
use crate::kinds::{internal, pod_spec};
use crate::validation::{Errors, non_negative_fields};
use crate::value::{at, fill, int, number, present, restore, same, slot, text};

/// The hooks of Deployment.
pub(super) struct Deployment;

impl Kind for Deployment {
    fn default(&self, object: &mut Value) {
        let Some(spec) = slot(object, "spec") else { return };
        fill(spec, "replicas", 1);
        fill(spec, "strategy.type", "RollingUpdate");
        if text(spec, "strategy.type") == "RollingUpdate" {
            fill(spec, "strategy.rollingUpdate.maxUnavailable", "25%");
            fill(spec, "strategy.rollingUpdate.maxSurge", "25%");
        }
        fill(spec, "revisionHistoryLimit", 10);
        fill(spec, "progressDeadlineSeconds", 600);
        if let Some(template) = slot(spec, "template") {
            pod_spec::template_defaults(template);
        }
    }

    fn prepare_status_update(&self, _context: &Context<'_>, object: &mut Value, old: &Value) {
        restore(object, old, "metadata.labels");
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let path = Path::new("spec");
        let spec = at(object, "spec");
        let mut errors = non_negative_fields(spec, &["replicas"], &path);
        errors.extend(workload::selector_and_template(spec, &path));
        errors.extend(strategy(at(spec, "strategy"), &path.child("strategy")));
        errors.extend(non_negative_fields(
            spec,
            &["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"],
            &path,
        ));
        if let Some(deadline) = int(spec, "progressDeadlineSeconds")
            && deadline <= number(spec, "minReadySeconds")
        {
            errors.push(FieldError::invalid(
                &path.child("progressDeadlineSeconds"),
                deadline,
                "must be greater than minReadySeconds",
            ));
        }
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
        old: &Value,
    ) -> Errors {
        let path = Path::new("status");
        let mut errors = non_negative_fields(at(object, "status"), &["observedGeneration"], &path);
        errors.extend(workload::replica_counts(
            object,
            &["updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas"],
            &["terminatingReplicas", "collisionCount"],
            "readyReplicas",
        ));
        errors.extend(workload::collision_count(object, old));
        errors
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

    fn changes_generation(&self, object: &Value, old: &Value) -> bool {
        ["spec", "metadata.annotations"].iter().any(|path| !same(at(object, path), at(old, path)))
    }
}

fn strategy(strategy: &Value, path: &Path) -> Errors {
    let place = path.child("rollingUpdate");
    match text(strategy, "type") {
        "Recreate" => {
            if present(strategy, "rollingUpdate") {
                let detail = "may not be specified when strategy `type` is 'Recreate'";
                return vec![FieldError::forbidden(&place, detail)];
            }
            Vec::new()
        }
        "RollingUpdate" => rolling_update(at(strategy, "rollingUpdate"), &place),
        _ => {
            let mut error =
                FieldError::not_supported(path, Value::Null, &["Recreate", "RollingUpdate"]);
            error.value = None;
            error.detail =
                format!("{}: {}", internal::print("DeploymentStrategy", strategy), error.detail);
            vec![error]
        }
    }
}

fn rolling_update(update: &Value, path: &Path) -> Errors {
    let (unavailable, surge) = (at(update, "maxUnavailable"), at(update, "maxSurge"));
    let place = path.child("maxUnavailable");
    let mut errors = workload::number_or_percent(unavailable, &place);
    errors.extend(workload::number_or_percent(surge, &path.child("maxSurge")));
    if workload::plain_number(unavailable) == 0 && workload::plain_number(surge) == 0 {
        let detail = "may not be 0 when `maxSurge` is 0";
        errors.push(FieldError::invalid(&place, unavailable.clone(), detail));
    }
    errors.extend(workload::at_most_all(unavailable, &place));
    errors
}
