//! What the controllers of all kinds of sources do alike: from an address to an artifact in the store.
//!
//! ```text
//! gate ─▶ artifact in the store still whole? ─▶ produce (the kind's own) ─▶ notify ─▶ summary ─▶ status
//! ```
//!
//! A kind says what differs in [`SourceKind`]: how it is fetched and made an artifact of, which conditions it has, what
//! it refers to. Start reading at `reconcile.rs`. What makes a source due is in this file: its own spec, a reconcile
//! request, its Secrets, a new artifact of a source that it includes.

mod artifact;
mod cloud;
mod failures;
mod memory;
mod progress;
mod reconcile;
mod secrets;
mod status;
mod summary;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use kube::core::object::HasStatus;
use sluice_api::names::finalizers::FLUX;
use sluice_runtime::controller::{Core, Kind, is_due};
use sluice_runtime::index::Reference;
use sluice_runtime::key::Key;
use sluice_runtime::metrics::names::ARTIFACT_SIZE;
use sluice_runtime::outcome::Stop;
use sluice_runtime::pass::{OnChange, Pass};
use sluice_runtime::queue::{Next, Queue};
use sluice_runtime::store::{Change, Store};
use sluice_runtime::worker::Reconcile;

use crate::context::Context;
use crate::rights::{READ, Right};
use crate::sources::Source;
use crate::waking::{SourceUsers, Wakes};

pub(crate) use cloud::NO_ACCOUNTS;
pub(crate) use failures::{fetch_failed, stalled, storage_failed, unverified};
use memory::Memory;
pub(crate) use progress::SourcePass;
pub(crate) use secrets::Data;
pub use sluice_source::backends::SourceBackends;
pub use status::{Common, SourceStatus};

/// The field manager of what is written to sources.
const MANAGER: &str = "source-controller";

/// What differs between kinds of sources.
pub trait SourceKind: Source + Kind + HasStatus<Status: SourceStatus> {
    /// The conditions that decide Ready, the weightiest first, and whether they report something bad.
    const WEIGHED: &'static [(&'static str, bool)];
    /// The conditions that report a failure; the end of one is worth an event.
    const FAILURES: &'static [&'static str];

    /// `spec.interval`
    fn interval(&self) -> Duration;

    /// `spec.suspend`
    fn is_suspended(&self) -> bool;

    /// Everything it refers to: it is due when one of them changes.
    fn references(&self) -> Vec<Reference>;

    /// Fetches it and makes an artifact, unless there is nothing new. Returns the message of the event about a new
    /// artifact or the end of a failure.
    fn produce(
        controller: &SourceController<Self>,
        pass: &mut Pass<'_, Self>,
    ) -> impl Future<Output = Result<String, Stop>> + Send;
}

/// The right on the Secrets that a source names.
pub(crate) const SECRETS: Right = Right::new(
    "",
    &["secrets"],
    READ,
    "credentials and keys that a source names; only metadata is watched",
);

/// The controller of one kind of sources.
pub struct SourceController<K: SourceKind> {
    pub(crate) context: Context,
    pub(crate) backends: SourceBackends,
    pub(crate) core: Core<K>,
    /// What each artifact was verified with.
    pub(crate) verified: Memory,
    /// The controllers that build from artifacts.
    users: SourceUsers,
}

impl<K: SourceKind> SourceController<K> {
    /// A controller over a store. It expects the changes that the watch reports; it passes them, and those that it
    /// makes itself, to the users of artifacts.
    pub fn new(
        context: Context,
        backends: SourceBackends,
        store: Arc<Store<K>>,
        queue: Arc<Queue>,
        users: SourceUsers,
    ) -> Self {
        let core = Core::new(context.pass.clone(), store, queue, MANAGER, FLUX);
        Self { context, backends, core, verified: Memory::default(), users }
    }

    /// Forgets a source that is gone, or belongs to another shard by now.
    pub fn forget(&self, key: &Key) {
        self.core.forget(key);
        self.verified.forget(key);
        self.context.metrics.forget(&ARTIFACT_SIZE, &Core::<K>::labels(key));
    }
}

impl<K: SourceKind> OnChange<K> for SourceController<K> {
    /// A source is due if its spec changed or a request was made; those that include it are due if it has another
    /// artifact or stored it again.
    fn on_change(&self, change: &Change<K>) {
        self.users.on_change(change);
        let Some(after) = &change.after else { return self.forget(&change.key) };
        self.core.index.set(&change.key, after.references());
        if is_due(change.before.as_deref(), &**after) {
            self.core.queue.add(&change.key);
        }
        let before = change.before.as_deref().and_then(Source::artifact);
        if before != after.artifact() {
            self.core.wake(&Reference::new(K::DEFINITION.kind, change.key.clone()));
        }
    }
}

impl<K: SourceKind> Wakes for SourceController<K> {
    fn wake(&self, reference: &Reference) {
        self.core.wake(reference);
    }

    fn refers_to(&self, reference: &Reference) -> bool {
        self.core.is_referred_to(reference)
    }
}

impl<K: SourceKind> Reconcile for SourceController<K> {
    async fn reconcile(&self, key: Key) -> Next {
        let Some(object) = self.core.store.get(&key) else { return Next::Event };
        let mut pass = Pass::begin(self, object);
        let next = pass.run(self).await;
        if let Some(size) = pass.artifact().and_then(|artifact| artifact.size) {
            #[expect(clippy::cast_precision_loss, reason = "an approximate size will do")]
            self.context.metrics.set(&ARTIFACT_SIZE, &Core::<K>::labels(&key), size as f64);
        }
        next
    }
}
