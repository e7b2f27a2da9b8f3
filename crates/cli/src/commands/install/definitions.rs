//! Flux's CRDs, with the labels of its own manifests.

use serde_json::Value;
use sluice_controllers::table::Controller;

use super::plan::{ELSEWHERE, Plan};

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
    let (group, kind) = (text("/spec/group")?, text("/spec/names/kind")?);
    if let Some(controller) = Controller::of_group(group) {
        return Some(controller.name());
    }
    let fits = |only: Option<&str>| only.is_none_or(|only| only == kind);
    ELSEWHERE.iter().find(|(_, of, only)| *of == group && fits(*only)).map(|(name, ..)| *name)
}
