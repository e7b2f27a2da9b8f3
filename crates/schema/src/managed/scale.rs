//! The scale subresource: ownership of its one field is ownership of the parent's replicas.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::smd::{FieldSet, Path, PathElement, VersionedSet};

use super::entries::{Managed, decode, encode};

const SCALE_VERSION: &str = "autoscaling/v1";

/// Where each version of the parent keeps its replicas; nowhere, for versions without scale.
pub type ReplicasPaths = BTreeMap<String, Option<Path>>;

fn replicas_in_scale() -> Path {
    vec![PathElement::field("spec"), PathElement::field("replicas")]
}

fn one_path(path: &[PathElement]) -> FieldSet {
    let mut set = FieldSet::default();
    set.insert(path);
    set
}

/// The entries of a Scale, from those of its parent.
pub fn scale_entries(parent: &[Value], paths: &ReplicasPaths) -> Result<Vec<Value>, String> {
    let parent = decode(parent)?;
    let mut scale = Managed::default();
    for (manager, owned) in &parent.fields {
        let Some(Some(path)) = paths.get(&owned.api_version) else { continue };
        if owned.set.has(path) {
            let set = VersionedSet {
                set: one_path(&replicas_in_scale()),
                api_version: SCALE_VERSION.to_owned(),
                applied: owned.applied,
            };
            scale.fields.insert(manager.clone(), set);
            if let Some(time) = parent.times.get(manager) {
                scale.times.insert(manager.clone(), time.clone());
            }
        }
    }
    Ok(encode(&scale))
}

/// The entries of the parent after a write to its Scale in the parent's version `api_version`.
pub fn parent_entries(
    parent: &[Value],
    scale: &[Value],
    api_version: &str,
    paths: &ReplicasPaths,
) -> Result<Vec<Value>, String> {
    let parent = decode(parent)?;
    let mut scale = decode(scale)?;
    let mut out = Managed::default();
    let mut keep = |manager: &str, owned: VersionedSet| {
        out.fields.insert(manager.to_owned(), owned);
        if let Some(time) = parent.times.get(manager) {
            out.times.insert(manager.to_owned(), time.clone());
        }
    };
    for (manager, owned) in &parent.fields {
        let Some(path) = paths.get(&owned.api_version) else { continue };
        match path {
            Some(path) if owned.set.has(path) => {
                if scale.fields.remove(manager).is_some() {
                    keep(manager, owned.clone());
                    continue;
                }
                // Another manager took the replicas through the Scale.
                let set = owned.set.difference(&one_path(path));
                if !set.is_empty() {
                    keep(manager, VersionedSet { set, ..owned.clone() });
                }
            }
            _ => keep(manager, owned.clone()),
        }
    }
    for (manager, owned) in &scale.fields {
        if owned.set.has(&replicas_in_scale()) {
            let path = paths.get(api_version).and_then(Option::as_deref).unwrap_or_default();
            let set = VersionedSet {
                set: one_path(path),
                api_version: api_version.to_owned(),
                applied: owned.applied,
            };
            keep(manager, set);
        }
    }
    Ok(encode(&out))
}
