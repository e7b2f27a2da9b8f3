//! Changes that a running pod allows: images, deadline, more tolerations, fewer gates.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use super::{pod_annotations, tolerations, validate_pod};
use crate::kinds::{internal, line_diff};
use crate::validation::{Errors, range_message, required_text};
use crate::value::{at, entries, int, list, list_mut, remove, restore, same, set, text};

/// Validates a change of a Pod.
pub(crate) fn validate_pod_update(pod: &Value, old: &Value) -> Errors {
    let path = Path::new("spec");
    let mut errors = validate_pod(pod);
    errors.extend(annotation_changes(pod, old));
    let (spec, old_spec) = (at(pod, "spec"), at(old, "spec"));
    for field in ["containers", "initContainers"] {
        let path = path.child(field);
        if list(spec, field).len() != list(old_spec, field).len() {
            let detail = "pod updates may not add or remove containers";
            errors.push(FieldError::forbidden(&path, detail));
            return errors;
        }
        for (index, container) in list(spec, field).iter().enumerate() {
            let path = path.index(index);
            errors.extend(required_text(container, "image", &path));
            let image = text(container, "image");
            if image.trim() != image {
                let detail = "must not have leading or trailing whitespace";
                errors.push(FieldError::invalid(&path.child("image"), image, detail));
            }
        }
    }
    let deadline = path.child("activeDeadlineSeconds");
    let before = int(old_spec, "activeDeadlineSeconds");
    if let Some(seconds) = int(spec, "activeDeadlineSeconds") {
        let limit = i64::from(i32::MAX);
        if !(0..=limit).contains(&seconds) {
            errors.push(FieldError::invalid(&deadline, seconds, range_message(0, limit)));
            return errors;
        }
        if before.is_some_and(|before| before < seconds) {
            let detail = "must be less than or equal to previous value";
            errors.push(FieldError::invalid(&deadline, seconds, detail));
            return errors;
        }
    } else if before.is_some() {
        let detail = "must not update from a positive integer to nil value";
        errors.push(FieldError::invalid(&deadline, Value::Null, detail));
    }
    errors.extend(toleration_changes(spec, old_spec, &path.child("tolerations")));
    errors.extend(gate_changes(spec, old_spec, &path.child("schedulingGates")));
    if same(spec, old_spec) {
        return errors;
    }
    let munged = with_mutable_fields_restored(spec, old_spec);
    if !same(&munged, old_spec) {
        let difference = line_diff::unified(
            &internal::print_lines("PodSpec", old_spec),
            &internal::print_lines("PodSpec", &munged),
        );
        errors.push(FieldError::forbidden(
            &path,
            format!(
                "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n{difference}"
            ),
        ));
    }
    errors
}

fn with_mutable_fields_restored(spec: &Value, old: &Value) -> Value {
    let mut munged = spec.clone();
    for field in ["containers", "initContainers"] {
        for (container, before) in list_mut(&mut munged, field).iter_mut().zip(list(old, field)) {
            restore(container, before, "image");
        }
    }
    for field in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        restore(&mut munged, old, field);
    }
    let grace = "terminationGracePeriodSeconds";
    if int(old, grace).is_some_and(|seconds| seconds < 0) && int(&munged, grace) == Some(1) {
        restore(&mut munged, old, grace);
    }
    // The node selection of a gated pod may still be narrowed.
    if !list(old, "schedulingGates").is_empty() {
        restore(&mut munged, old, "nodeSelector");
        match at(old, "affinity.nodeAffinity") {
            Value::Null => {
                remove(&mut munged, "affinity.nodeAffinity");
                if at(old, "affinity").is_null() && same(at(&munged, "affinity"), &Value::Null) {
                    remove(&mut munged, "affinity");
                }
            }
            before => set(&mut munged, "affinity.nodeAffinity", before.clone()),
        }
    }
    munged
}

fn annotation_changes(pod: &Value, old: &Value) -> Errors {
    let path = Path::new("metadata").child("annotations");
    let app_armor = "container.apparmor.security.beta.kubernetes.io/";
    let mirror = "kubernetes.io/config.mirror";
    let (new, before) =
        (entries(pod, "metadata.annotations"), entries(old, "metadata.annotations"));
    let mut errors = Vec::new();
    for (key, value) in before {
        if new.get(key) == Some(value) {
            continue;
        }
        if key.starts_with(app_armor) {
            let detail = "may not remove or update AppArmor annotations";
            errors.push(FieldError::forbidden(&path.key(key), detail));
        }
        if key == mirror {
            let detail = "may not remove or update mirror pod annotation";
            errors.push(FieldError::forbidden(&path.key(key), detail));
        }
    }
    for key in new.keys().filter(|key| !before.contains_key(*key)) {
        if key.starts_with(app_armor) {
            errors.push(FieldError::forbidden(&path.key(key), "may not add AppArmor annotations"));
        }
        if key == mirror {
            errors.push(FieldError::forbidden(&path.key(key), "may not add mirror pod annotation"));
        }
    }
    errors.extend(pod_annotations(at(pod, "metadata.annotations"), at(pod, "spec"), &path));
    errors
}

fn toleration_changes(spec: &Value, old: &Value, path: &Path) -> Errors {
    for before in list(old, "tolerations") {
        let kept = list(spec, "tolerations").iter().any(|now| {
            let mut before = before.clone();
            restore(&mut before, now, "tolerationSeconds");
            same(&before, now)
        });
        if !kept {
            let detail = "existing toleration can not be modified except its tolerationSeconds";
            return vec![FieldError::forbidden(path, detail)];
        }
    }
    tolerations(spec, path)
}

fn gate_changes(spec: &Value, old: &Value, path: &Path) -> Errors {
    let before: Vec<_> =
        list(old, "schedulingGates").iter().map(|gate| text(gate, "name")).collect();
    let mut errors = Vec::new();
    for (index, gate) in list(spec, "schedulingGates").iter().enumerate() {
        let name = text(gate, "name");
        if !before.contains(&name) {
            errors.push(FieldError::forbidden(
                &path.index(index).child("name"),
                format!("only deletion is allowed, but found new scheduling gate '{name}'"),
            ));
        }
    }
    errors
}
