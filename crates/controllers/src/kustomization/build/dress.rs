//! Objects as they are applied: marked as ours, normalised, with what all of them are to bear.

use std::collections::BTreeMap;

use serde_json::Value;
use sluice_api::kustomize::kustomization::Kustomization;
use sluice_ssa::{Desired, Owner, normalise, set_metadata, still_encrypted};

use super::joined;

/// Dresses what was built. What is still encrypted must never reach the cluster; that is told as well.
pub(super) fn dressed(
    object: &Kustomization,
    values: Vec<Value>,
) -> (Vec<Desired>, Option<String>) {
    let name = object.metadata.name.clone().unwrap_or_default();
    let namespace = object.metadata.namespace.clone().unwrap_or_default();
    let labels = Owner::kustomize().labels(&name, &namespace);
    let common = object.spec.common_metadata.clone().unwrap_or_default();
    let (common_labels, common_annotations) =
        (common.labels.unwrap_or_default(), common.annotations.unwrap_or_default());
    let mut objects = Vec::with_capacity(values.len());
    let mut refusals = Vec::new();
    for mut value in values {
        // Before the form is changed: in the form of a Secret there is no place for what tells.
        refusals.extend(still_encrypted(&value).map(|refusal| refusal.to_string()));
        set_metadata(&mut value, &labels, &BTreeMap::new());
        normalise(&mut value);
        set_metadata(&mut value, &common_labels, &common_annotations);
        objects.push(Desired::from(value));
    }
    (objects, joined(refusals))
}
