//! Writes a status: a merge patch of what changed, and no request if nothing did.

use kube::api::{Api, Patch, PatchParams};
use kube::core::{DynamicObject, ObjectMeta};
use kube::discovery::ApiResource;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use sluice_api::crd::Definition;

use crate::error::ApiError;
use crate::key::Key;

/// How often a write is tried again because others write too.
const RACES: usize = 5;

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

/// The status that the API server has of an object, as far as this process knows, to be written over.
///
/// A write names the version that it replaces. If the object was changed in the meantime, it is written all the same
/// as long as the status is still the known one: annotations, a new spec or a finalizer are no reason to repeat a
/// pass. Another status is: a late write of an earlier process, or one of another process, must not be mixed with
/// what is known here.
#[derive(Debug)]
pub struct Written {
    status: Value,
    version: Option<String>,
    compares: bool,
}

impl Written {
    /// The status that an object was read with. Without `compares`, whatever is there is written over, which only
    /// simulations do.
    pub(crate) fn new(status: Value, metadata: &ObjectMeta, compares: bool) -> Self {
        Self { status, version: metadata.resource_version.clone(), compares }
    }

    /// Takes note of the answer to another write of our own.
    pub fn follow(&mut self, answer: &DynamicObject) {
        self.version.clone_from(&answer.metadata.resource_version);
    }

    /// Writes what differs; gives the object as it is then, or nothing where there was nothing to write. Lists
    /// are replaced whole. `S` is the status' type. Sending it twice is sending it once.
    pub async fn write<S>(
        &mut self,
        client: &kube::Client,
        definition: &Definition,
        key: &Key,
        manager: &str,
        after: Value,
    ) -> Result<Option<DynamicObject>, ApiError>
    where
        S: DeserializeOwned + Serialize,
    {
        let Some(difference) = merge_patch(&self.status, &after) else { return Ok(None) };
        let api: Api<DynamicObject> =
            Api::namespaced_with(client.clone(), &key.namespace, &api_resource(definition));
        let params =
            PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
        let failed = |error| ApiError::new("patch the status of", definition.kind, key, error);
        let mut tries = 0;
        let object = loop {
            let mut patch = json!({"status": difference});
            if self.compares {
                patch["metadata"] = json!({"resourceVersion": self.version});
            }
            match api.patch_status(&key.name, &params, &Patch::Merge(patch)).await {
                Ok(object) => break object,
                Err(kube::Error::Api(status)) if status.code == 409 && tries < RACES => {
                    tries += 1;
                    let live = api.get(&key.name).await.map_err(failed)?;
                    let status_there = status_of::<S>(&live);
                    if status_there == after {
                        // An answer was lost: it is written already.
                        break live;
                    }
                    if status_there != self.status {
                        return Err(failed(kube::Error::Api(status)));
                    }
                    self.follow(&live);
                }
                Err(error) => return Err(failed(error)),
            }
        };
        self.follow(&object);
        self.status = after;
        Ok(Some(object))
    }
}

/// The status of an object, with what its type knows of it and nothing else.
fn status_of<S: DeserializeOwned + Serialize>(object: &DynamicObject) -> Value {
    let there =
        object.data.get("status").cloned().and_then(|it| serde_json::from_value::<S>(it).ok());
    let status = there.and_then(|status| serde_json::to_value(status).ok());
    status.unwrap_or_else(|| json!({}))
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
