//! Store reads and API writes of the simulated controllers.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sluice_base::clock::Clock as _;
use sluice_base::time;

use super::Key;
use super::recorder::Recorder;
use crate::auth::User;
use crate::resource::Resource;
use crate::selector::LabelSelector;
use crate::state::State;
use crate::status::Status;
use crate::store::index::Term;
use crate::store::{GroupResource, Stored};
use crate::write::{DeleteOptions, Precondition, Writer};
use crate::{decode, managed, metadata};

/// The user and the field manager of a controller's writes.
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

/// An object as it was read; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Object(Arc<Stored>);

impl Object {
    /// A mutable copy.
    pub(crate) fn to_value(&self) -> Value {
        self.0.value.as_ref().clone()
    }
}

impl Deref for Object {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0.value
    }
}

/// A controller's access to its cluster.
pub(crate) struct Control {
    pub(crate) state: Arc<State>,
    /// The recorded Events, for counting repeated ones.
    pub(crate) recorder: Arc<Recorder>,
}

impl Control {
    pub(crate) fn new(state: Arc<State>, recorder: Arc<Recorder>) -> Self {
        Self { state, recorder }
    }

    /// A random duration between two bounds, from the seed.
    pub(crate) fn between(&self, least: Duration, most: Duration) -> Duration {
        let spread = u64::try_from(most.saturating_sub(least).as_micros()).unwrap_or(u64::MAX);
        least + Duration::from_micros(self.state.random.below(spread.saturating_add(1)))
    }

    /// The current time, in the API's format.
    pub(crate) fn now(&self) -> String {
        time::format_seconds(self.state.clock.now())
    }

    /// The current time, as `MicroTime`.
    pub(crate) fn now_micros(&self) -> String {
        time::format_micros(self.state.clock.now())
    }

    /// The simulated time since a moment; zero if it is in the future.
    pub(crate) fn since(&self, moment: &str) -> Duration {
        time::parse(moment).map_or(Duration::ZERO, |moment| self.state.clock.elapsed(moment))
    }

    /// The time until `wait` after a moment has passed; `None` if it has.
    pub(crate) fn left(&self, moment: &str, wait: Duration) -> Option<Duration> {
        wait.checked_sub(self.since(moment)).filter(|left| !left.is_zero())
    }

    /// The object of a key, not copied.
    pub(crate) fn object(&self, key: &Key) -> Option<Object> {
        let name = crate::store::key(&key.namespace, &key.name);
        self.state.store.get(&key.resource, &name).map(Object)
    }

    /// The objects of a resource in one namespace, or in all, not copied.
    pub(crate) fn objects(
        &self,
        group: &str,
        resource: &str,
        namespace: Option<&str>,
    ) -> Vec<Object> {
        self.find(group, resource, namespace.unwrap_or_default(), &[])
    }

    /// The objects of a resource in a namespace that a selector matches.
    pub(crate) fn selected(
        &self,
        group: &str,
        resource: &str,
        namespace: &str,
        selector: &LabelSelector,
    ) -> Vec<Object> {
        let mut found = self.find(group, resource, namespace, &selector.questions());
        found.retain(|object| selector.matches(object));
        found
    }

    /// The objects of a resource that an object controls.
    pub(crate) fn controlled(&self, group: &str, resource: &str, owner: &Value) -> Vec<Object> {
        let question = vec![Term::Controller(metadata::uid(owner).to_owned())];
        self.find(group, resource, metadata::namespace(owner), &[question])
    }

    /// The objects of a resource that an object controls, and those that it may adopt because their
    /// labels match.
    pub(crate) fn claimable(
        &self,
        group: &str,
        resource: &str,
        owner: &Value,
        selector: &LabelSelector,
    ) -> Vec<Object> {
        let mut found = self.selected(group, resource, metadata::namespace(owner), selector);
        let strays = self.controlled(group, resource, owner);
        found.extend(strays.into_iter().filter(|object| !selector.matches(object)));
        found.sort_by(|left, right| metadata::name(left).cmp(metadata::name(right)));
        found
    }

    /// The objects of a resource with a `spec.selector` that matches an object of their namespace, in its
    /// current or its previous state.
    pub(crate) fn selecting(
        &self,
        group: &str,
        resource: &str,
        states: &[&Value],
        selector: impl Fn(&Value) -> Option<LabelSelector>,
    ) -> Vec<Key> {
        let namespace = states.first().map(|object| metadata::namespace(object));
        let question = states.iter().flat_map(|object| Term::selecting(object)).collect();
        self.find(group, resource, namespace.unwrap_or_default(), &[question])
            .iter()
            .filter(|found| {
                selector(found)
                    .is_some_and(|selector| states.iter().any(|object| selector.matches(object)))
            })
            .map(|found| {
                Key::new(group, resource, metadata::namespace(found), metadata::name(found))
            })
            .collect()
    }

    fn find(
        &self,
        group: &str,
        resource: &str,
        namespace: &str,
        questions: &[Vec<Term>],
    ) -> Vec<Object> {
        let prefix = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
        let found = self.state.store.find(&GroupResource::new(group, resource), &prefix, questions);
        found.into_iter().map(Object).collect()
    }

    /// The object of a key, in its storage version.
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Value>> {
        let stored =
            self.state.store.get(&key.resource, &crate::store::key(&key.namespace, &key.name))?;
        Some(stored.value.clone())
    }

    /// The objects of a resource in one namespace, or in all.
    pub(crate) fn list(
        &self,
        group: &str,
        resource: &str,
        namespace: Option<&str>,
    ) -> Vec<Arc<Value>> {
        crate::kind::ClusterView::list(self.state.as_ref(), group, resource, namespace)
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
            named: "",
            subresource,
            user,
            manager: actor.manager,
            dry_run: false,
        }
    }

    /// Creates an object of a resource in `namespace`.
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

    /// Updates an object, or its subresource, by a function of its newest state.
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

    /// Applies a configuration to an existing object, with force.
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

    /// Assigns a pod to a node, as `pods/binding` does: without managed fields.
    pub(crate) async fn bind(&self, actor: Actor, key: &Key, node: &str) -> Result<(), Status> {
        let resource = self.resource(&key.resource).ok_or_else(Status::no_such_resource)?;
        let user = User::in_groups(actor.user, &["system:masters"]);
        let writer = self.writer(&user, actor, &resource, &key.namespace, "binding");
        let now = self.now();
        writer
            .update(&key.name, Precondition::Computed, true, &mut |pod| {
                let mut pod = pod.clone();
                pod["spec"]["nodeName"] = node.into();
                super::condition::set_pod(&mut pod["status"], "PodScheduled", true, "", "", &now);
                Ok(pod)
            })
            .await
            .map(|_| ())
    }

    /// Deletes an object if it still has that uid.
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
}
