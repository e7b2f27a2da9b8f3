//! DefaultStorageClass and DefaultIngressClass: objects without a class get the default one.

use std::sync::Arc;

use serde_json::Value;

use crate::kind::ClusterView as _;
use crate::metadata;
use crate::write::Writer;

const DEFAULT_STORAGE: &str = "storageclass.kubernetes.io/is-default-class";
const DEFAULT_INGRESS: &str = "ingressclass.kubernetes.io/is-default-class";

/// A claim without a class gets the newest default storage class.
pub(super) fn claim(writer: &Writer<'_>, claim: &mut Value) {
    let named = claim["spec"].get("storageClassName").is_some_and(|name| !name.is_null())
        || metadata::entry(claim, "annotations", "volume.beta.kubernetes.io/storage-class")
            .is_some();
    if named {
        return;
    }
    if let Some(class) = default(writer, "storage.k8s.io", "storageclasses", DEFAULT_STORAGE) {
        claim["spec"]["storageClassName"] = metadata::name(&class).into();
    }
}

/// An ingress without a class gets the newest default ingress class.
pub(super) fn ingress(writer: &Writer<'_>, ingress: &mut Value) {
    let named = ingress["spec"].get("ingressClassName").is_some_and(|name| !name.is_null())
        || metadata::entry(ingress, "annotations", "kubernetes.io/ingress.class").is_some();
    if named {
        return;
    }
    if let Some(class) = default(writer, "networking.k8s.io", "ingressclasses", DEFAULT_INGRESS) {
        ingress["spec"]["ingressClassName"] = metadata::name(&class).into();
    }
}

/// The newest class that is marked as default; the first by name if several are as new.
fn default(
    writer: &Writer<'_>,
    group: &str,
    resource: &str,
    annotation: &str,
) -> Option<Arc<Value>> {
    writer
        .state
        .list(group, resource, None)
        .into_iter()
        .filter(|class| metadata::entry(class, "annotations", annotation) == Some("true"))
        .max_by(|left, right| {
            let age = |class: &Value| metadata::text(class, "creationTimestamp").to_owned();
            age(left).cmp(&age(right)).then_with(|| metadata::name(right).cmp(metadata::name(left)))
        })
}
