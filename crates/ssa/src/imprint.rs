//! Imprints: digests of an applied object's metadata that show whether the applied fields were changed since.
//!
//! A foreign write to a field of ours removes the field from our entry in `metadata.managedFields`; a write to
//! any other field, such as the status or a replica count that is not ours, leaves the entry as it is. So that
//! entry, those of managers that are taken over, and the few labels and annotations that control applying are
//! all that has to be compared, and they are hashed into one number.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::Value;

use crate::apply::ApplyOptions;
use crate::metadata::{self, Owner};

/// The imprint of an applied object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Imprint {
    /// The resource version.
    pub version: u64,
    /// The digest of the metadata that a foreign change alters.
    pub mark: u64,
}

impl Imprint {
    /// The imprint of metadata, for an owner and its options.
    pub fn of(metadata: &Value, owner: &Owner, options: &ApplyOptions) -> Self {
        let text = |field: &str| metadata.get(field).and_then(Value::as_str).unwrap_or_default();
        // Its keys are fixed: the same metadata gives the same number everywhere.
        let mut hasher = DefaultHasher::new();
        text("uid").hash(&mut hasher);
        let entries = metadata.get("managedFields").and_then(Value::as_array);
        for entry in entries.into_iter().flatten() {
            let is_ours = metadata::is_own_entry(entry, &owner.field_manager);
            if is_ours || options.cleanup.takes_over(entry) {
                entry.to_string().hash(&mut hasher);
            }
        }
        let marks = [
            &options.exclusions,
            &options.if_not_present,
            &options.force_marks,
            &options.cleanup.exclusions,
        ];
        let marks = marks.into_iter().flatten().map(|(key, _)| key);
        let steering: Vec<&String> =
            marks.chain(&options.cleanup.annotations).chain(&options.cleanup.labels).collect();
        let owned = format!("{}/", owner.group);
        for field in ["labels", "annotations"] {
            for (key, value) in metadata.get(field).and_then(Value::as_object).into_iter().flatten()
            {
                if key.starts_with(&owned) || steering.contains(&key) {
                    (field, key, value.as_str()).hash(&mut hasher);
                }
            }
        }
        let version = text("resourceVersion").parse().unwrap_or_default();
        Self { version, mark: hasher.finish() }
    }
}

/// A digest of a desired object.
pub fn digest(object: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    object.to_string().hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Imprint;
    use crate::apply::ApplyOptions;
    use crate::metadata::Owner;

    fn entry(manager: &str, operation: &str, subresource: &str, fields: &Value) -> Value {
        json!({"manager": manager, "operation": operation, "subresource": subresource,
            "time": "2026-01-01T00:00:00Z", "fieldsV1": fields})
    }

    #[test]
    fn only_what_concerns_us_leaves_a_mark() {
        let owner = Owner::kustomize();
        let options = ApplyOptions::kustomize(&owner, &[]);
        let ours = entry("kustomize-controller", "Apply", "", &json!({"f:data": {"f:a": {}}}));
        let base = json!({"uid": "u", "resourceVersion": "7", "managedFields": [ours],
            "labels": {"kustomize.toolkit.fluxcd.io/name": "app"}});
        let imprint = |metadata: &Value| Imprint::of(metadata, &owner, &options);
        assert_eq!(imprint(&base).version, 7);
        let with = |change: &dyn Fn(&mut Value)| {
            let mut changed = base.clone();
            change(&mut changed);
            imprint(&changed).mark != imprint(&base).mark
        };
        let add = |entry: Value| {
            with(&|it| it["managedFields"].as_array_mut().unwrap().push(entry.clone()))
        };
        // Changes that do not concern us.
        assert!(!with(&|it| it["resourceVersion"] = json!("8")));
        assert!(!with(&|it| it["annotations"] = json!({"deployment.kubernetes.io/revision": "2"})));
        assert!(!add(entry("hpa", "Update", "scale", &json!({"f:spec": {"f:replicas": {}}}))));
        assert!(!add(entry("other", "Apply", "", &json!({"f:data": {"f:b": {}}}))));
        // Changes that do.
        assert!(with(&|it| it["uid"] = json!("v")));
        assert!(with(&|it| it["managedFields"][0]["fieldsV1"] = json!({})));
        assert!(with(&|it| it["managedFields"] = json!([])));
        assert!(with(&|it| it["labels"] = json!({"kustomize.toolkit.fluxcd.io/name": "other"})));
        assert!(with(
            &|it| it["annotations"] = json!({"kustomize.toolkit.fluxcd.io/ssa": "Ignore"})
        ));
        assert!(add(entry("kubectl-edit", "Update", "", &json!({"f:data": {"f:b": {}}}))));
    }
}
