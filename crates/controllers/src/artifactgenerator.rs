//! ArtifactGenerators: from the artifacts of sources to artifacts of their parts, as ExternalArtifacts.
//!
//! ```text
//! valid? ─▶ sources' artifacts ─▶ anything different? ─▶ copy, pack and store ─▶ ExternalArtifacts ─▶ old ones go
//! ```
//!
//! Start reading at `reconcile.rs`. What wakes an ArtifactGenerator is in this file: its own spec, a request,
//! another revision of one of its sources.

mod drift;
mod externals;
mod outputs;
mod pass;
mod reconcile;
mod validation;

use std::sync::Arc;

use sluice_api::extensions::artifactgenerator::{ArtifactGenerator, ArtifactSourceReference};
use sluice_api::shared::artifact::Artifact;
use sluice_runtime::index::{Index, Reference};
use sluice_runtime::key::Key;
use sluice_runtime::queue::{Next, Queue};
use sluice_runtime::store::{Change, Store};
use sluice_runtime::worker::Reconcile;

use crate::context::Context;
use crate::sources::Sources;
use crate::sourcing::{SourceBackends, is_due};
use crate::waking::{Consumes, Wakes};
use pass::Pass;

/// The field manager of what is written, and the label of what is made.
const MANAGER: &str = "source-watcher";

/// The controller of ArtifactGenerators.
pub struct ArtifactGenerators {
    context: Context,
    backends: SourceBackends,
    sources: Arc<Sources>,
    store: Arc<Store<ArtifactGenerator>>,
    queue: Arc<Queue>,
    index: Index,
}

impl ArtifactGenerators {
    /// A controller over these stores. The changes that the watches tell of have to be handed to it.
    pub fn new(
        context: Context,
        backends: SourceBackends,
        sources: Arc<Sources>,
        queue: Arc<Queue>,
    ) -> Self {
        let (store, index) = (Arc::default(), Index::default());
        Self { context, backends, sources, store, queue, index }
    }

    /// The ArtifactGenerators of the cluster.
    pub fn store(&self) -> &Arc<Store<ArtifactGenerator>> {
        &self.store
    }

    /// An ArtifactGenerator changed.
    pub fn on_change(&self, change: &Change<ArtifactGenerator>) {
        let Some(after) = &change.after else {
            self.index.set(&change.key, []);
            self.queue.forget(&change.key);
            return;
        };
        let sources = after.spec.sources.iter();
        self.index.set(&change.key, sources.map(|it| reference(it, &change.key.namespace)));
        if is_due(change.before.as_deref(), &**after) {
            self.queue.add(&change.key);
        }
    }
}

/// What a source of a spec refers to.
fn reference(source: &ArtifactSourceReference, namespace: &str) -> Reference {
    let namespace = source.namespace.as_deref().unwrap_or(namespace);
    Reference::new(source.kind.as_str(), Key::new(namespace, source.name.clone()))
}

impl Wakes for ArtifactGenerators {
    fn wake(&self, reference: &Reference) {
        for key in self.index.referrers(reference) {
            self.queue.add(&key);
        }
    }

    fn refers_to(&self, reference: &Reference) -> bool {
        !self.index.referrers(reference).is_empty()
    }
}

impl Consumes for ArtifactGenerators {
    /// What copies from the source is due if there is another artifact, or the same was stored again.
    fn on_source(&self, source: &Reference, before: Option<&Artifact>, after: Option<&Artifact>) {
        if after.is_some() && before != after {
            self.wake(source);
        }
    }
}

impl Reconcile for ArtifactGenerators {
    async fn reconcile(&self, key: Key) -> Next {
        let Some(object) = self.store.get(&key) else { return Next::Event };
        let mut pass = Pass::begin(self, object);
        self.pass(&mut pass).await
    }
}
