//! OpenAPI v3, a document per group and version; v2 is derived for the few who still ask.

use std::sync::Arc;

use http::{Response, StatusCode};
use serde_json::{Map, Value, json};
use sluice_schema::recorded;

use crate::body::{self, Body};
use crate::state::State;

/// `/openapi/v3`: where the documents are.
pub(super) fn index(state: &Arc<State>) -> Response<Body> {
    let mut paths = Map::new();
    let built_in = recorded::openapi();
    for name in built_in.documents() {
        if let Some(url) = built_in.url(name) {
            paths.insert(name.to_owned(), json!({"serverRelativeURL": url}));
        }
    }
    for (name, document) in crate::crd::openapi::documents(state) {
        let hash = crate::crd::openapi::hash(&document);
        let url = format!("/openapi/v3/{name}?hash={hash}");
        paths.insert(name, json!({"serverRelativeURL": url}));
    }
    // Upstream forgets to say that it is JSON.
    let text = json!({"paths": paths}).to_string();
    body::text(StatusCode::OK, "text/plain; charset=utf-8", text)
}

/// 404 without a word.
pub(super) fn absent() -> Response<Body> {
    let mut response = Response::new(Body::Whole(None));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

/// One document.
pub(super) fn document(state: &Arc<State>, name: &str) -> Option<Response<Body>> {
    if let Some(document) = recorded::openapi().document(name) {
        return Some(json_text(&document));
    }
    let documents = crate::crd::openapi::documents(state);
    documents.into_iter().find(|(found, _)| found == name).map(|(_, document)| json_text(&document))
}

/// The old single document: enough for clients that look up types in it.
pub(super) fn version_two(state: &Arc<State>) -> Response<Body> {
    let mut definitions = Map::new();
    let built_in = recorded::openapi();
    for name in built_in.schema_names() {
        if let Some(schema) = built_in.schema(name) {
            definitions.insert(name.to_owned(), moved(schema));
        }
    }
    for (_, document) in crate::crd::openapi::documents(state) {
        for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
            definitions.entry(name.clone()).or_insert_with(|| moved(schema));
        }
    }
    json_text(&json!({
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": format!("v{}", recorded::RELEASE)},
        "paths": {},
        "definitions": definitions,
    }))
}

/// A schema with its references pointing where v2 keeps them.
fn moved(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| match (name.as_str(), value.as_str()) {
                ("$ref", Some(target)) => {
                    (name.clone(), target.replace("#/components/schemas/", "#/definitions/").into())
                }
                _ => (name.clone(), moved(value)),
            })
            .collect::<Map<String, Value>>()
            .into(),
        Value::Array(items) => items.iter().map(moved).collect::<Vec<_>>().into(),
        other => other.clone(),
    }
}

fn json_text(value: &Value) -> Response<Body> {
    body::text(StatusCode::OK, "application/json", value.to_string())
}
