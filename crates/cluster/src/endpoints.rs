//! Paths that are not resources: version, health, discovery, OpenAPI.

mod discovery;
mod openapi;

use std::sync::Arc;

use http::{HeaderMap, Method, Response, StatusCode};
use serde_json::json;
use sluice_schema::recorded;

use crate::auth::Authority;
use crate::body::{self, Body};
use crate::negotiate::Encoding;
use crate::request::Query;
use crate::state::State;
use crate::status::Status;

/// Serves a path that is not a resource.
pub(crate) fn serve(
    state: &Arc<State>,
    method: &Method,
    path: &str,
    query: &Query,
    headers: &HeaderMap,
) -> Result<Response<Body>, Status> {
    let trimmed = path.trim_end_matches('/');
    if *method != Method::GET && *method != Method::HEAD {
        return Err(Status::page_not_found());
    }
    let parts: Vec<&str> = trimmed.trim_start_matches('/').split('/').collect();
    match parts.as_slice() {
        ["version"] => Ok(body::object(200, Encoding::Indented, recorded::version())),
        ["healthz" | "livez" | "readyz"]
        | ["healthz" | "livez" | "readyz", "etcd" | "log" | "ping" | "readiness"] => {
            Ok(health(parts[0], query))
        }
        ["api" | "apis", ..] => discovery::serve(state, &parts, headers),
        ["openapi", "v3"] => Ok(openapi::index(state)),
        ["openapi", "v3", rest @ ..] => {
            Ok(openapi::document(state, &rest.join("/"), query, headers))
        }
        ["openapi", "v2"] => Ok(openapi::version_two(state, headers)),
        [".well-known", "openid-configuration"] => Ok(body::text(
            StatusCode::OK,
            "application/json",
            Authority::openid_configuration().to_string(),
        )),
        ["openid", "v1", "jwks"] => Ok(body::text(
            StatusCode::OK,
            "application/jwk-set+json",
            state.authority.key_set().to_string(),
        )),
        [""] => Ok(body::object(200, Encoding::Indented, &json!({"paths": paths(state)}))),
        _ => Err(Status::page_not_found()),
    }
}

fn health(endpoint: &str, query: &Query) -> Response<Body> {
    let text = if query.get("verbose").is_some() {
        format!("[+]ping ok\n[+]log ok\n[+]etcd ok\n{endpoint} check passed\n")
    } else {
        "ok".to_owned()
    };
    body::text(StatusCode::OK, "text/plain; charset=utf-8", text)
}

fn paths(state: &State) -> Vec<String> {
    let mut out = vec!["/api".to_owned(), "/api/v1".to_owned(), "/apis".to_owned()];
    for resource in state.registry.all() {
        if !resource.group.is_empty() {
            out.push(format!("/apis/{}", resource.group));
            out.push(format!("/apis/{}/{}", resource.group, resource.version));
        }
    }
    for fixed in ["/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"] {
        out.push(fixed.to_owned());
    }
    out.sort();
    out.dedup();
    out
}
