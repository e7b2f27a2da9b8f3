//! The hands of the controllers: they read the store and write like any other client.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sluice_base::clock::Clock as _;
use sluice_base::time;

use super::Key;
use crate::auth::User;
use crate::resource::Resource;
use crate::state::State;
use crate::status::Status;
use crate::store::GroupResource;
use crate::write::{DeleteOptions, Precondition, Writer};
use crate::{decode, managed, metadata};

/// Whose work a write is: the user it is done as and the owner of the fields.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Actor {
    /// The user name.
    pub(crate) user: &'static str,
    /// The field manager.
    pub(crate) manager: &'static str,
}

/// The controllers of `kube-controller-manager`.
pub(crate) const CONTROLLER_MANAGER: Actor =
    Actor { user: "system:kube-controller-manager", manager: "kube-controller-manager" };

/// A controller's access to its cluster.
pub(crate) struct Control {
    pub(crate) state: Arc<State>,
}

impl Control {
    pub(crate) fn new(state: Arc<State>) -> Self {
        Self { state }
    }

    /// A time between two bounds, from the seed.
    pub(crate) fn between(&self, least: Duration, most: Duration) -> Duration {
        let spread = u64::try_from(most.saturating_sub(least).as_micros()).unwrap_or(u64::MAX);
        least + Duration::from_micros(self.state.random.below(spread.saturating_add(1)))
    }

    /// The present as the API writes it.
    pub(crate) fn now(&self) -> String {
        time::format_seconds(self.state.clock.now())
    }

    /// The object of a key, in its storage version.
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Value>> {
        let stored =
            self.state.store.get(&key.resource, &crate::store::key(&key.namespace, &key.name))?;
        Some(Arc::new(stored.value.clone()))
    }

    /// The objects of a resource in one namespace, or in all.
    pub(crate) fn list(
        &self,
        group: &str,
        resource: &str,
        namespace: Option<&str>,
    ) -> Vec<Arc<Value>> {
        crate::kind::World::list(self.state.as_ref(), group, resource, namespace)
    }

    /// The resource of a key, in any served version.
    pub(crate) fn resource(&self, resource: &GroupResource) -> Option<Arc<Resource>> {
        self.state.registry.stored(resource)
    }

    fn writer<'a>(
        &'a self,
        user: &'a User,
        actor: Actor,
        resource: &'a Resource,
        namespace: &'a str,
        subresource: &'a str,
    ) -> Writer<'a> {
        Writer {
            state: &self.state,
            resource,
            namespace,
            subresource,
            user,
            manager: actor.manager,
            dry_run: false,
        }
    }

    /// Makes an object of a resource in `namespace`.
    pub(crate) async fn create(
        &self,
        actor: Actor,
        resource: &GroupResource,
        namespace: &str,
        mut object: Value,
    ) -> Result<Arc<Value>, Status> {
        let resource = self.resource(resource).ok_or_else(Status::no_such_resource)?;
        let user = User::in_groups(actor.user, &["system:masters"]);
        object["apiVersion"] = resource.api_version().into();
        object["kind"] = resource.kind.as_str().into();
        let object = decode::typed(
            &resource,
            object.into(),
            Vec::new(),
            crate::resource::FieldValidation::Ignore,
            &mut Vec::new(),
        )?;
        let writer = self.writer(&user, actor, &resource, namespace, "");
        Ok(writer.create(object, false).await?.object)
    }

    /// Changes an object, or its subresource, by a function of its newest state.
    pub(crate) async fn update(
        &self,
        actor: Actor,
        key: &Key,
        subresource: &str,
        change: &mut (dyn FnMut(&mut Value) + Send),
    ) -> Result<Arc<Value>, Status> {
        let resource = self.resource(&key.resource).ok_or_else(Status::no_such_resource)?;
        let user = User::in_groups(actor.user, &["system:masters"]);
        let writer = self.writer(&user, actor, &resource, &key.namespace, subresource);
        let written = writer
            .update(&key.name, Precondition::Computed, false, &mut |old| {
                let mut object = old.clone();
                change(&mut object);
                Ok(object)
            })
            .await?;
        Ok(written.object)
    }

    /// Applies a configuration of an object that is there, taking fields from whoever has them.
    pub(crate) async fn apply(
        &self,
        actor: Actor,
        key: &Key,
        mut configuration: Value,
    ) -> Result<Arc<Value>, Status> {
        let resource = self.resource(&key.resource).ok_or_else(Status::no_such_resource)?;
        let user = User::in_groups(actor.user, &["system:masters"]);
        configuration["apiVersion"] = resource.api_version().into();
        configuration["kind"] = resource.kind.as_str().into();
        let writer = self.writer(&user, actor, &resource, &key.namespace, "");
        let written = writer
            .update(&key.name, Precondition::Computed, true, &mut |live| {
                managed::apply(&writer, live, &configuration, true)
            })
            .await?;
        Ok(written.object)
    }

    /// Deletes an object if it still is the one with that uid.
    pub(crate) async fn delete(
        &self,
        actor: Actor,
        key: &Key,
        mut options: DeleteOptions,
        uid: &str,
    ) -> Result<(), Status> {
        let resource = self.resource(&key.resource).ok_or_else(Status::no_such_resource)?;
        let user = User::in_groups(actor.user, &["system:masters"]);
        options.uid = (!uid.is_empty()).then(|| uid.to_owned());
        let writer = self.writer(&user, actor, &resource, &key.namespace, "");
        writer.delete(&key.name, &options).await.map(|_| ())
    }

    /// Records an Event about an object. An event that cannot be written is nobody's failure.
    pub(crate) async fn event(
        &self,
        actor: Actor,
        component: &str,
        about: &Value,
        kind: &str,
        reason: &str,
        message: &str,
    ) {
        let namespace = match metadata::namespace(about) {
            "" => "default",
            namespace => namespace,
        };
        let now = self.now();
        let suffix = format!("{:016x}", self.state.random.next());
        let mut involved = json!({
            "kind": about["kind"],
            "apiVersion": about["apiVersion"],
            "name": metadata::name(about),
            "uid": metadata::uid(about),
            "resourceVersion": metadata::text(about, "resourceVersion"),
        });
        if !metadata::namespace(about).is_empty() {
            involved["namespace"] = namespace.into();
        }
        let event = json!({
            "metadata": {"name": format!("{}.{suffix}", metadata::name(about)), "namespace": namespace},
            "involvedObject": involved,
            "reason": reason,
            "message": message,
            "source": {"component": component},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": kind,
            "reportingComponent": component,
            "reportingInstance": "",
        });
        let events = GroupResource::new("", "events");
        if let Err(status) = self.create(actor, &events, namespace, event).await {
            tracing::debug!(%status, "event not written");
        }
    }
}
