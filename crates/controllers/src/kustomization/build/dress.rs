//! Adds owner labels and common metadata to built objects, and normalises them.

use std::collections::BTreeMap;

use sluice_api::kustomize::kustomization::Kustomization;
use sluice_kustomize::flux::BuiltObject;
use sluice_ssa::{Desired, Owner, normalise, set_metadata, still_encrypted};

/// The objects in the form in which they are applied, and why they must not be: some are still encrypted.
pub(super) fn dressed(
    object: &Kustomization,
    built: Vec<BuiltObject>,
) -> (Vec<Desired>, Option<String>) {
    let name = object.metadata.name.clone().unwrap_or_default();
    let namespace = object.metadata.namespace.clone().unwrap_or_default();
    let labels = Owner::kustomize().labels(&name, &namespace);
    let common = object.spec.common_metadata.clone().unwrap_or_default();
    let (common_labels, common_annotations) =
        (common.labels.unwrap_or_default(), common.annotations.unwrap_or_default());
    let mut objects = Vec::with_capacity(built.len());
    let mut refusals = Vec::new();
    for BuiltObject { mut value, place } in built {
        // Before the form is changed: a normalised Secret has no field left that shows it.
        refusals.extend(still_encrypted(&value).map(|refusal| refusal.to_string()));
        set_metadata(&mut value, &labels, &BTreeMap::new());
        normalise(&mut value);
        set_metadata(&mut value, &common_labels, &common_annotations);
        objects.push(Desired { object: value, place });
    }
    let refusals = (!refusals.is_empty()).then(|| refusals.join("\n"));
    (objects, refusals)
}
