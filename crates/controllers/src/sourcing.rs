//! What the controllers of all kinds of sources do alike: from an address to an artifact in the store.
//!
//! ```text
//! finalizer ─▶ suspended? ─▶ storage still whole? ─▶ produce (the kind's own) ─▶ notify ─▶ summary ─▶ status
//! ```
//!
//! A kind says what differs in [`SourceKind`]: how it is fetched and made an artifact of, which conditions
//! it has, what it refers to. Start reading at `reconcile.rs`. What wakes a source is in this file: its own
//! spec, a request, its Secrets, a new artifact of a source that it includes.

mod artifact;
mod cloud;
mod memory;
mod pass;
mod reconcile;
mod secrets;
mod status;
mod stop;
mod summary;

use std::fmt::Debug;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use kube::Resource;
use serde::de::DeserializeOwned;
use sluice_api::crd::CustomResource;
use sluice_api::names::annotations::REQUESTED_AT;
use sluice_runtime::index::{Index, Reference};
use sluice_runtime::key::Key;
use sluice_runtime::metrics::names::{ARTIFACT_SIZE, RECONCILE_DURATION, SUSPENDED};
use sluice_runtime::queue::{Next, Queue};
use sluice_runtime::store::{Change, Store};
use sluice_runtime::worker::Reconcile;
use tokio::time::Instant;

use crate::context::Context;
use crate::sources::Source;
use crate::waking::Wakes;

pub(crate) use cloud::NO_ACCOUNTS;
use memory::Memory;
pub(crate) use pass::Pass;
pub(crate) use secrets::Data;
pub use sluice_source::backends::SourceBackends;
pub use status::{Common, SourceStatus};
pub use stop::Stop;

/// What differs between kinds of sources.
pub trait SourceKind:
    Source
    + CustomResource
    + Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
    + DeserializeOwned
    + Clone
    + Debug
    + Send
    + Sync
    + 'static
{
    /// Its status.
    type Status: SourceStatus;

    /// The conditions that count for Ready, the weightiest first, and whether they tell of something bad.
    const WEIGHED: &'static [(&'static str, bool)];
    /// The conditions that tell of a failure; that they are gone is worth an event.
    const FAILURES: &'static [&'static str];

    /// What was observed.
    fn status(&self) -> Option<&Self::Status>;

    /// How often it is looked at.
    fn interval(&self) -> Duration;

    /// Whether it is to be left alone.
    fn is_suspended(&self) -> bool;

    /// Everything it refers to: when one of them changes, it is due.
    fn references(&self) -> Vec<Reference>;

    /// Fetches it and makes an artifact, unless there is nothing new. Says what an event about a new
    /// artifact, or about the end of a failure, is to say.
    fn produce(
        controller: &SourceController<Self>,
        pass: &mut Pass<'_, Self>,
    ) -> impl Future<Output = Result<String, Stop>> + Send;
}

/// Hears of every source of a kind that changes.
pub type Listener<K> = dyn Fn(&Change<K>) + Send + Sync;

/// The controller of one kind of sources.
pub struct SourceController<K: SourceKind> {
    pub(crate) context: Context,
    pub(crate) backends: SourceBackends,
    pub(crate) store: Arc<Store<K>>,
    /// What each artifact was verified with.
    pub(crate) verified: Memory,
    queue: Arc<Queue>,
    index: Index,
    listener: Arc<Listener<K>>,
}

impl<K: SourceKind> SourceController<K> {
    /// A controller over a store. The changes that the watch tells of have to be handed to it; it hands
    /// them, and those that it makes itself, to the listener.
    pub fn new(
        context: Context,
        backends: SourceBackends,
        store: Arc<Store<K>>,
        queue: Arc<Queue>,
        listener: Arc<Listener<K>>,
    ) -> Self {
        let (verified, index) = (Memory::default(), Index::default());
        Self { context, backends, store, verified, queue, index, listener }
    }

    /// A source is gone, or somebody else's by now.
    pub fn forget(&self, key: &Key) {
        self.index.set(key, []);
        self.queue.forget(key);
        self.verified.forget(key);
        for metric in [&RECONCILE_DURATION, &ARTIFACT_SIZE, &SUSPENDED] {
            let labels = [K::DEFINITION.kind, &key.name, &key.namespace];
            self.context.metrics.forget(metric, &labels);
        }
    }

    /// A source changed: it is due if its spec changed or somebody asks, and those that include it are due
    /// if it has another artifact or stored it again.
    pub fn on_change(&self, change: &Change<K>) {
        (self.listener)(change);
        let Some(after) = &change.after else { return self.forget(&change.key) };
        self.index.set(&change.key, after.references());
        if is_due(change.before.as_deref(), &**after) {
            self.queue.add(&change.key);
        }
        let before = change.before.as_deref().and_then(Source::artifact);
        if before != after.artifact() {
            self.wake(&Reference::new(K::DEFINITION.kind, change.key.clone()));
        }
    }
}

impl<K: SourceKind> Wakes for SourceController<K> {
    fn wake(&self, reference: &Reference) {
        for key in self.index.referrers(reference) {
            self.queue.add(&key);
        }
    }

    fn refers_to(&self, reference: &Reference) -> bool {
        !self.index.referrers(reference).is_empty()
    }
}

impl<K: SourceKind> Reconcile for SourceController<K> {
    async fn reconcile(&self, key: Key) -> Next {
        let Some(object) = self.store.get(&key) else { return Next::Event };
        let started = Instant::now();
        let mut pass = Pass::begin(self, object);
        let next = self.pass(&mut pass).await;
        let (metrics, name) =
            (&self.context.metrics, [K::DEFINITION.kind, &key.name, &key.namespace]);
        metrics.observe(&RECONCILE_DURATION, &name, started.elapsed().as_secs_f64());
        metrics.set(&SUSPENDED, &name, f64::from(u8::from(pass.object.is_suspended())));
        if let Some(size) = pass.artifact().and_then(|artifact| artifact.size) {
            #[expect(clippy::cast_precision_loss, reason = "an approximate size will do")]
            metrics.set(&ARTIFACT_SIZE, &name, size as f64);
        }
        next
    }
}

/// Whether a change of the object itself asks for a pass.
pub(crate) fn is_due<K: Resource>(before: Option<&K>, after: &K) -> bool {
    let Some(before) = before.map(K::meta) else { return true };
    let after = after.meta();
    let request = |metadata: &kube::core::ObjectMeta| {
        metadata.annotations.as_ref().and_then(|all| all.get(REQUESTED_AT).cloned())
    };
    before.generation != after.generation
        || before.deletion_timestamp != after.deletion_timestamp
        || request(before) != request(after)
}
