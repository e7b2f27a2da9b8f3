//! The schemas of a custom kind and its list, as OpenAPI v3 shows them.

use serde_json::{Map, Value, json};
use sluice_schema::recorded;

use super::Names;

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const CONVENTIONS: &str =
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";

fn reference(model: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{model}")})
}

fn metadata(model: &str, description: &str) -> Value {
    json!({"description": description, "allOf": [reference(&format!("{META}.{model}"))]})
}

/// The `apiVersion` and `kind` properties, with the descriptions of built-in kinds.
fn type_field(name: &str) -> Value {
    recorded::openapi()
        .schema("io.k8s.api.core.v1.ConfigMap")
        .map(|schema| schema["properties"][name].clone())
        .unwrap_or_default()
}

fn finish(schema: &mut Map<String, Value>, kind: &str, fields: Option<&Vec<Value>>, names: &Names) {
    let entry = json!([{"group": names.group, "kind": kind, "version": names.version}]);
    schema.insert("x-kubernetes-group-version-kind".to_owned(), entry);
    let paths: Vec<Value> = fields
        .into_iter()
        .flatten()
        .filter_map(|field| field["jsonPath"].as_str())
        .map(|path| json!({"fieldPath": path.strip_prefix('.').unwrap_or(path)}))
        .collect();
    if !paths.is_empty() {
        schema.insert("x-kubernetes-selectable-fields".to_owned(), paths.into());
    }
}

fn object_metadata() -> Value {
    metadata(
        "ObjectMeta",
        &format!("Standard object's metadata. More info: {CONVENTIONS}#metadata"),
    )
}

/// The schema of the kind: as written, with the properties of every object.
pub(super) fn object(
    written: Option<&Value>,
    selectable: Option<&Vec<Value>>,
    names: &Names,
) -> Value {
    let mut schema = Map::new();
    match written {
        None => {
            schema.insert("type".to_owned(), "object".into());
        }
        Some(written) => {
            let mut shown = written.clone();
            show(&mut shown);
            schema = shown.as_object().cloned().unwrap_or_default();
            let properties = schema.entry("properties").or_insert_with(|| json!({}));
            properties["apiVersion"] = type_field("apiVersion");
            properties["kind"] = type_field("kind");
            properties["metadata"] = object_metadata();
        }
    }
    finish(&mut schema, &names.kind, selectable, names);
    schema.into()
}

/// The schema of the list.
pub(super) fn list(selectable: Option<&Vec<Value>>, names: &Names) -> Value {
    let items = format!("List of {}. More info: {CONVENTIONS}", names.plural);
    let about = format!("Standard list metadata. More info: {CONVENTIONS}#types-kinds");
    let schema = json!({
        "description": format!("{} is a list of {}", names.list_kind, names.kind),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": type_field("apiVersion"),
            "items": {
                "description": items,
                "type": "array",
                "items": reference(&names.model(&names.kind)),
            },
            "kind": type_field("kind"),
            "metadata": metadata("ListMeta", &about),
        },
    });
    let mut schema = schema.as_object().cloned().unwrap_or_default();
    finish(&mut schema, &names.list_kind, selectable, names);
    schema.into()
}

/// Expands Kubernetes' extensions into plain schema, and drops examples and external documentation.
fn show(node: &mut Value) {
    let Some(fields) = node.as_object_mut() else { return };
    fields.remove("example");
    fields.remove("externalDocs");
    if let Some(properties) = fields.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(show);
    }
    for name in ["items", "additionalProperties"] {
        if let Some(below) = fields.get_mut(name) {
            show(below);
        }
    }
    if fields.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        spell_out_int_or_string(fields);
    }
    if fields.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true)) {
        let properties = fields.entry("properties").or_insert_with(|| json!({}));
        for (name, words) in [
            (
                "apiVersion",
                format!(
                    "apiVersion defines the versioned schema of this representation of an object. More info: {CONVENTIONS}#resources"
                ),
            ),
            (
                "kind",
                format!(
                    "kind is a string value representing the type of this object. In CamelCase. More info: {CONVENTIONS}#types-kinds"
                ),
            ),
        ] {
            properties[name] = json!({"description": words, "type": "string"});
        }
        properties["metadata"] = object_metadata();
        let required = fields.entry("required").or_insert_with(|| json!([]));
        if let Some(required) = required.as_array_mut() {
            for name in ["kind", "apiVersion"] {
                if !required.iter().any(|known| known == name) {
                    required.push(name.into());
                }
            }
        }
    }
}

fn spell_out_int_or_string(fields: &mut Map<String, Value>) {
    let both = json!([{"type": "integer"}, {"type": "string"}]);
    let first_of_all = fields.get("allOf").and_then(|all| all.get(0)).and_then(|f| f.get("anyOf"));
    if fields.get("anyOf") == Some(&both) || first_of_all == Some(&both) {
        return;
    }
    if fields.contains_key("anyOf") {
        let all = fields.entry("allOf").or_insert_with(|| json!([]));
        if let Some(all) = all.as_array_mut() {
            all.insert(0, json!({"anyOf": both}));
        }
    } else {
        fields.insert("anyOf".to_owned(), both);
    }
}
