//! Reduces the answers of an API server to what cannot be derived.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use serde_json::{Map, Value, json};

type Members = BTreeMap<String, Value>;
type Outcome<T> = Result<T, Box<dyn Error>>;

const SCHEMA_PREFIX: &str = "#/components/schemas/";

/// The release of the server, without the leading `v`.
pub(super) fn release(answer: &Value) -> Outcome<String> {
    let version = answer["version"]["gitVersion"].as_str().ok_or("no gitVersion")?;
    Ok(version.trim_start_matches('v').to_owned())
}

/// All OpenAPI v3 documents as one set of schemas and, per document, its paths. Query parameters
/// repeat thousands of times and are numbered; the schemas of a document are those its paths reach.
pub(super) fn openapi(answer: &Value) -> Outcome<Members> {
    let mut members = Members::new();
    let mut parameters: Vec<Value> = Vec::new();
    let mut kinds = Map::new();
    let mut head = None;
    for (name, document) in object(&answer["openapi"])? {
        let own_head = json!({
            "openapi": document["openapi"],
            "info": document["info"],
            "securitySchemes": document["components"]["securitySchemes"],
        });
        if *head.get_or_insert_with(|| own_head.clone()) != own_head {
            return Err(format!("{name}: its head differs from the other documents'").into());
        }
        let empty = Map::new();
        let schemas = document["components"]["schemas"].as_object().unwrap_or(&empty);
        let reached = closure(&document["paths"], schemas);
        if !schemas.keys().eq(reached.iter()) {
            return Err(format!("{name}: its schemas are not those its paths reach").into());
        }
        for (schema_name, schema) in schemas {
            let key = format!("{SCHEMA_PREFIX}{schema_name}");
            if *members.entry(key).or_insert_with(|| schema.clone()) != *schema {
                return Err(format!("{schema_name} differs between documents").into());
            }
            for kind in schema["x-kubernetes-group-version-kind"].as_array().into_iter().flatten() {
                kinds.insert(kind_key(kind)?, json!(schema_name));
            }
        }
        let mut paths = document["paths"].clone();
        number_parameters(&mut paths, &mut parameters);
        members.insert(format!("/openapi/v3/{name}"), paths);
    }
    members.insert("head".to_owned(), head.ok_or("no documents")?);
    members.insert("kinds".to_owned(), Value::Object(kinds));
    members.insert("parameters".to_owned(), Value::Array(parameters));
    members.insert("urls".to_owned(), answer["urls"].clone());
    members.insert("version".to_owned(), answer["version"].clone());
    Ok(members)
}

/// Both forms of discovery.
pub(super) fn discovery(answer: &Value) -> Outcome<Members> {
    let mut members = Members::new();
    for (path, list) in object(&answer["discovery"])?.iter().chain(object(&answer["legacy"])?) {
        members.insert(path.clone(), list.clone());
    }
    Ok(members)
}

/// The objects of a fresh cluster, by list path, without what each server makes anew: identities,
/// versions, times and field managers.
pub(super) fn bootstrap(answer: &Value) -> Outcome<Members> {
    let mut members = Members::new();
    for (path, list) in object(&answer["bootstrap"])? {
        let api_version = &list["apiVersion"];
        let kind = list["kind"].as_str().unwrap_or_default().trim_end_matches("List");
        let mut items = list["items"].as_array().cloned().unwrap_or_default();
        for item in &mut items {
            item["apiVersion"] = api_version.clone();
            item["kind"] = json!(kind);
            if let Some(metadata) = item["metadata"].as_object_mut() {
                for field in ["uid", "resourceVersion", "managedFields", "generation"] {
                    metadata.remove(field);
                }
            }
            forget_times(item);
        }
        members.insert(path.clone(), Value::Array(items));
    }
    Ok(members)
}

fn forget_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| name != "creationTimestamp" && name != "lastTransitionTime");
            fields.values_mut().for_each(forget_times);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_times),
        _ => {}
    }
}

fn kind_key(kind: &Value) -> Outcome<String> {
    let text = |name: &str| kind[name].as_str().ok_or("a kind without group, version or kind");
    let (group, version, kind) = (text("group")?, text("version")?, text("kind")?);
    let slash = if group.is_empty() { "" } else { "/" };
    Ok(format!("{group}{slash}{version} {kind}"))
}

fn number_parameters(value: &mut Value, known: &mut Vec<Value>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::Array(items) if name == "parameters" => {
                        for item in items {
                            let number =
                                known.iter().position(|k| k == item).unwrap_or_else(|| {
                                    known.push(item.clone());
                                    known.len() - 1
                                });
                            *item = json!(number);
                        }
                    }
                    other => number_parameters(other, known),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| number_parameters(item, known)),
        _ => {}
    }
}

/// The names of the schemas that `start` refers to, directly or through other schemas.
fn closure(start: &Value, schemas: &Map<String, Value>) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut open = vec![start];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(reference)) = fields.get("$ref")
                    && let Some(name) = reference.strip_prefix(SCHEMA_PREFIX)
                    && reached.insert(name.to_owned())
                {
                    open.extend(schemas.get(name));
                }
                open.extend(fields.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    reached
}

fn object(value: &Value) -> Outcome<&Map<String, Value>> {
    value.as_object().ok_or_else(|| "an answer is no object".into())
}
