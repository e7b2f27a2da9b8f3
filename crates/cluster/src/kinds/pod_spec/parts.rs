//! Updates of a part of a running pod: `ephemeralcontainers` and `resize`.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use super::{quality_of_service, validate_pod};
use crate::kinds::{internal, line_diff};
use crate::validation::Errors;
use crate::value::{at, list, list_mut, present, restore, same, set, text};

/// Restores everything but the ephemeral containers.
pub(crate) fn keep_all_but_ephemeral(object: &mut Value, old: &Value) {
    let containers = at(object, "spec.ephemeralContainers").clone();
    keep_all(object, old);
    set(object, "spec.ephemeralContainers", containers);
}

/// Restores everything but the resources of containers, if the containers are the same.
pub(crate) fn keep_all_but_resources(object: &mut Value, old: &Value) {
    let fields = ["spec.containers", "spec.initContainers"];
    let names = |pod: &Value, field: &str| -> Vec<String> {
        list(pod, field).iter().map(|container| text(container, "name").to_owned()).collect()
    };
    if fields.iter().any(|field| names(object, field) != names(old, field)) {
        return;
    }
    let wanted = fields.map(|field| list(object, field).to_vec());
    keep_all(object, old);
    for (field, wanted) in fields.iter().zip(wanted) {
        for (container, wanted) in list_mut(object, field).iter_mut().zip(&wanted) {
            restore(container, wanted, "resources");
            restore(container, wanted, "resizePolicy");
        }
    }
}

fn keep_all(object: &mut Value, old: &Value) {
    restore(object, old, "spec");
    restore(object, old, "status");
    for name in ["labels", "annotations", "finalizers", "ownerReferences"] {
        restore(object, old, &format!("metadata.{name}"));
    }
}

/// Validates new ephemeral containers: existing ones may not change.
pub(crate) fn validate_ephemeral(pod: &Value, old: &Value) -> Errors {
    let path = Path::new("spec").child("ephemeralContainers");
    let mut errors = validate_pod(pod);
    let now = list(pod, "spec.ephemeralContainers");
    for before in list(old, "spec.ephemeralContainers") {
        let name = text(before, "name");
        match now.iter().find(|container| text(container, "name") == name) {
            None => errors.push(FieldError::forbidden(
                &path,
                format!("existing ephemeral containers {name:?} may not be removed\n"),
            )),
            Some(container) if !same(container, before) => {
                let difference = line_diff::unified(
                    &internal::print_lines("EphemeralContainer", before),
                    &internal::print_lines("EphemeralContainer", container),
                );
                errors.push(FieldError::forbidden(
                    &path,
                    format!(
                        "existing ephemeral containers {name:?} may not be changed\n{difference}"
                    ),
                ));
            }
            Some(_) => {}
        }
    }
    errors
}

/// Validates a resize: the QoS class stays, only CPU and memory change.
pub(crate) fn validate_resize(pod: &Value, old: &Value) -> Errors {
    let path = Path::new("spec");
    let mut errors = validate_pod(pod);
    let (spec, before) = (at(pod, "spec"), at(old, "spec"));
    if quality_of_service(spec) != quality_of_service(before) {
        let class = at(pod, "status.qosClass").clone();
        let detail = "Pod QOS Class may not change as a result of resizing";
        errors.push(FieldError::invalid(&path, class, detail));
    }
    if present(spec, "resources") || present(before, "resources") {
        let detail = "resize of pods with pod-level resources is forbidden when InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled";
        let mut error = FieldError::forbidden(&Path::default(), detail);
        error.field = String::new();
        errors.push(error);
        return errors;
    }
    let mut munged = spec.clone();
    for (container, before) in
        list_mut(&mut munged, "containers").iter_mut().zip(list(before, "containers"))
    {
        for group in ["limits", "requests"] {
            for name in ["cpu", "memory"] {
                restore(container, before, &format!("resources.{group}.{name}"));
            }
        }
        if !same(container, before) {
            let detail = "only cpu and memory resources are mutable";
            errors.push(FieldError::forbidden(&path, detail));
        }
    }
    if errors.is_empty() && !same(&munged, before) {
        errors.push(FieldError::forbidden(&path, "only cpu and memory resources are mutable"));
    }
    errors
}
