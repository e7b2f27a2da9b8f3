//! Reads and watches what a Kustomization depends on; `blocking.rs` decides whether it is ready.

mod blocking;

use std::sync::PoisonError;

use kube::api::Api;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::Value;
use sluice_api::kustomize::GROUP;
use sluice_api::kustomize::kustomization::Kustomization;
use sluice_api::shared::artifact::Artifact;
use sluice_runtime::key::Key;
use sluice_runtime::watches::{Topic, Wanted};
use tracing::warn;

use super::Kustomizations;
use super::drifting::served;
use crate::context::Context;
use crate::dependency::Dependency;
use blocking::{any_ready, blocking, by_annotation, cycle, reachable};

/// Why a Kustomization has to wait.
#[derive(Debug)]
pub(super) enum NotReady {
    /// An expression that is wrong: waiting does not help.
    Expression(String),
    /// An object that the operator's flags keep out of reach.
    Denied(String),
    /// An object that is not ready yet; the message is Flux's.
    Object(String),
}

/// The name under which a Kustomization watches what it depends on.
pub(super) fn watcher(key: &Key) -> String {
    format!("depends-on {key}")
}

impl Kustomizations {
    /// Checks all dependencies, those of the spec as Flux does, then those of any kind.
    pub(super) async fn dependencies(
        &self,
        object: &Kustomization,
        artifact: &Artifact,
    ) -> Result<(), NotReady> {
        let find = |key: &Key| self.core.store.get(key);
        let settings = &self.context.settings;
        let named = |why: NotReady| match (why, cycle(&find, object)) {
            (NotReady::Object(why), Some(cycle)) => NotReady::Object(format!("{why}: {cycle}")),
            (why, _) => why,
        };
        blocking(settings, &find, object, &artifact.revision).map_err(named)?;
        let wanted = by_annotation(object).map_err(NotReady::Expression)?;
        for dependency in &wanted {
            reachable(settings, object, &dependency.kind, &dependency.key)?;
        }
        let key = Key::of(&object.metadata);
        let waiting = || self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if wanted.is_empty() {
            self.watches.want(&watcher(&key), Vec::new());
            return Ok(());
        }
        // A change of one of them from here on makes another pass due.
        waiting().insert(key.clone());
        self.watch_dependencies(&key, &wanted).await;
        // An expression can reveal much of an object, so it is read as the account that applies.
        let client = self.local_client(object).map_err(NotReady::Object)?;
        for dependency in &wanted {
            check_any(&self.context, &client, object, dependency).await.map_err(named)?;
        }
        waiting().remove(&key);
        Ok(())
    }

    /// Watches the kinds of the dependencies; a change of one makes those due that wait for it.
    async fn watch_dependencies(&self, key: &Key, wanted: &[Dependency]) {
        let mut watches = Vec::new();
        for dependency in wanted {
            let object = dependency.object();
            // These are watched in any case.
            let is_watched = match object.id.group.as_str() {
                "" => matches!(object.id.kind.as_str(), "ConfigMap" | "Secret"),
                group => group == GROUP && object.id.kind == "Kustomization",
            };
            if is_watched {
                continue;
            }
            let (client, discovery) = (&self.context.client, &self.context.discovery);
            if let Some(resource) = served(discovery, client, &object).await {
                let topic = Topic {
                    cluster: String::new(),
                    group: object.id.group,
                    kind: object.id.kind,
                    labels: String::new(),
                };
                watches.push(Wanted { topic, resource, client: client.clone() });
            }
        }
        for refused in self.watches.want(&watcher(key), watches) {
            warn!(object = %key, kind = refused.kind, "too many kinds to watch; it is asked for instead");
        }
    }
}

/// Reads a dependency of any kind and checks it.
async fn check_any(
    context: &Context,
    client: &kube::Client,
    object: &Kustomization,
    wanted: &Dependency,
) -> Result<(), NotReady> {
    let name = format!("{}/{}", wanted.kind, wanted.key);
    let waits = |why: &str| NotReady::Object(format!("dependency '{name}' {why}"));
    let key = wanted.object();
    let kind = GroupVersionKind::gvk(&key.id.group, &key.version, &key.id.kind);
    let resource = context
        .discovery
        .resolve(&context.client, &key)
        .await
        .map_err(|error| waits(&format!("cannot be looked at: {error}")))?;
    let plural = ApiResource::from_gvk_with_plural(&kind, &resource.plural);
    let api: Api<DynamicObject> = if resource.namespaced {
        Api::namespaced_with(client.clone(), &wanted.key.namespace, &plural)
    } else {
        Api::all_with(client.clone(), &plural)
    };
    let found = api.get_opt(&wanted.key.name).await;
    let found = found.map_err(|error| waits(&format!("cannot be looked at: {error}")))?;
    let Some(found) = found else { return Err(waits("not found")) };
    let value = serde_json::to_value(&found).unwrap_or(Value::Null);
    any_ready(object, wanted, &value, context.clock.now())
}
