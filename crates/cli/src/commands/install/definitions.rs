//! Flux's CRDs, with the labels of its own manifests.

use serde_json::Value;

use super::plan::Plan;

/// The CRDs of Flux's kinds. Those of Flux Operator are not included: `flux uninstall` removes everything with Flux's
/// label, and they belong to another installation.
pub(super) fn definitions(plan: &Plan) -> Vec<Value> {
    let mut definitions = sluice_api::crds();
    definitions.retain(|definition| component(definition).is_some());
    for definition in &mut definitions {
        let more = component(definition).unwrap_or_default();
        let labels = plan.labels_and(&[("app.kubernetes.io/component", more)]);
        if let Some(metadata) = definition.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("labels".to_owned(), labels);
        }
    }
    definitions
}

/// The Flux controller of a kind.
fn component(definition: &Value) -> Option<&'static str> {
    let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str);
    Some(match (text("/spec/group")?, text("/spec/names/kind")?) {
        ("source.toolkit.fluxcd.io", _) => "source-controller",
        ("kustomize.toolkit.fluxcd.io", _) => "kustomize-controller",
        ("helm.toolkit.fluxcd.io", _) => "helm-controller",
        ("notification.toolkit.fluxcd.io", _) => "notification-controller",
        ("image.toolkit.fluxcd.io", "ImageUpdateAutomation") => "image-automation-controller",
        ("image.toolkit.fluxcd.io", _) => "image-reflector-controller",
        ("source.extensions.fluxcd.io", _) => "source-watcher",
        _ => return None,
    })
}
