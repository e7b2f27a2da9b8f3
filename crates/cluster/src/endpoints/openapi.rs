//! OpenAPI v3, a document per group and version, and v2, one document that is derived from them; in JSON or protobuf.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use serde_json::{Map, Value, json};
use sluice_schema::protobuf::openapi as protobuf;
use sluice_schema::{openapi_v2, recorded};

use crate::body::{self, Body};
use crate::crd::openapi::{self, hash};
use crate::negotiate;
use crate::request::Query;
use crate::state::State;

/// `/openapi/v3`: the index of documents.
pub(super) fn index(state: &Arc<State>) -> Response<Body> {
    let mut paths = Map::new();
    let built_in = recorded::openapi();
    for name in built_in.documents() {
        if let Some(url) = built_in.url(name) {
            paths.insert(name.to_owned(), json!({"serverRelativeURL": url}));
        }
    }
    for (name, document) in openapi::documents(state).iter() {
        let url = format!("/openapi/v3/{name}?hash={}", hash(document));
        paths.insert(name.clone(), json!({"serverRelativeURL": url}));
    }
    // Upstream sends this without a JSON content type.
    let text = json!({"paths": paths}).to_string();
    body::text(StatusCode::OK, "text/plain; charset=utf-8", text)
}

/// A status without a body.
fn bare(code: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::Whole(None));
    *response.status_mut() = code;
    response
}

/// `/openapi/v3/NAME`: one document.
pub(super) fn document(
    state: &Arc<State>,
    name: &str,
    query: &Query,
    headers: &HeaderMap,
) -> Response<Body> {
    let (document, tag) = if let Some(document) = recorded::openapi().document(name) {
        let url = recorded::openapi().url(name).unwrap_or_default();
        let tag =
            url.rsplit_once("hash=").map_or_else(|| hash(&document), |(_, tag)| tag.to_owned());
        (document, tag)
    } else {
        let documents = openapi::documents(state);
        let Some((_, document)) = documents.iter().find(|(found, _)| found == name) else {
            return bare(StatusCode::NOT_FOUND);
        };
        (document.clone(), hash(document))
    };
    let mut response = match accepted(headers, "v3") {
        None => bare(StatusCode::NOT_ACCEPTABLE),
        Some(Form::Json) => tagged(headers, JSON, &tag, || document.to_string().into()),
        Some(Form::Protobuf) => {
            tagged(headers, V3_PROTOBUF, &tag, || protobuf::version_three(&document).into())
        }
    };
    if query.get("hash") == Some(tag.as_str()) {
        let forever = HeaderValue::from_static("public, immutable");
        response.headers_mut().insert(CACHE_CONTROL, forever);
    }
    response
}

/// `/openapi/v2`: everything in one document.
pub(super) fn version_two(state: &Arc<State>, headers: &HeaderMap) -> Response<Body> {
    let Some(form) = accepted(headers, "v2") else { return bare(StatusCode::NOT_ACCEPTABLE) };
    let document = openapi::version_two(state, v2_document);
    match form {
        Form::Json => tagged(headers, JSON, &document.tag, || document.json.clone()),
        Form::Protobuf => tagged(headers, V2_PROTOBUF, &document.tag, || document.protobuf.clone()),
    }
}

/// The v2 document of the built-in API and of these custom groups.
fn v2_document(custom: &[(String, Value)]) -> Value {
    static BUILT_IN: OnceLock<(Map<String, Value>, Map<String, Value>)> = OnceLock::new();
    let (paths, definitions) = BUILT_IN.get_or_init(|| {
        let openapi = recorded::openapi();
        let documents = openapi.documents().filter_map(|name| openapi.document(name));
        let paths = documents.flat_map(|document| openapi_v2::paths(&document["paths"])).collect();
        let schemas = openapi
            .schema_names()
            .filter_map(|name| Some((name.to_owned(), openapi_v2::schema(openapi.schema(name)?))));
        (paths, schemas.collect())
    });
    let (mut paths, mut definitions) = (paths.clone(), definitions.clone());
    for (_, document) in custom {
        paths.extend(openapi_v2::paths(&document["paths"]));
        for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
            definitions.entry(name.clone()).or_insert_with(|| openapi_v2::schema(schema));
        }
    }
    json!({
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": format!("v{}", recorded::RELEASE)},
        "paths": paths,
        "definitions": definitions,
        "securityDefinitions": {"BearerToken": {
            "type": "apiKey", "name": "authorization", "in": "header",
            "description": "Bearer Token authentication",
        }},
        "security": [{"BearerToken": []}],
    })
}

const JSON: &str = "application/json";
const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
const V3_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Protobuf,
}

/// The first supported form in the order of quality; `None` if neither is acceptable.
fn accepted(headers: &HeaderMap, version: &str) -> Option<Form> {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let accept = if accept.trim().is_empty() { "*/*" } else { accept };
    negotiate::clauses(accept).iter().find_map(|clause| {
        let kind = match clause.media_type.strip_prefix("application/") {
            Some(kind) => kind,
            None if clause.media_type == "*/*" => "*",
            None => return None,
        };
        // The name with the @ is not a valid media type, but clients ask for it.
        let versioned = kind.strip_prefix("com.github.proto-openapi.spec.");
        match versioned.and_then(|rest| rest.strip_prefix(version)) {
            Some("@v1.0+protobuf" | ".v1.0+protobuf") => Some(Form::Protobuf),
            _ if kind == "json" || kind == "*" => Some(Form::Json),
            _ => None,
        }
    })
}

/// A response with an `ETag`; 304 if the client has it.
fn tagged(
    headers: &HeaderMap,
    content_type: &'static str,
    tag: &str,
    body: impl FnOnce() -> Bytes,
) -> Response<Body> {
    let quoted = format!("\"{tag}\"");
    let known = headers.get(IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let is_known = known.is_some_and(|tags| {
        tags.split(',').map(|tag| tag.trim().trim_start_matches("W/")).any(|it| it == quoted)
    });
    let mut response = if is_known {
        bare(StatusCode::NOT_MODIFIED)
    } else {
        let mut response = body::text(StatusCode::OK, content_type, body());
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        response
    };
    response.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
    if let Ok(tag) = HeaderValue::from_str(&quoted) {
        response.headers_mut().insert(ETAG, tag);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_clause_that_can_be_served_wins() {
        let kubectl = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
        let cases = [
            ("", Some(Form::Json)),
            ("*/*", Some(Form::Json)),
            ("application/*", Some(Form::Json)),
            ("application/json", Some(Form::Json)),
            (kubectl, Some(Form::Protobuf)),
            (V2_PROTOBUF, Some(Form::Protobuf)),
            ("text/html, application/json;q=0.1", Some(Form::Json)),
            (&format!("application/json;q=0.5,{kubectl};q=0.9"), Some(Form::Protobuf)),
            (&format!("{kubectl};q=0.5,application/json"), Some(Form::Json)),
            ("application/yaml", None),
            (V3_PROTOBUF, None),
            ("text/*", None),
        ];
        for (accept, expected) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, accept.parse().unwrap());
            assert_eq!(super::accepted(&headers, "v2"), expected, "{accept}");
        }
    }
}
