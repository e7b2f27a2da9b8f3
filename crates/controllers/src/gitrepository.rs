//! GitRepositories: from an address to an artifact in the store.
//!
//! ```text
//! storage still whole? ─▶ credentials ─▶ includes ─▶ clone, or nothing new ─▶ verify ─▶ pack and store ─▶ status
//! ```
//!
//! Start reading at `reconcile.rs`. What wakes a GitRepository is in this file: its own spec, a request, a
//! new artifact of a repository that it includes, its Secrets.

mod credentials;
mod fetch;
mod includes;
mod pass;
mod reconcile;
mod summary;

use std::sync::Arc;

use sluice_api::names::annotations::REQUESTED_AT;
use sluice_api::source::gitrepository::GitRepository;
use sluice_runtime::index::{Index, Reference};
use sluice_runtime::key::Key;
use sluice_runtime::queue::{Next, Queue};
use sluice_runtime::store::{Change, Store};
use sluice_runtime::worker::Reconcile;
use sluice_source::git::GitTransport;
use sluice_source::http::HttpClients;
use sluice_source::store::{ArtifactStore, Retention};

use crate::context::Context;
use crate::sources::Source as _;
use pass::Pass;

/// Where artifacts go, and where repositories come from.
#[derive(Clone)]
pub struct Workshop {
    /// Keeps artifacts.
    pub artifacts: Arc<dyn ArtifactStore>,
    /// The host, with its port if need be, under which the store is served.
    pub advertised: String,
    /// How long old artifacts stay.
    pub retention: Retention,
    /// Reaches repositories.
    pub transport: Arc<dyn GitTransport>,
    /// Reaches the API of GitHub Apps.
    pub http: HttpClients,
}

/// Hears of every GitRepository that changes.
pub type Listener = dyn Fn(&Change<GitRepository>) + Send + Sync;

/// The controller of GitRepositories.
pub struct GitRepositories {
    context: Context,
    workshop: Workshop,
    store: Arc<Store<GitRepository>>,
    queue: Arc<Queue>,
    index: Index,
    listener: Arc<Listener>,
}

impl GitRepositories {
    /// A controller over a store. The changes that the watch tells of have to be handed to it; it hands
    /// them, and those that it makes itself, to the listener.
    pub fn new(
        context: Context,
        workshop: Workshop,
        store: Arc<Store<GitRepository>>,
        queue: Arc<Queue>,
        listener: Arc<Listener>,
    ) -> Self {
        Self { context, workshop, store, queue, index: Index::default(), listener }
    }

    /// A GitRepository changed: it is due if its spec changed or somebody asks, and those that include it
    /// are due if it has another artifact.
    pub fn on_change(&self, change: &Change<GitRepository>) {
        (self.listener)(change);
        let Some(after) = &change.after else {
            self.index.set(&change.key, []);
            self.queue.forget(&change.key);
            return;
        };
        self.index.set(&change.key, references(after));
        if is_due(change.before.as_deref(), after) {
            self.queue.add(&change.key);
        }
        let digest = |object: &GitRepository| object.artifact().map(|it| it.digest.clone());
        if change.before.as_deref().and_then(digest) != digest(after) {
            self.wake(&Reference::new("GitRepository", change.key.clone()));
        }
    }

    /// An object changed that some refer to.
    pub fn wake(&self, reference: &Reference) {
        for key in self.index.referrers(reference) {
            self.queue.add(&key);
        }
    }

    /// Whether anybody refers to an object.
    pub fn refers_to(&self, reference: &Reference) -> bool {
        !self.index.referrers(reference).is_empty()
    }
}

impl Reconcile for GitRepositories {
    async fn reconcile(&self, key: Key) -> Next {
        let Some(object) = self.store.get(&key) else { return Next::Event };
        let mut pass = Pass::begin(self, object);
        self.pass(&mut pass).await
    }
}

/// Whether a change of the object itself asks for a pass.
fn is_due(before: Option<&GitRepository>, after: &GitRepository) -> bool {
    let Some(before) = before else { return true };
    let request = |object: &GitRepository| {
        object.metadata.annotations.as_ref().and_then(|all| all.get(REQUESTED_AT).cloned())
    };
    before.metadata.generation != after.metadata.generation
        || before.metadata.deletion_timestamp != after.metadata.deletion_timestamp
        || request(before) != request(after)
}

/// Everything a GitRepository refers to.
fn references(object: &GitRepository) -> Vec<Reference> {
    let namespace = object.metadata.namespace.clone().unwrap_or_default();
    let local = |kind: &str, name: &str| Reference::new(kind, Key::new(namespace.clone(), name));
    let spec = &object.spec;
    let includes = spec.include.iter().flatten();
    let mut all: Vec<Reference> =
        includes.map(|include| local("GitRepository", &include.repository.name)).collect();
    let secrets = [
        spec.secret_ref.as_ref(),
        spec.proxy_secret_ref.as_ref(),
        spec.verify.as_ref().map(|verify| &verify.secret_ref),
    ];
    all.extend(secrets.into_iter().flatten().map(|secret| local("Secret", &secret.name)));
    all
}
