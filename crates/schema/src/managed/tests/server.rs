//! Answers of a real kube-apiserver: ownership of built-in kinds and custom resources, byte for byte.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sluice_base::gojson;

use super::super::{
    CustomVersions, Error, OneVersion, ReplicasPaths, Request, apply, entries, parent_entries,
    reset_filters, scale_entries, update,
};
use crate::gotypes::{Document, Types};
use crate::smd::{Filter, PathElement, TypeRef, Unknown, Versions, write_fields_v1_value};

const GOLDEN: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/goldens/managed-fields-kube-apiserver-1.35.4.jsonl.gz"
);

/// A kind with everything a request needs.
struct Kind {
    types: TypeRef,
    versions: Box<dyn Versions>,
    filters: BTreeMap<String, Filter>,
    empty: Value,
}

fn kind(
    api_version: &str,
    kind: &str,
    subresource: &str,
    schemas: &BTreeMap<String, Value>,
) -> Kind {
    if let Some(types) = TypeRef::recorded(api_version, kind) {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let bare = json!({"apiVersion": api_version, "kind": kind});
        let empty = Types::recorded().decode(api_version, kind, Document::from(bare));
        return Kind {
            types,
            versions: Box::new(OneVersion),
            filters: reset_filters(group, kind, subresource),
            empty: empty.expect("an empty object").value,
        };
    }
    let types: BTreeMap<_, _> = schemas
        .iter()
        .map(|(version, schema)| {
            let types = TypeRef::from_crd(Some(schema), Unknown::Refused).expect("a schema");
            (version.clone(), types)
        })
        .collect();
    let reset = if subresource == "status" { "spec" } else { "status" };
    let filters = types.keys().map(|name| (name.clone(), Filter::without(&[&[reset]]))).collect();
    Kind {
        types: types[api_version].clone(),
        versions: Box::new(CustomVersions { types }),
        filters,
        empty: json!({"apiVersion": api_version, "kind": kind}),
    }
}

/// The latest time of the object's entries.
fn latest(object: &Value) -> String {
    let times = entries::entries_of(object).unwrap_or_default().iter();
    times.filter_map(|entry| entry["time"].as_str()).max().unwrap_or_default().to_owned()
}

fn text<'v>(step: &'v Value, name: &str) -> &'v str {
    step[name].as_str().unwrap_or_default()
}

/// The entries after a step, or the error.
fn take(step: &Value, schemas: &BTreeMap<String, Value>) -> Result<Vec<Value>, Error> {
    let kind =
        kind(text(step, "apiVersion"), text(step, "kind"), text(step, "subresource"), schemas);
    let now = latest(&step["after"]);
    let request = Request {
        types: &kind.types,
        versions: &*kind.versions,
        api_version: text(step, "apiVersion"),
        kind: text(step, "kind"),
        subresource: text(step, "subresource"),
        manager: text(step, "manager"),
        now: &now,
        filters: &kind.filters,
        empty: &kind.empty,
    };
    let live = if step["before"].is_null() { &kind.empty } else { &step["before"] };
    let object = if text(step, "type") == "apply" {
        apply(&request, live, &step["body"], step["force"] == true)?
    } else {
        // What the server was about to write is what it answered, but for the entries.
        let mut new = step["after"].clone();
        entries::remove_entries(&mut new);
        if let Some(entries) = step["body"]["metadata"].get("managedFields") {
            new["metadata"]["managedFields"] = entries.clone();
        }
        update(&request, live, new)
    };
    Ok(entries::entries_of(&object).unwrap_or_default().to_vec())
}

/// The parent's entries after a write to its Scale.
fn scale(step: &Value) -> Vec<Value> {
    let before = entries::entries_of(&step["before"]).expect("entries");
    let path = vec![PathElement::field("spec"), PathElement::field("replicas")];
    let paths = ReplicasPaths::from([(text(step, "apiVersion").to_owned(), Some(path))]);
    let now = latest(&step["after"]);
    let scale = |parent: &Value| {
        json!({
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {"uid": parent["metadata"]["uid"]},
            "spec": {"replicas": parent["spec"]["replicas"]},
        })
    };
    let mut live = scale(&step["before"]);
    live["metadata"]["managedFields"] = scale_entries(before, &paths).expect("entries").into();
    let kind = kind("autoscaling/v1", "Scale", "scale", &BTreeMap::new());
    let request = Request {
        types: &kind.types,
        versions: &*kind.versions,
        api_version: "autoscaling/v1",
        kind: "Scale",
        subresource: "scale",
        manager: text(step, "manager"),
        now: &now,
        filters: &kind.filters,
        empty: &kind.empty,
    };
    let written = update(&request, &live, scale(&step["after"]));
    let written = entries::entries_of(&written).expect("entries");
    parent_entries(before, written, text(step, "apiVersion"), &paths).expect("entries")
}

/// Causes of several managers come in no order upstream.
fn by_message(mut causes: Vec<Value>) -> Vec<Value> {
    causes.sort_by_key(|cause| text(cause, "message").to_owned());
    causes
}

#[test]
fn entries_are_those_of_a_real_server() {
    let mut schemas = BTreeMap::new();
    let mut wrong = Vec::new();
    let steps = super::lines(&std::env::var("SMD_SERVER").unwrap_or_else(|_| GOLDEN.to_owned()));
    for (number, step) in steps.iter().enumerate() {
        if text(step, "kind") == "CustomResourceDefinition" {
            for version in step["body"]["spec"]["versions"].as_array().into_iter().flatten() {
                let name = format!("example.com/{}", text(version, "name"));
                schemas.insert(name, version["schema"]["openAPIV3Schema"].clone());
            }
        }
        let outcome = if text(step, "subresource") == "scale" {
            Ok(scale(step))
        } else {
            take(step, &schemas)
        };
        let code = step["code"].as_u64().unwrap_or_default();
        let expected = match code {
            // Validation comes after ownership.
            422 => continue,
            200 | 201 => {
                json!({"entries": step["after"]["metadata"]["managedFields"], "fields": step["fields"]})
            }
            409 => {
                let causes = step["after"]["details"]["causes"].as_array().cloned();
                json!({"code": 409, "message": step["after"]["message"],
                       "causes": by_message(causes.unwrap_or_default())})
            }
            other => json!({"code": other, "message": step["after"]["message"]}),
        };
        let custom = text(step, "apiVersion").starts_with("example.com/");
        let ours = match outcome {
            Ok(entries) => {
                let fields: Vec<_> = entries
                    .iter()
                    .map(|entry| {
                        if custom {
                            return gojson::to_string(&entry["fieldsV1"]);
                        }
                        let mut out = String::new();
                        write_fields_v1_value(&mut out, &entry["fieldsV1"]);
                        out
                    })
                    .collect();
                let absent = entries.is_empty();
                json!({
                    "entries": if absent { Value::Null } else { entries.into() },
                    "fields": if absent { Value::Null } else { fields.into() },
                })
            }
            Err(Error::Conflict(conflict)) => {
                let causes: Vec<_> = conflict
                    .causes
                    .iter()
                    .map(|cause| {
                        json!({"reason": "FieldManagerConflict", "message": cause.message,
                                        "field": cause.field})
                    })
                    .collect();
                json!({"code": 409, "message": conflict.message, "causes": by_message(causes)})
            }
            Err(Error::BadRequest(message)) => json!({"code": 400, "message": message}),
            Err(Error::Internal(message)) => json!({"code": 500, "message": message}),
        };
        if ours != expected {
            wrong.push(format!(
                "step {number}: {} {} {} {}\nexpected {expected}\nours     {ours}",
                text(step, "method"),
                text(step, "path"),
                text(step, "type"),
                text(step, "manager"),
            ));
        }
    }
    println!("{} of {} steps differ", wrong.len(), steps.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
