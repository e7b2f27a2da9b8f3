//! Objects of a cluster as JSON: applied, read and deleted under a field manager.

use std::time::Duration;

use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

/// How long a definition may take until it is served.
const ESTABLISHED: Duration = Duration::from_mins(1);

/// The objects of a cluster, as a field manager reads and writes them.
#[derive(Clone)]
pub struct Objects {
    client: Client,
    manager: String,
}

/// Why definitions could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The API server refused one.
    #[error("cannot apply {name}")]
    Apply {
        /// The definition.
        name: String,
        /// Why not.
        source: Box<kube::Error>,
    },
    /// One is not served.
    #[error("{0} is not established")]
    NotEstablished(String),
}

impl Objects {
    /// The objects that a client reaches.
    pub fn new(client: Client, manager: &str) -> Self {
        Self { client, manager: manager.to_owned() }
    }

    /// The API of the kind of an object, in its namespace.
    pub fn api(&self, object: &Value) -> Api<DynamicObject> {
        let api_version = text(object, "/apiVersion");
        let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str);
        self.kind(api_version, text(object, "/kind"), namespace)
    }

    /// The API of a kind.
    pub fn kind(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
    ) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let gvk = GroupVersionKind::gvk(group, version, kind);
        let resource = match kind {
            // Nothing else that is applied here has a plural that kube does not guess.
            "GitRepository" | "HelmRepository" | "OCIRepository" | "ImageRepository" => {
                let stem = kind.to_lowercase();
                ApiResource::from_gvk_with_plural(
                    &gvk,
                    &format!("{}ies", stem.trim_end_matches('y')),
                )
            }
            _ => ApiResource::from_gvk(&gvk),
        };
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }

    /// Applies an object and takes over fields of other managers.
    pub async fn apply(&self, object: &Value) -> Result<(), kube::Error> {
        let params = PatchParams::apply(&self.manager).force();
        let name = text(object, "/metadata/name");
        self.api(object).patch(name, &params, &Patch::Apply(object)).await.map(drop)
    }

    /// The object as it is now, if it is there.
    pub async fn get(&self, object: &Value) -> Result<Option<Value>, kube::Error> {
        let found = self.api(object).get_opt(text(object, "/metadata/name")).await?;
        found.map(|found| serde_json::to_value(found).map_err(kube::Error::SerdeError)).transpose()
    }

    /// Deletes an object.
    pub async fn delete(&self, object: &Value) -> Result<(), kube::Error> {
        let name = text(object, "/metadata/name");
        self.api(object).delete(name, &DeleteParams::default()).await.map(drop)
    }

    /// Applies the definitions of Flux's kinds in some API groups, and waits until they are served.
    pub async fn install_definitions(
        &self,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<(), InstallError> {
        let mut definitions = sluice_api::crds();
        definitions.retain(|definition| is_wanted(text(definition, "/spec/group")));
        let failed = |definition: &Value, error| InstallError::Apply {
            name: text(definition, "/metadata/name").to_owned(),
            source: Box::new(error),
        };
        for definition in &definitions {
            self.apply(definition).await.map_err(|error| failed(definition, error))?;
        }
        let began = tokio::time::Instant::now();
        for definition in &definitions {
            while !self
                .get(definition)
                .await
                .map_err(|error| failed(definition, error))?
                .is_some_and(|found| is_established(&found))
            {
                if began.elapsed() > ESTABLISHED {
                    let name = text(definition, "/metadata/name").to_owned();
                    return Err(InstallError::NotEstablished(name));
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        Ok(())
    }
}

fn is_established(definition: &Value) -> bool {
    let conditions = definition.pointer("/status/conditions").and_then(Value::as_array);
    let is = |it: &Value| it["type"] == json!("Established") && it["status"] == json!("True");
    conditions.is_some_and(|conditions| conditions.iter().any(is))
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
