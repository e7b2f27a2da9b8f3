//! The objects of a fresh cluster: namespaces, default roles, priority classes, the `kubernetes`
//! service.

use serde_json::Value;
use sluice_base::clock::Clock as _;
use sluice_base::time;
use sluice_schema::recorded;

use crate::auth::User;
use crate::resource::Resource;
use crate::state::State;
use crate::write::Writer;
use crate::{managed, metadata, store};

/// Stores the recorded objects without validation: a real cluster accepted them.
pub(crate) fn fill(state: &State) {
    let user = User::in_groups("system:apiserver", &["system:masters"]);
    for (path, objects) in recorded::bootstrap() {
        let Some(resource) = resource_of(state, path) else { continue };
        for object in objects {
            file(state, &user, &resource, object.clone());
        }
    }
}

/// The resource with the list at `path`.
fn resource_of(state: &State, path: &str) -> Option<std::sync::Arc<Resource>> {
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    match parts.as_slice() {
        ["api", version, .., plural] => state.registry.find("", version, plural),
        ["apis", group, version, .., plural] => state.registry.find(group, version, plural),
        _ => None,
    }
}

fn file(state: &State, user: &User, resource: &Resource, mut object: Value) {
    object["apiVersion"] = resource.api_version().into();
    object["kind"] = resource.kind.as_str().into();
    let namespace = metadata::namespace(&object).to_owned();
    let writer = Writer {
        state,
        resource,
        namespace: &namespace,
        named: "",
        subresource: "",
        user,
        manager: "kube-apiserver",
        dry_run: false,
    };
    resource.hooks.default(&mut object);
    resource.shape.normalize(&mut object);
    let mut object = managed::track(&writer, &Value::Null, object);
    metadata::set(&mut object, "uid", state.random.uuid());
    metadata::set(&mut object, "creationTimestamp", time::format_seconds(state.clock.now()));
    if resource.hooks.has_generation() {
        metadata::set(&mut object, "generation", 1);
    }
    let key = store::key(&namespace, metadata::name(&object));
    let stored = resource.shape.stored_form(object);
    // The recording holds every object once.
    let _ = state.store.create(&resource.storage, &key, stored);
}
