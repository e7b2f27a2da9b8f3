//! The fields that an endpoint ignores, which nobody comes to own through it.

use std::collections::BTreeMap;

use sluice_schema::smd::FieldSet;

use crate::resource::Resource;

/// Kinds whose `/status` ignores all metadata, not only the spec.
const STATUS_IGNORES_METADATA: [&str; 8] = [
    "customresourcedefinitions",
    "devicetaintrules",
    "flowschemas",
    "prioritylevelconfigurations",
    "resourceclaims",
    "storageversions",
    "validatingadmissionpolicies",
    "volumeattachments",
];

/// The ignored fields of an endpoint, by API version.
pub(super) fn fields(resource: &Resource, subresource: &str) -> BTreeMap<String, FieldSet> {
    let paths: &[&[&str]] = match (subresource, resource.plural.as_str()) {
        // Upstream files these under a version that does not exist, so nothing is ignored.
        (_, "servicecidrs") => &[],
        ("", "certificatesigningrequests") => &[&["spec"], &["status"]],
        ("status", "certificatesigningrequests") => &[&["spec"], &["status", "conditions"]],
        ("approval", _) => &[&["spec"], &["status", "certificate"]],
        ("status", "deployments") => &[&["spec"], &["metadata", "labels"]],
        ("status", "pods") => {
            &[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]]
        }
        ("status", plural)
            if !resource.shape.is_custom() && STATUS_IGNORES_METADATA.contains(&plural) =>
        {
            &[&["metadata"], &["spec"]]
        }
        ("status", _) => &[&["spec"]],
        ("" | "finalize", _) if resource.hooks.has_status() => &[&["status"]],
        _ => &[],
    };
    if paths.is_empty() {
        return BTreeMap::new();
    }
    BTreeMap::from([(resource.api_version(), FieldSet::of_fields(paths))])
}
