//! Discovery of resources by kind. Loaded once and shared by all users of a cluster; an unknown kind is looked
//! up again, because its CRD may just have been applied.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kube::Client;
use serde_json::Value;
use tokio::time::Instant;

use crate::failure::ApiError;
use crate::object::ObjectKey;
use crate::resource::{Resource, get_path};

/// The `Accept` header for aggregated discovery, with the legacy form for older servers.
const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// How long an unknown kind is cached.
const DENIAL: Duration = Duration::from_secs(1);

/// Group, version and kind.
type Gvk = (String, String, String);

/// The known kinds of a cluster; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Discovery {
    known: Arc<Mutex<Known>>,
    /// Held during the first load, so that it happens once.
    first: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug, Default)]
struct Known {
    asked: bool,
    resources: BTreeMap<Gvk, Resource>,
    denied: BTreeMap<(String, String), Instant>,
}

impl Discovery {
    /// An empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// The resource of a key's kind. An unknown kind costs one request, at most once a second for each version of
    /// its group.
    pub async fn resolve(&self, client: &Client, key: &ObjectKey) -> Result<Resource, ApiError> {
        let gvk = (key.id.group.clone(), key.version.clone(), key.id.kind.clone());
        if let Some(found) = self.lookup(&gvk) {
            return Ok(found);
        }
        self.load(client).await?;
        if let Some(found) = self.lookup(&gvk) {
            return Ok(found);
        }
        let version = (key.id.group.clone(), key.version.clone());
        if !self.is_denied(&version) {
            self.load_version(client, &version).await?;
            if let Some(found) = self.lookup(&gvk) {
                return Ok(found);
            }
        }
        Err(ApiError::NoMatch { kind: key.id.kind.clone(), api_version: key.api_version() })
    }

    /// Removes the kinds of one version of a group, after the server did not find one of them.
    pub fn forget(&self, group: &str, version: &str) {
        self.known()
            .resources
            .retain(|(known, in_version, _), _| known != group || in_version != version);
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        // The data is consistent even after a panic.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lookup(&self, gvk: &Gvk) -> Option<Resource> {
        self.known().resources.get(gvk).cloned()
    }

    fn is_denied(&self, version: &(String, String)) -> bool {
        self.known().denied.get(version).is_some_and(|since| since.elapsed() < DENIAL)
    }

    /// Loads all kinds with one request, if the server supports that.
    async fn load(&self, client: &Client) -> Result<(), ApiError> {
        let _first = self.first.lock().await;
        if self.known().asked {
            return Ok(());
        }
        for path in ["/api", "/apis"] {
            let answer = get_path(client, path, AGGREGATED).await?;
            for (gvk, resource) in aggregated(&answer) {
                self.known().resources.insert(gvk, resource);
            }
        }
        self.known().asked = true;
        Ok(())
    }

    /// Loads the kinds of one version of a group.
    async fn load_version(
        &self,
        client: &Client,
        version: &(String, String),
    ) -> Result<(), ApiError> {
        let (group, name) = version;
        let path =
            if group.is_empty() { format!("/api/{name}") } else { format!("/apis/{group}/{name}") };
        let found = match get_path(client, &path, "application/json").await {
            Ok(answer) => legacy(&answer, group, name),
            Err(error) if error.is_not_found() => Vec::new(),
            Err(error) => return Err(error),
        };
        let mut known = self.known();
        // An unknown version is looked up again after a second at the earliest.
        known.denied.retain(|_, since| since.elapsed() < DENIAL);
        known.denied.insert(version.clone(), Instant::now());
        known.resources.extend(found);
        Ok(())
    }
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn items<'v>(value: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> {
    value.get(field).and_then(Value::as_array).into_iter().flatten()
}

/// The resources of an `APIGroupDiscoveryList`; none of any other response.
fn aggregated(answer: &Value) -> Vec<(Gvk, Resource)> {
    let mut out = Vec::new();
    if text(answer, "/kind") != "APIGroupDiscoveryList" {
        return out;
    }
    for group in items(answer, "items") {
        let name = text(group, "/metadata/name");
        for version in items(group, "versions") {
            let number = text(version, "/version");
            for resource in items(version, "resources") {
                let kind = text(resource, "/responseKind/kind");
                let found = Resource {
                    group: name.clone(),
                    version: number.clone(),
                    plural: text(resource, "/resource"),
                    namespaced: text(resource, "/scope") == "Namespaced",
                };
                out.push(((name.clone(), number.clone(), kind), found));
            }
        }
    }
    out
}

/// The resources of an `APIResourceList`, without subresources.
fn legacy(answer: &Value, group: &str, version: &str) -> Vec<(Gvk, Resource)> {
    items(answer, "resources")
        .filter(|resource| !text(resource, "/name").contains('/'))
        .map(|resource| {
            let found = Resource {
                group: group.to_owned(),
                version: version.to_owned(),
                plural: text(resource, "/name"),
                namespaced: resource.get("namespaced") == Some(&Value::Bool(true)),
            };
            ((group.to_owned(), version.to_owned(), text(resource, "/kind")), found)
        })
        .collect()
}
