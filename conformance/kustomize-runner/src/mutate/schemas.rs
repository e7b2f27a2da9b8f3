//! Mutations that tell the build about kinds: `openapi` and `crds`.

use serde_json::{Value, json};

use crate::case::Request;
use crate::mutate::random::Random;
use crate::mutate::world::{Object, World};

/// A schema that knows an object's kind, and merges its lists by name.
pub(crate) fn openapi(request: &mut Request, world: &World, random: &mut Random) -> Option<()> {
    let (layer, object) = world.pair(random)?;
    let layer = if random.chance(70) { world.layers.first()? } else { layer };
    let group_version = object.text("/apiVersion");
    let (group, version) = group_version.split_once('/').unwrap_or(("", group_version));
    let mut properties = json!({});
    for (name, value) in object.value.get("spec")?.as_object()? {
        properties[name] = match value {
            Value::Array(_) => json!({
                "type": "array", "items": { "type": "object" },
                "x-kubernetes-patch-merge-key": "name", "x-kubernetes-patch-strategy": "merge",
            }),
            Value::Object(_) => json!({ "type": "object" }),
            _ => json!({ "type": "string" }),
        };
    }
    let mut schema = json!({ "definitions": { "example.Kind": {
        "type": "object",
        "properties": { "spec": { "type": "object", "properties": properties } },
        "x-kubernetes-group-version-kind":
            [{ "group": group, "version": version, "kind": object.kind() }],
    } } });
    if random.chance(40) {
        let scope = if random.chance(50) { "namespaces/{namespace}/" } else { "" };
        schema["paths"] = json!({ format!("/apis/{group}/{version}/{scope}things/{{name}}"): {
            "get": { "x-kubernetes-group-version-kind":
                { "group": group, "version": version, "kind": object.kind() } },
        } });
    }
    let name = layer.add_file(request, "sluice-schema", schema.to_string());
    layer.change(request, |fields| {
        fields.insert("openapi".to_owned(), json!({ "path": name }));
    })
}

/// Definitions that say which fields of a kind hold names, labels and annotations.
pub(crate) fn definitions(request: &mut Request, world: &World, random: &mut Random) -> Option<()> {
    let custom = |object: &Object| object.text("/apiVersion").contains("example.com/");
    let (layer, object) = world.pair_where(random, custom).or_else(|| world.pair(random))?;
    let kind = object.kind();
    let package = "example.com/apis/v1";
    let mut crds = json!({
        format!("{package}.{kind}"): { "Schema": { "properties": {
            "apiVersion": { "type": "string" },
            "kind": { "type": "string" },
            "metadata": { "$ref": "k8s.io/apimachinery/pkg/apis/meta/v1.ObjectMeta" },
            "spec": { "$ref": format!("{package}.{kind}Spec") },
        } }, "Dependencies": [] },
        format!("{package}.{kind}Spec"): { "Schema": { "properties": {
            "configName": {
                "x-kubernetes-object-ref-api-version": "v1", "x-kubernetes-object-ref-kind": "ConfigMap",
            },
            "picks": { "type": "object", "x-kubernetes-label-selector": "" },
            "notes": { "type": "object", "x-kubernetes-annotation": "" },
        } }, "Dependencies": [] },
    });
    if random.chance(30) {
        crds[format!("{package}.{kind}Spec")]["Schema"]["properties"]["size"] =
            json!({ "x-kubernetes-identity": "" });
    }
    let name = layer.add_file(request, "sluice-definitions", crds.to_string());
    layer.append(request, "crds", json!(name))
}
