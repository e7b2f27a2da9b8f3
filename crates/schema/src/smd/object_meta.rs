//! The definition of `ObjectMeta`, which CRD schemas leave out and upstream puts in.

use std::sync::LazyLock;

use serde_json::{Value, json};

/// The name CRD schemas refer to the definition by.
pub(crate) const NAME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

const OWNER: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference";
const ENTRY: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry";

/// A definition among those `metadata` is made of.
pub(crate) fn definition(name: &str) -> Option<&'static Value> {
    static DEFINITIONS: LazyLock<Value> = LazyLock::new(definitions);
    DEFINITIONS.get(name)
}

fn definitions() -> Value {
    let text = json!({"type": "string"});
    let time = json!({"type": "string", "format": "date-time"});
    let texts = json!({"type": "object", "additionalProperties": text});
    let reference = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    json!({
        NAME: {
            "type": "object",
            "properties": {
                "annotations": texts,
                "creationTimestamp": time,
                "deletionGracePeriodSeconds": {"type": "integer"},
                "deletionTimestamp": time,
                "finalizers": {
                    "type": "array", "items": text, "x-kubernetes-list-type": "set",
                },
                "generateName": text,
                "generation": {"type": "integer"},
                "labels": texts,
                "managedFields": {
                    "type": "array", "items": reference(ENTRY), "x-kubernetes-list-type": "atomic",
                },
                "name": text,
                "namespace": text,
                "ownerReferences": {
                    "type": "array", "items": reference(OWNER),
                    "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
                },
                "resourceVersion": text,
                "selfLink": text,
                "uid": text,
            },
        },
        OWNER: {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "properties": {
                "apiVersion": text,
                "blockOwnerDeletion": {"type": "boolean"},
                "controller": {"type": "boolean"},
                "kind": text,
                "name": text,
                "uid": {"type": "string", "default": ""},
            },
        },
        ENTRY: {
            "type": "object",
            "properties": {
                "apiVersion": text,
                "fieldsType": text,
                "fieldsV1": {"type": "object"},
                "manager": text,
                "operation": text,
                "subresource": text,
                "time": time,
            },
        },
    })
}
