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

use sluice_api::crd::CustomResource as _;
use sluice_api::extensions::artifactgenerator::{ArtifactGenerator, ArtifactSourceReference};
use sluice_api::names::finalizers::GENERATOR;
use sluice_api::shared::artifact::Artifact;
use sluice_api::source;
use sluice_runtime::controller::{Core, is_due};
use sluice_runtime::index::Reference;
use sluice_runtime::key::Key;
use sluice_runtime::pass::OnChange;
use sluice_runtime::queue::{Next, Queue};
use sluice_runtime::store::Change;
use sluice_runtime::worker::Reconcile;

use crate::context::Context;
use crate::rights::{Right, WATCH};
use crate::run::wiring::Wiring;
use crate::sources::Sources;
use crate::sourcing::SourceBackends;
use crate::table::{Controller, ReconciledKind};
use crate::waking::{ArtifactChange, Consumes, Wakes};

/// A pass over an ArtifactGenerator.
type Pass<'c> = sluice_runtime::pass::Pass<'c, ArtifactGenerator>;

/// The field manager of what is written, and the label of what is made.
const MANAGER: &str = "source-watcher";

/// The kind in the table.
pub(crate) const KIND: ReconciledKind = ReconciledKind {
    definition: ArtifactGenerator::DEFINITION,
    controller: Controller::Watcher,
    rights: &[
        Right::new(
            source::GROUP,
            &["externalartifacts"],
            &["create", "delete", "get", "list", "patch", "watch"],
            "what the generators make",
        ),
        Right {
            subresource: "status",
            ..Right::new(
                source::GROUP,
                &["externalartifacts"],
                &["patch"],
                "the artifacts that the generators made",
            )
        },
        Right::new(
            source::GROUP,
            &["buckets", "gitrepositories", "helmcharts", "ocirepositories"],
            WATCH,
            "the sources that artifacts are composed of",
        ),
    ],
    wire,
};

fn wire(wiring: &mut Wiring<'_>) {
    let Some(context) = wiring.context(KIND.controller) else { return };
    let (queue, sources) = (wiring.queue(&KIND.definition), Arc::clone(&wiring.sources));
    let (backends, own) = (wiring.backends(), Arc::clone(&queue));
    let controller = Arc::new(ArtifactGenerators::new(context, backends, sources, own));
    wiring.users.add(Arc::clone(&controller) as _);
    wiring.controller(&KIND, queue, &controller);
    let (store, shard) = (Arc::clone(&controller.core.store), wiring.shard());
    wiring.observe(&store, shard, move |change| controller.on_change(&change));
}

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
    /// What copies from the source is due, whatever changed about its artifact.
    fn on_source(&self, source: &Reference, _: &Artifact, _: ArtifactChange) {
        self.wake(source);
    }
}

impl Reconcile for ArtifactGenerators {
    async fn reconcile(&self, key: Key) -> Next {
        sluice_runtime::pass::reconcile(self, &key).await
    }
}
