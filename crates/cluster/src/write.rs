//! The one way objects change: create, guarded update and delete, for HTTP requests and for the
//! cluster's own controllers alike.
//!
//! An update reads the stored object, lets its caller compute the desired one, and then does what
//! upstream's `registry/rest` and `generic/registry` do: ownership of fields, admission, the kind's
//! hooks, validation, and a compare-and-swap on the revision that was read. If another write came in
//! between, it starts over with the newer object, unless the caller named a resource version.

mod create;
mod delete;
mod update;

pub(crate) use delete::{DeleteOptions, Deleted, FOREGROUND, ORPHAN, Propagation};
pub(crate) use update::Precondition;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;
use sluice_base::clock::Clock as _;

use crate::auth::User;
use crate::kind::{ClusterView, Context};
use crate::resource::Resource;
use crate::state::State;
use crate::store::GroupResource;
use crate::store::index::Term;

/// Writes objects of one resource for one request or controller.
pub(crate) struct Writer<'a> {
    pub(crate) state: &'a State,
    pub(crate) resource: &'a Resource,
    /// Empty for cluster-scoped resources.
    pub(crate) namespace: &'a str,
    /// The name in the path of the request; empty for a POST to a collection, and for controllers.
    pub(crate) named: &'a str,
    /// Empty for the object itself.
    pub(crate) subresource: &'a str,
    pub(crate) user: &'a User,
    /// The field manager of the changed fields.
    pub(crate) manager: &'a str,
    pub(crate) dry_run: bool,
}

/// An object after a write, in the version of the request.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) object: Arc<Value>,
    /// `Warning` headers about the object.
    pub(crate) warnings: Vec<String>,
}

impl Writer<'_> {
    fn now(&self) -> Timestamp {
        self.state.clock.now()
    }

    fn context(&self) -> Context<'_> {
        Context {
            now: self.now(),
            namespace: self.namespace,
            subresource: self.subresource,
            user: &self.user.name,
            dry_run: self.dry_run,
            view: self.state,
        }
    }

    /// The etcd key that upstream would use; some messages contain it.
    fn storage_path(&self, name: &str) -> String {
        let resource = self.resource;
        let folder = if resource.shape.is_custom() {
            format!("{}/{}", resource.group, resource.plural)
        } else {
            resource.plural.clone()
        };
        format!("/registry/{folder}/{}", self.key(name))
    }

    fn key(&self, name: &str) -> String {
        crate::store::key(self.namespace, name)
    }
}

impl ClusterView for State {
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let key = crate::store::key(namespace, name);
        let stored = self.store.get(&GroupResource::new(group, resource), &key)?;
        Some(stored.value.clone())
    }

    fn list(&self, group: &str, resource: &str, namespace: Option<&str>) -> Vec<Arc<Value>> {
        let prefix = namespace.map(|name| format!("{name}/")).unwrap_or_default();
        let found = self.store.find(&GroupResource::new(group, resource), &prefix, &[]);
        found.iter().map(|stored| stored.value.clone()).collect()
    }

    fn holding(&self, group: &str, resource: &str, term: Term) -> Vec<Arc<Value>> {
        let found = self.store.find(&GroupResource::new(group, resource), "", &[vec![term]]);
        found.iter().map(|stored| stored.value.clone()).collect()
    }

    fn random(&self, bound: u64) -> u64 {
        self.random.below(bound)
    }
}
