//! Kustomizations: from a source's artifact to a converged cluster.
//!
//! ```text
//! source's artifact ─▶ dependencies ready? ─▶ build ─▶ remember (inventory) ─▶ apply ─▶ prune ─▶ healthy? ─▶ status
//! ```
//!
//! Start reading at `reconcile.rs`. What wakes a Kustomization is in this file: its own spec, a request, a
//! new revision of its source, a dependency that became ready, a ConfigMap or Secret it reads.

mod access;
mod apply;
mod bases;
mod build;
mod decryption;
mod dependencies;
mod finalize;
mod guard;
mod health;
mod history;
mod pass;
mod reconcile;
mod references;
mod stop;
mod timing;
mod variables;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use sluice_api::kustomize::kustomization::Kustomization;
use sluice_api::names::conditions::READY;
use sluice_api::shared::artifact::Artifact;
use sluice_api::shared::condition::ConditionStatus;
use sluice_runtime::index::{Index, Reference};
use sluice_runtime::key::Key;
use sluice_runtime::queue::{Next, Queue};
use sluice_runtime::store::{Change, Store};
use sluice_runtime::worker::Reconcile;
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use crate::sources::Sources;
use crate::sourcing::is_due;
use crate::waking::{Consumes, Wakes};
use pass::Pass;

/// The controller of Kustomizations.
pub struct Kustomizations {
    context: Context,
    store: Arc<Store<Kustomization>>,
    sources: Arc<Sources>,
    queue: Arc<Queue>,
    index: Index,
    /// What is being worked on, and how to call its waiting off.
    running: Mutex<BTreeMap<Key, CancellationToken>>,
}

impl Kustomizations {
    /// A controller over these stores. The changes that the watches tell of have to be handed to it.
    pub fn new(context: Context, sources: Arc<Sources>, queue: Arc<Queue>) -> Self {
        Self {
            context,
            store: Arc::default(),
            sources,
            queue,
            index: Index::default(),
            running: Mutex::default(),
        }
    }

    /// Where the watch puts Kustomizations.
    pub fn store(&self) -> &Arc<Store<Kustomization>> {
        &self.store
    }

    /// A Kustomization changed: it is due if its spec changed or somebody asks, and those that depend on it
    /// are due if it became ready or moved on.
    pub fn on_change(&self, change: &Change<Kustomization>) {
        let Some(after) = &change.after else {
            self.index.set(&change.key, []);
            self.queue.forget(&change.key);
            return;
        };
        self.index.set(&change.key, references::all(after));
        if is_due(change.before.as_deref(), &**after) {
            self.cancel(&change.key);
            self.queue.add(&change.key);
        }
        if change.before.as_deref().map(readiness) != Some(readiness(after)) {
            self.wake(&Reference::new("Kustomization", change.key.clone()));
        }
    }

    /// Calls off the waiting of a pass: there is something newer to do.
    fn cancel(&self, key: &Key) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(token) = running.get(key) {
            token.cancel();
        }
    }
}

impl Wakes for Kustomizations {
    fn wake(&self, reference: &Reference) {
        for key in self.index.referrers(reference) {
            self.queue.add(&key);
        }
    }

    fn refers_to(&self, reference: &Reference) -> bool {
        !self.index.referrers(reference).is_empty()
    }
}

impl Consumes for Kustomizations {
    /// Who builds from the source is due if there is another revision.
    fn on_source(&self, source: &Reference, before: Option<&Artifact>, after: Option<&Artifact>) {
        let revision = |artifact: Option<&Artifact>| artifact.map(|it| it.revision.clone());
        let (before, after) = (revision(before), revision(after));
        if after.is_none() || before == after {
            return;
        }
        for key in self.index.referrers(source) {
            let object = self.store.get(&key);
            let status = object.as_ref().and_then(|object| object.status.as_ref());
            let applied = status.and_then(|status| status.last_applied_revision.clone());
            if applied == after && object.as_deref().is_some_and(is_ready) {
                continue;
            }
            self.cancel(&key);
            self.queue.add(&key);
        }
    }
}

impl Reconcile for Kustomizations {
    async fn reconcile(&self, key: Key) -> Next {
        let Some(object) = self.store.get(&key) else { return Next::Event };
        let cancel = CancellationToken::new();
        let lock = || self.running.lock().unwrap_or_else(PoisonError::into_inner);
        lock().insert(key.clone(), cancel.clone());
        let mut pass = Pass::begin(self, object);
        let next = self.pass(&mut pass, cancel).await;
        lock().remove(&key);
        next
    }
}

fn is_ready(object: &Kustomization) -> bool {
    let conditions = object.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|it| it.r#type == READY && it.status == ConditionStatus::True)
}

/// What those that depend on a Kustomization look at.
fn readiness(object: &Kustomization) -> (bool, Option<i64>, Option<String>) {
    let status = object.status.as_ref();
    (
        is_ready(object),
        status.and_then(|status| status.observed_generation),
        status.and_then(|status| status.last_applied_revision.clone()),
    )
}
