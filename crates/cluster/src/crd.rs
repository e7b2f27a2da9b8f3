//! CustomResourceDefinitions and the resources that they define.
//!
//! ```text
//! definition written ─▶ controller: names, conditions, Established ─▶ resources() ─▶ registry
//! request for it     ─▶ current(): is the registry's entry of the newest definition? ─▶ verbs
//! ```
//!
//! - `version`: one served version: how its objects are decoded, defaulted, validated, stored.
//! - `columns`, `json_path`: tables by `additionalPrinterColumns`.
//! - `controller`: what upstream's naming, establishing and finalizing controllers do.
//! - `openapi`: OpenAPI v3 documents of custom groups.
//! - `rules`: CEL rules of schemas.

mod columns;
pub(crate) mod controller;
mod json_path;
pub(crate) mod openapi;
pub(crate) mod rules;
mod serving;
mod version;

use std::sync::Arc;

use serde_json::Value;
use sluice_schema::structural::definition;

use crate::resource::Resource;
use crate::state::State;
use crate::store::{GroupResource, Stored};

/// The group and resource of definitions.
pub(crate) fn definitions() -> GroupResource {
    GroupResource::new("apiextensions.k8s.io", "customresourcedefinitions")
}

/// Keeps a definition until its objects are gone.
pub(crate) const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

fn is_true(definition: &Value, condition: &str) -> bool {
    definition::condition(definition, condition).is_some_and(|found| found["status"] == "True")
}

/// Serves the resources of a stored definition once it is established.
fn serve(state: &State, stored: &Stored) {
    let definition = &stored.value;
    let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).unwrap_or("");
    let (group, plural) = (text("/spec/group"), text("/status/acceptedNames/plural"));
    if plural.is_empty() || state.registry.definition(group, plural) == Some(stored.revision) {
        return;
    }
    let resources = if is_true(definition, "Established") {
        serving::resources(definition, stored.revision)
    } else {
        Vec::new()
    };
    state.registry.set_custom(group, plural, resources);
}

/// The resource of a request, made from the newest definition. Upstream applies a changed definition
/// a moment later; here the next request already uses it, so that a run can be repeated.
pub(crate) fn current(state: &State, found: Arc<Resource>) -> Option<Arc<Resource>> {
    if !found.shape.is_custom() {
        return Some(found);
    }
    let name = format!("{}.{}", found.plural, found.group);
    let stored = state.store.get(&definitions(), &name)?;
    if found.definition == stored.revision {
        return Some(found);
    }
    serve(state, &stored);
    state.registry.find(&found.group, &found.version, &found.plural)
}
