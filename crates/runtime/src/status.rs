//! Writing what was observed: a merge patch of what changed, and nothing where nothing did.

use kube::api::{Api, Patch, PatchParams};
use kube::core::DynamicObject;
use kube::discovery::ApiResource;
use serde_json::{Map, Value, json};
use sluice_api::crd::Definition;

use crate::error::ApiError;
use crate::key::Key;

/// The resource of a kind, for clients that know it only at run time.
pub fn api_resource(definition: &Definition) -> ApiResource {
    ApiResource {
        group: definition.group.to_owned(),
        version: definition.version.to_owned(),
        api_version: format!("{}/{}", definition.group, definition.version),
        kind: definition.kind.to_owned(),
        plural: definition.plural.to_owned(),
    }
}

/// Writes the status of an object as the difference to what it was; gives the object as it is then.
///
/// Lists are replaced whole. A write that changes nothing is not sent. Sending it twice is sending it once.
pub async fn patch_status(
    client: &kube::Client,
    definition: &Definition,
    key: &Key,
    manager: &str,
    before: &Value,
    after: &Value,
) -> Result<Option<DynamicObject>, ApiError> {
    let Some(difference) = merge_patch(before, after) else { return Ok(None) };
    let api: Api<DynamicObject> =
        Api::namespaced_with(client.clone(), &key.namespace, &api_resource(definition));
    let patch = Patch::Merge(json!({"status": difference}));
    let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
    let object = api.patch_status(&key.name, &params, &patch).await;
    object
        .map(Some)
        .map_err(|error| ApiError::new("patch the status of", definition.kind, key, error))
}

/// Writes metadata (finalizers, annotations) as a merge patch of its own.
pub async fn patch_metadata(
    client: &kube::Client,
    definition: &Definition,
    key: &Key,
    manager: &str,
    metadata: Value,
) -> Result<DynamicObject, ApiError> {
    let api: Api<DynamicObject> =
        Api::namespaced_with(client.clone(), &key.namespace, &api_resource(definition));
    let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
    let patch = Patch::Merge(json!({"metadata": metadata}));
    let object = api.patch(&key.name, &params, &patch).await;
    object.map_err(|error| ApiError::new("patch", definition.kind, key, error))
}

/// The merge patch that makes `after` of `before`; nothing where they are the same.
pub fn merge_patch(before: &Value, after: &Value) -> Option<Value> {
    if before == after {
        return None;
    }
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        return Some(after.clone());
    };
    let mut patch = Map::new();
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    for (name, value) in new {
        let difference = match old.get(name) {
            Some(there) => merge_patch(there, value),
            None => Some(value.clone()),
        };
        if let Some(difference) = difference {
            patch.insert(name.clone(), difference);
        }
    }
    Some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::merge_patch;

    #[test]
    fn only_what_changed_is_sent() {
        let before = json!({"a": 1, "b": {"c": 2, "d": 3}, "e": [1]});
        let after = json!({"a": 1, "b": {"c": 4}, "e": [1, 2], "f": {}});
        assert_eq!(
            merge_patch(&before, &after),
            Some(json!({"b": {"c": 4, "d": null}, "e": [1, 2], "f": {}}))
        );
        assert_eq!(merge_patch(&after, &after), None);
    }
}
