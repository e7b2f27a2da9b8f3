//! The pod specification, shared by Pod, PodTemplate and all workload kinds.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::validation::{Errors, labels, metadata};
use crate::value::{at, entries, list, present, text};

mod containers;
mod defaults;
mod environment;
mod host;
mod mounts;
mod overlaps;
mod parts;
mod probes;
mod quality;
mod resources;
mod scheduling;
mod security;
mod update;
mod volumes;
mod warnings;

pub(crate) use containers::containers_of;
pub(crate) use defaults::{pod_defaults, spec_defaults};
pub(crate) use mounts::no_backsteps;
pub(crate) use parts::{
    keep_all_but_ephemeral, keep_all_but_resources, validate_ephemeral, validate_resize,
};
pub(crate) use probes::port_number_or_name;
pub(crate) use quality::quality_of_service;
pub(crate) use resources::{container_resource_name, quantity_value, resource_name};
pub(crate) use scheduling::{merge_label_keys, node_selector, taint_effect, tolerations};
pub(crate) use update::validate_pod_update;
pub(crate) use volumes::{csi_driver_name, host_path, nfs};
pub(crate) use warnings::{pod_warnings, template_warnings};

/// The owner of a pod specification; some rules are for real pods only.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    /// The pod's metadata; null in a template.
    pub(crate) meta: &'a Value,
    /// Whether this is a Pod and not a template.
    pub(crate) is_pod: bool,
}

const TEMPLATE: Place<'static> = Place { meta: &Value::Null, is_pod: false };

/// Defaults of a pod template at `template`.
pub(crate) fn template_defaults(template: &mut Value) {
    if let Some(spec) = crate::value::slot(template, "spec") {
        spec_defaults(spec);
    }
}

/// Validates a pod template.
pub(crate) fn validate_template(template: &Value, path: &Path) -> Errors {
    let mut errors = labels::labels(at(template, "metadata.labels"), &path.child("labels"));
    let annotations = at(template, "metadata.annotations");
    let spec = at(template, "spec");
    errors.extend(metadata::annotations(annotations, &path.child("annotations")));
    errors.extend(pod_annotations(annotations, spec, &path.child("annotations")));
    errors.extend(containers::validate_spec(spec, TEMPLATE, &path.child("spec")));
    if !list(spec, "ephemeralContainers").is_empty() {
        errors.push(FieldError::forbidden(
            &path.child("spec").child("ephemeralContainers"),
            "ephemeral containers not allowed in pod template",
        ));
    }
    errors
}

/// Validates a Pod beyond its plain metadata.
pub(crate) fn validate_pod(pod: &Value) -> Errors {
    let path = Path::new("spec");
    let (meta, spec) = (at(pod, "metadata"), at(pod, "spec"));
    let annotations = Path::new("metadata").child("annotations");
    let mut errors = pod_annotations(at(meta, "annotations"), spec, &annotations);
    errors.extend(containers::validate_spec(spec, Place { meta, is_pod: true }, &path));
    if text(spec, "serviceAccountName").is_empty() {
        for (index, volume) in list(spec, "volumes").iter().enumerate() {
            let sources = path.child("volumes").index(index).child("projected").child("sources");
            for (index, source) in list(volume, "projected.sources").iter().enumerate() {
                if present(source, "serviceAccountToken") {
                    errors.push(FieldError::forbidden(
                        &sources.index(index).child("serviceAccountToken"),
                        "must not be specified when serviceAccountName is not set",
                    ));
                }
            }
        }
    }
    for field in ["containers", "initContainers"] {
        for (index, container) in list(spec, field).iter().enumerate() {
            let image = text(container, "image");
            if image.trim() != image {
                errors.push(FieldError::invalid(
                    &path.child(field).index(index).child("image"),
                    image,
                    "must not have leading or trailing whitespace",
                ));
            }
        }
    }
    errors
}

/// Validates a new Pod.
pub(crate) fn validate_pod_create(pod: &Value) -> Errors {
    let path = Path::new("spec");
    let mut errors = validate_pod(pod);
    if !list(pod, "spec.ephemeralContainers").is_empty() {
        errors.push(FieldError::forbidden(
            &path.child("ephemeralContainers"),
            "cannot be set on create",
        ));
    }
    if !text(pod, "spec.nodeName").is_empty() && !list(pod, "spec.schedulingGates").is_empty() {
        errors.push(FieldError::forbidden(
            &path.child("nodeName"),
            "cannot be set until all schedulingGates have been cleared",
        ));
    }
    errors
}

fn pod_annotations(annotations: &Value, spec: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let annotations = entries(annotations, "");
    let mirror = "kubernetes.io/config.mirror";
    if let Some(value) = annotations.get(mirror)
        && text(spec, "nodeName").is_empty()
    {
        errors.push(FieldError::invalid(
            &path.key(mirror),
            value.clone(),
            "must set spec.nodeName if mirror pod annotation is set",
        ));
    }
    let cost = "controller.kubernetes.io/pod-deletion-cost";
    if let Some(value) = annotations.get(cost).and_then(Value::as_str) {
        let plain = !value.starts_with('+') && (value == "0" || !value.starts_with('0'));
        if !plain || value.parse::<i32>().is_err() {
            let detail = "must be a 32bit integer";
            errors.push(FieldError::invalid(&path.key(cost), value, detail));
        }
    }
    errors
}
