//! The distribution protocol, from the registry's side.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, LINK, LOCATION, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use serde_json::{Value, json};

use super::{Doorkeeper, Registry};
use crate::oci::manifest::{Descriptor, Index, Manifest};
use crate::oci::media::INDEX;
use crate::oci::name::digest_of;

const DIGEST: HeaderName = HeaderName::from_static("docker-content-digest");

/// What a registry answers.
pub(super) fn answer(registry: &mut Registry, request: &Request<Bytes>) -> Response<Bytes> {
    let path = request.uri().path().to_owned();
    if path == "/token" {
        return token(registry, request);
    }
    if let Some(refusal) = door(registry, request) {
        return refusal;
    }
    let Some(rest) = path.strip_prefix("/v2/") else { return status(StatusCode::NOT_FOUND) };
    if rest.is_empty() {
        return json_answer(StatusCode::OK, &json!({}));
    }
    for part in ["/manifests/", "/blobs/uploads/", "/blobs/", "/tags/", "/referrers/"] {
        if let Some((name, what)) = rest.split_once(part) {
            return match part {
                "/manifests/" => manifests(registry, request, name, what),
                "/blobs/uploads/" => uploads(registry, request, name, what),
                "/blobs/" => blobs(registry, request, name, what),
                "/tags/" => tags(registry, request, name),
                _ => referrers(registry, name, what),
            };
        }
    }
    status(StatusCode::NOT_FOUND)
}

fn status(status: StatusCode) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = status;
    response
}

fn json_answer(code: StatusCode, body: &Value) -> Response<Bytes> {
    let mut response = status(code);
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    *response.body_mut() = Bytes::from(body.to_string());
    response
}

/// A refusal with a code, a message and more.
fn refuse(code: StatusCode, name: &str, message: &str, detail: &Value) -> Response<Bytes> {
    let error = json!({"code": name, "message": message, "detail": detail});
    json_answer(code, &json!({"errors": [error]}))
}

fn with_digest(mut response: Response<Bytes>, digest: &str) -> Response<Bytes> {
    if let Ok(value) = HeaderValue::from_str(digest) {
        response.headers_mut().insert(DIGEST, value);
    }
    response
}

/// The content for a GET; only what is said of it for a HEAD.
fn content(request: &Request<Bytes>, kind: &str, digest: &str, body: Bytes) -> Response<Bytes> {
    let mut response = with_digest(status(StatusCode::OK), digest);
    if let Ok(kind) = HeaderValue::from_str(kind) {
        response.headers_mut().insert(CONTENT_TYPE, kind);
    }
    if request.method() == Method::GET {
        *response.body_mut() = body;
    }
    response
}

fn authorization(request: &Request<Bytes>) -> Option<&str> {
    request.headers().get(AUTHORIZATION)?.to_str().ok()
}

fn basic(username: &str, password: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{username}:{password}")))
}

/// A refusal for who may not come in.
fn door(registry: &Registry, request: &Request<Bytes>) -> Option<Response<Bytes>> {
    let given = authorization(request);
    let host = host(request);
    let scheme = request.uri().scheme_str().unwrap_or("http");
    let bearer = format!("Bearer realm=\"{scheme}://{host}/token\",service=\"{host}\"");
    let (may, challenge) = match &registry.doorkeeper {
        Doorkeeper::Open => (true, String::new()),
        Doorkeeper::Basic(username, password) => {
            (given == Some(&basic(username, password)), "Basic realm=\"registry\"".to_owned())
        }
        Doorkeeper::Bearer(..) | Doorkeeper::Identity(_) => {
            (given == Some(&format!("Bearer {}", registry.token())), bearer)
        }
    };
    if may {
        return None;
    }
    let mut refusal =
        refuse(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", "authentication required", &Value::Null);
    if let Ok(value) = HeaderValue::from_str(&challenge) {
        refusal.headers_mut().insert(WWW_AUTHENTICATE, value);
    }
    Some(refusal)
}

pub(super) fn host(request: &Request<Bytes>) -> String {
    let named = request.uri().authority().map(ToString::to_string);
    let header = || request.headers().get(HOST)?.to_str().ok().map(ToOwned::to_owned);
    named.or_else(header).unwrap_or_default()
}

/// The token server.
fn token(registry: &Registry, request: &Request<Bytes>) -> Response<Bytes> {
    let form = String::from_utf8_lossy(request.body()).into_owned();
    let may = match &registry.doorkeeper {
        Doorkeeper::Open | Doorkeeper::Basic(..) => true,
        Doorkeeper::Bearer(username, password) => {
            authorization(request) == Some(&basic(username, password))
        }
        Doorkeeper::Identity(identity) => {
            let pair = format!("refresh_token={identity}");
            request.method() == Method::POST && form.split('&').any(|part| part == pair)
        }
    };
    if may {
        return json_answer(StatusCode::OK, &json!({"token": registry.token()}));
    }
    let message = "authentication required";
    refuse(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", message, &Value::Null)
}

fn manifests(
    registry: &mut Registry,
    request: &Request<Bytes>,
    name: &str,
    what: &str,
) -> Response<Bytes> {
    let is_digest = what.contains(':');
    if request.method() == Method::PUT {
        let body = request.body().clone();
        let digest = digest_of(&body).to_string();
        if is_digest && what != digest {
            let message = "provided digest did not match uploaded content";
            return refuse(StatusCode::BAD_REQUEST, "DIGEST_INVALID", message, &Value::Null);
        }
        let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().to_owned();
        let contents = registry.contents(name);
        contents.manifests.insert(digest.clone(), (kind, body));
        if !is_digest {
            contents.tags.insert(what.to_owned(), digest.clone());
        }
        return with_digest(status(StatusCode::CREATED), &digest);
    }
    let missing = || {
        let detail = if is_digest {
            format!("unknown manifest name={name} revision={what}")
        } else {
            format!("unknown tag={what}")
        };
        refuse(StatusCode::NOT_FOUND, "MANIFEST_UNKNOWN", "manifest unknown", &json!(detail))
    };
    let Some(contents) = registry.repositories.get(name) else { return missing() };
    let digest = if is_digest { Some(what) } else { contents.tags.get(what).map(String::as_str) };
    let Some(digest) = digest else { return missing() };
    let Some((kind, body)) = contents.manifests.get(digest) else { return missing() };
    content(request, kind, digest, body.clone())
}

fn blobs(
    registry: &Registry,
    request: &Request<Bytes>,
    name: &str,
    digest: &str,
) -> Response<Bytes> {
    let blob = registry.repositories.get(name).and_then(|contents| contents.blobs.get(digest));
    if let Some(body) = blob {
        return content(request, "application/octet-stream", digest, body.clone());
    }
    let message = "blob unknown to registry";
    refuse(StatusCode::NOT_FOUND, "BLOB_UNKNOWN", message, &json!(digest))
}

/// Uploads: begun with POST, perhaps sent in pieces with PATCH, ended with PUT.
fn uploads(
    registry: &mut Registry,
    request: &Request<Bytes>,
    name: &str,
    what: &str,
) -> Response<Bytes> {
    let located = |code, id: &str| {
        let mut response = status(code);
        let location = format!("/v2/{name}/blobs/uploads/{id}");
        if let Ok(location) = HeaderValue::from_str(&location) {
            response.headers_mut().insert(LOCATION, location);
        }
        response
    };
    // What came so far of an upload lies beside the blobs, under a name that no blob has.
    let part = format!("upload {what}");
    match *request.method() {
        Method::POST => {
            registry.uploads += 1;
            let id = registry.uploads.to_string();
            located(StatusCode::ACCEPTED, &id)
        }
        Method::PATCH => {
            let blobs = &mut registry.contents(name).blobs;
            let mut sent = blobs.remove(&part).unwrap_or_default().to_vec();
            sent.extend_from_slice(request.body());
            blobs.insert(part, sent.into());
            located(StatusCode::ACCEPTED, what)
        }
        Method::PUT => {
            let blobs = &mut registry.contents(name).blobs;
            let mut sent = blobs.remove(&part).unwrap_or_default().to_vec();
            sent.extend_from_slice(request.body());
            let digest = digest_of(&sent).to_string();
            if query(request).get("digest") != Some(&digest) {
                let message = "provided digest did not match uploaded content";
                return refuse(StatusCode::BAD_REQUEST, "DIGEST_INVALID", message, &Value::Null);
            }
            blobs.insert(digest.clone(), sent.into());
            with_digest(located(StatusCode::CREATED, what), &digest)
        }
        _ => status(StatusCode::METHOD_NOT_ALLOWED),
    }
}

fn query(request: &Request<Bytes>) -> BTreeMap<String, String> {
    let text = format!("http://r.test/?{}", request.uri().query().unwrap_or_default());
    reqwest::Url::parse(&text)
        .map(|url| url.query_pairs().into_owned().collect())
        .unwrap_or_default()
}

fn tags(registry: &Registry, request: &Request<Bytes>, name: &str) -> Response<Bytes> {
    let Some(contents) = registry.repositories.get(name) else {
        let message = "repository name not known to registry";
        return refuse(StatusCode::NOT_FOUND, "NAME_UNKNOWN", message, &json!({"name": name}));
    };
    let last = query(request).remove("last").unwrap_or_default();
    let size = if registry.page == 0 { usize::MAX } else { registry.page };
    let after: Vec<&String> = contents.tags.keys().filter(|tag| **tag > last).collect();
    let page: Vec<&&String> = after.iter().take(size).collect();
    let mut response = json_answer(StatusCode::OK, &json!({"name": name, "tags": page}));
    if let Some(last) = page.last().filter(|_| after.len() > page.len()) {
        let link = format!("</v2/{name}/tags/list?last={last}&n={size}>; rel=\"next\"");
        if let Ok(link) = HeaderValue::from_str(&link) {
            response.headers_mut().insert(LINK, link);
        }
    }
    response
}

fn referrers(registry: &Registry, name: &str, digest: &str) -> Response<Bytes> {
    if !registry.lists_referrers {
        return status(StatusCode::NOT_FOUND);
    }
    let contents = registry.repositories.get(name);
    let all = contents.into_iter().flat_map(|contents| &contents.manifests);
    let about = all.filter_map(|(own, (kind, body))| {
        let manifest: Manifest = serde_json::from_slice(body).ok()?;
        manifest.subject.as_ref().filter(|subject| subject.digest == digest)?;
        Some(Descriptor {
            media_type: kind.clone(),
            size: body.len() as u64,
            digest: own.clone(),
            artifact_type: Some(manifest.artifact_type.unwrap_or(manifest.config.media_type)),
            annotations: manifest.annotations,
            ..Descriptor::default()
        })
    });
    let index =
        Index { schema_version: 2, media_type: INDEX.to_owned(), manifests: about.collect() };
    let mut response = status(StatusCode::OK);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(INDEX));
    *response.body_mut() = serde_json::to_vec(&index).unwrap_or_default().into();
    response
}
