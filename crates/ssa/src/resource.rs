//! API requests for objects of any kind, as JSON.

use std::fmt::Write as _;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use http::Request;
use kube::Client;
use kube::core::WatchEvent;
use serde_json::{Value, json};

use crate::failure::ApiError;

/// The timeout of a watch, in seconds; afterwards the state is read again.
const WATCH_SECONDS: u32 = 290;

/// The page size of lists.
const PAGE: u32 = 500;

/// The maximum number of retries that the server asks for.
const RETRIES: usize = 10;

/// The maximum `Retry-After` that is respected, in seconds.
const MOST_SECONDS: u32 = 30;

/// A resource of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// API group.
    pub group: String,
    /// Version without the group.
    pub version: String,
    /// Name of the resource in paths.
    pub plural: String,
    /// Whether it is namespaced.
    pub namespaced: bool,
}

/// A page of a list.
pub(crate) struct Listed {
    pub(crate) items: Vec<Value>,
    pub(crate) resource_version: String,
}

/// The objects of a list or a watch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choice {
    /// One object by its name.
    pub(crate) name: Option<String>,
    /// A label selector.
    pub(crate) labels: Option<String>,
}

impl Choice {
    fn query(&self) -> String {
        let mut query = String::new();
        if let Some(name) = &self.name {
            let _ = write!(query, "&fieldSelector=metadata.name%3D{}", encoded(name));
        }
        if let Some(labels) = &self.labels {
            let _ = write!(query, "&labelSelector={}", encoded(labels));
        }
        query
    }
}

impl Resource {
    /// The path of all objects, or of those of a namespace.
    fn collection(&self, namespace: &str) -> String {
        let mut path = if self.group.is_empty() {
            format!("/api/{}", encoded(&self.version))
        } else {
            format!("/apis/{}/{}", encoded(&self.group), encoded(&self.version))
        };
        if self.namespaced && !namespace.is_empty() {
            let _ = write!(path, "/namespaces/{}", encoded(namespace));
        }
        let _ = write!(path, "/{}", encoded(&self.plural));
        path
    }

    fn object(&self, namespace: &str, name: &str) -> String {
        format!("{}/{}", self.collection(namespace), encoded(name))
    }

    pub(crate) async fn get(
        &self,
        client: &Client,
        namespace: &str,
        name: &str,
    ) -> Result<Value, ApiError> {
        send(client, request("GET", &self.object(namespace, name), None, &Value::Null)?).await
    }

    /// Server-side apply with force, or its dry run.
    pub(crate) async fn apply(
        &self,
        client: &Client,
        object: &Value,
        field_manager: &str,
        dry_run: bool,
    ) -> Result<Value, ApiError> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or("");
        let path = format!(
            "{}?{}fieldManager={}&force=true",
            self.object(text("/metadata/namespace"), text("/metadata/name")),
            if dry_run { "dryRun=All&" } else { "" },
            encoded(field_manager)
        );
        send(client, request("PATCH", &path, Some("application/apply-patch+yaml"), object)?).await
    }

    pub(crate) async fn json_patch(
        &self,
        client: &Client,
        (namespace, name): (&str, &str),
        patch: &Value,
        field_manager: &str,
    ) -> Result<Value, ApiError> {
        let path =
            format!("{}?fieldManager={}", self.object(namespace, name), encoded(field_manager));
        send(client, request("PATCH", &path, Some("application/json-patch+json"), patch)?).await
    }

    /// Deletes an object with its uid as a precondition.
    pub(crate) async fn delete(
        &self,
        client: &Client,
        (namespace, name): (&str, &str),
        uid: Option<&str>,
        propagation: &str,
    ) -> Result<(), ApiError> {
        let mut options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation,
        });
        if let Some(uid) = uid {
            options["preconditions"] = json!({"uid": uid});
        }
        let path = self.object(namespace, name);
        send(client, request("DELETE", &path, Some("application/json"), &options)?).await.map(drop)
    }

    pub(crate) async fn list(
        &self,
        client: &Client,
        namespace: &str,
        choice: &Choice,
    ) -> Result<Listed, ApiError> {
        let mut items = Vec::new();
        let mut next = String::new();
        loop {
            let path =
                format!("{}?limit={PAGE}{}{next}", self.collection(namespace), choice.query());
            let mut page = send(client, request("GET", &path, None, &Value::Null)?).await?;
            if let Some(Value::Array(found)) = page.get_mut("items").map(Value::take) {
                items.extend(found);
            }
            let metadata = |field: &str| {
                page.pointer(&format!("/metadata/{field}"))
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned()
            };
            match metadata("continue").as_str() {
                "" => return Ok(Listed { items, resource_version: metadata("resourceVersion") }),
                token => next = format!("&continue={}", encoded(token)),
            }
        }
    }

    /// Changes since a resource version; without one, the current objects come first.
    pub(crate) async fn watch(
        &self,
        client: &Client,
        namespace: &str,
        choice: &Choice,
        since: Option<&str>,
    ) -> Result<BoxStream<'static, Result<WatchEvent<Value>, ApiError>>, ApiError> {
        let mut path = format!(
            "{}?watch=true&timeoutSeconds={WATCH_SECONDS}{}",
            self.collection(namespace),
            choice.query()
        );
        if let Some(version) = since {
            let _ = write!(path, "&resourceVersion={}", encoded(version));
        }
        let request = request("GET", &path, None, &Value::Null)?;
        let events = client.request_events::<Value>(request).await?;
        Ok(events.map(|event| event.map_err(ApiError::from)).boxed())
    }
}

/// The response to a GET of any path.
pub(crate) async fn get_path(client: &Client, path: &str, accept: &str) -> Result<Value, ApiError> {
    let request = Request::get(path)
        .header(http::header::ACCEPT, accept)
        .body(Vec::new())
        .map_err(|error| ApiError::Transport(error.to_string()))?;
    send(client, request).await
}

fn request(
    verb: &str,
    path: &str,
    content_type: Option<&str>,
    body: &Value,
) -> Result<Request<Vec<u8>>, ApiError> {
    let mut builder =
        Request::builder().method(verb).uri(path).header(http::header::ACCEPT, "application/json");
    let mut bytes = Vec::new();
    if let Some(content_type) = content_type {
        builder = builder.header(http::header::CONTENT_TYPE, content_type);
        bytes = body.to_string().into_bytes();
    }
    builder.body(bytes).map_err(|error| ApiError::Transport(error.to_string()))
}

/// Sends a request, and retries as the server asks, like Go's client. All requests are idempotent: reads, applies,
/// and deletions by uid.
async fn send(client: &Client, request: Request<Vec<u8>>) -> Result<Value, ApiError> {
    for _ in 0..RETRIES {
        let error = match client.request::<Value>(request.clone()).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let kube::Error::Api(status) = &error else { return Err(error.into()) };
        let asked = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
        let seconds = match status.code {
            429 => asked.max(1),
            500.. if asked > 0 => asked,
            _ => return Err(error.into()),
        };
        tokio::time::sleep(Duration::from_secs(u64::from(seconds.min(MOST_SECONDS)))).await;
    }
    Ok(client.request::<Value>(request).await?)
}

/// Encodes a text for a path or a query.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
