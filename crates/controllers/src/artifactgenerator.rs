//! ArtifactGenerators: from the artifacts of sources to artifacts of their parts, as ExternalArtifacts.
//!
//! ```text
//! valid? ─▶ sources' artifacts ─▶ anything different? ─▶ copy, pack and store ─▶ ExternalArtifacts ─▶ old ones go
//! ```
//!
//! Start reading at `reconcile.rs`. What makes an ArtifactGenerator due is in this file: its own spec, a request, another
//! revision of one of its sources.

mod drift;
mod externals;
mod outputs;
mod reconcile;
mod validation;

use std::sync::Arc;

use sluice_api::extensions::artifactgenerator::{ArtifactGenerator, ArtifactSourceReference};
use sluice_api::names::finalizers::GENERATOR;
use sluice_api::shared::artifact::Artifact;
use sluice_runtime::controller::{Core, is_due};
use sluice_runtime::index::Reference;
use sluice_runtime::key::Key;
use sluice_runtime::pass::OnChange;
use sluice_runtime::queue::{Next, Queue};
use sluice_runtime::store::{Change, Store};
use sluice_runtime::worker::Reconcile;

use crate::context::Context;
use crate::sources::Sources;
use crate::sourcing::SourceBackends;
use crate::waking::{Consumes, Wakes};

/// A pass over an ArtifactGenerator.
type Pass<'c> = sluice_runtime::pass::Pass<'c, ArtifactGenerator>;

/// The field manager of what is written, and the label of what is made.
const MANAGER: &str = "source-watcher";

/// The controller of ArtifactGenerators.
pub struct ArtifactGenerators {
    context: Context,
    backends: SourceBackends,
    sources: Arc<Sources>,
    core: Core<ArtifactGenerator>,
}

impl ArtifactGenerators {
    /// A controller over these sources. It expects the changes that the watches report.
    pub fn new(
        context: Context,
        backends: SourceBackends,
        sources: Arc<Sources>,
        queue: Arc<Queue>,
    ) -> Self {
        let core = Core::new(context.pass.clone(), Arc::default(), queue, MANAGER, GENERATOR);
        Self { context, backends, sources, core }
    }

    /// The ArtifactGenerators of the cluster.
    pub fn store(&self) -> &Arc<Store<ArtifactGenerator>> {
        &self.core.store
    }
}

impl OnChange<ArtifactGenerator> for ArtifactGenerators {
    fn on_change(&self, change: &Change<ArtifactGenerator>) {
        let Some(after) = &change.after else { return self.core.forget(&change.key) };
        let sources = after.spec.sources.iter();
        self.core.index.set(&change.key, sources.map(|it| reference(it, &change.key.namespace)));
        if is_due(change.before.as_deref(), &**after) {
            self.core.queue.add(&change.key);
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
        self.core.wake(reference);
    }

    fn refers_to(&self, reference: &Reference) -> bool {
        self.core.is_referred_to(reference)
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
        sluice_runtime::pass::reconcile(self, &key).await
    }
}
