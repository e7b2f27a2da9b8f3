//! Kustomizations: from a source's artifact to a converged cluster.
//!
//! ```text
//! source's artifact ─▶ dependencies ready? ─▶ gate ─▶ build ─▶ gate ─▶ inventory ─▶ apply ─▶ prune ─▶ healthy? ─▶ status
//! ```
//!
//! Start reading at `reconcile.rs`. What makes a Kustomization due is in this file: its own spec, a request, a
//! dependency that became ready, a ConfigMap or Secret it reads; for a new revision of its source see [`crate::waking`].

mod access;
mod admission;
mod apply;
mod build;
mod decryption;
mod dependencies;
mod drifting;
mod failures;
mod finalize;
mod guard;
mod handover;
mod health;
mod inventory;
mod reconcile;
mod references;
mod schedule;
mod timing;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use sluice_api::crd::CustomResource as _;
use sluice_api::kustomize::GROUP;
use sluice_api::kustomize::kustomization::Kustomization;
use sluice_api::names::conditions::READY;
use sluice_api::names::finalizers::FLUX;
use sluice_api::names::sluice::{DEPENDS_ON, DRIFT, PRUNE_GUARD, SOPS_MAC};
use sluice_api::shared::artifact::Artifact;
use sluice_api::shared::condition::ConditionStatus;
use sluice_api::source;
use sluice_runtime::controller::{Core, is_due};
use sluice_runtime::index::Reference;
use sluice_runtime::key::Key;
use sluice_runtime::pass::OnChange;
use sluice_runtime::queue::{Next, Queue};
use sluice_runtime::store::Change;
use sluice_runtime::watches::{Topic, Watches};
use sluice_runtime::worker::Reconcile;
use sluice_ssa::{ApplyOptions, Owner};
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use crate::drift::Drift;
use crate::rights::{READ, Right, TOKENS, WATCH, When};
use crate::run::wiring::Wiring;
use crate::sources::Sources;
use crate::table::{Controller, ReconciledKind};
use crate::waking::{ArtifactChange, Consumes, WakeUp, Wakes};
use handover::HandOver;
use schedule::Schedule;

/// A pass over a Kustomization.
type Pass<'c> = sluice_runtime::pass::Pass<'c, Kustomization>;

/// The field manager of what is written to Kustomizations.
const MANAGER: &str = "gotk-kustomize-controller";

/// The kind in the table.
pub(crate) const KIND: ReconciledKind = ReconciledKind {
    definition: Kustomization::DEFINITION,
    controller: Controller::Kustomize,
    rights: &[
        Right::new(
            source::GROUP,
            &["buckets", "gitrepositories", "ocirepositories"],
            WATCH,
            "the sources that Kustomizations build from",
        ),
        Right {
            when: When::With(Controller::Watcher),
            ..Right::new(
                source::GROUP,
                &["externalartifacts"],
                WATCH,
                "the composed artifacts that Kustomizations build from",
            )
        },
        Right::new(
            "",
            &["configmaps", "secrets"],
            READ,
            "values to substitute, decryption keys, kubeconfigs; only metadata is watched",
        ),
        Right::new(
            "",
            &["serviceaccounts"],
            &["get", "impersonate"],
            "applying as the account of a Kustomization, and whether it is still there",
        ),
        TOKENS,
    ],
    wire,
};

fn wire(wiring: &mut Wiring<'_>) {
    let Some(context) = wiring.context(KIND.controller) else { return };
    let (queue, sources) = (wiring.queue(&KIND.definition), Arc::clone(&wiring.sources));
    let (controller, watching) = Kustomizations::new(context, sources, Arc::clone(&queue));
    wiring.tasks.spawn(watching);
    wiring.users.add(Arc::clone(&controller) as _);
    wiring.controller(&KIND, queue, &controller);
    let store = Arc::clone(&controller.core.store);
    // A Kustomization of another shard is not known here, not even as a dependency, as in Flux.
    let shard = wiring.shard();
    wiring.observe(&store, shard, move |change| controller.on_change(&change));
}

/// Annotations that change what a pass does.
const STEERING: [&str; 4] = [DEPENDS_ON, DRIFT, PRUNE_GUARD, SOPS_MAC];

/// The controller of Kustomizations.
pub struct Kustomizations {
    context: Context,
    core: Core<Kustomization>,
    sources: Arc<Sources>,
    /// The passes that are under way, and how to cancel their waits.
    running: Mutex<BTreeMap<Key, Running>>,
    schedule: Schedule,
    drift: Drift,
    watches: Watches,
    handover: HandOver,
    /// Those that wait for objects of other kinds.
    waiting: Mutex<BTreeSet<Key>>,
    /// The last revision with altered documents, and the warning about them.
    warned: Mutex<BTreeMap<Key, (String, String)>>,
}

/// A pass that is under way.
#[derive(Default)]
struct Running {
    calls: Calls,
    /// What canceled its waits.
    by: Option<String>,
}

/// What ends the waits of a pass.
#[derive(Clone, Default)]
struct Calls {
    /// There is something newer to apply: the wait for health ends.
    cancel: CancellationToken,
    /// The source was stored anew: the wait for its artifact ends.
    refetch: CancellationToken,
}

impl Kustomizations {
    /// A controller over these sources. It expects the changes that the watches report. The future runs the watches of
    /// other kinds; it has to run beside the workers.
    pub fn new(
        context: Context,
        sources: Arc<Sources>,
        queue: Arc<Queue>,
    ) -> (Arc<Self>, impl Future<Output = ()> + Send + 'static) {
        let mut watching = None;
        let owner = Owner::kustomize();
        let options = ApplyOptions::kustomize(&owner, &context.settings.disallowed_field_managers);
        let limits = context.settings.drift_limits;
        let controller = Arc::new_cyclic(|weak: &Weak<Self>| {
            let weak = weak.clone();
            let tell = move |topic: &Topic, told| {
                if let Some(controller) = weak.upgrade() {
                    controller.on_metadata(topic, told);
                }
            };
            let (watches, run) = Watches::new(limits.kinds, Arc::new(tell));
            watching = Some(run);
            Self {
                drift: Drift::new(Arc::clone(&context.clock), owner, options, limits),
                core: Core::new(context.pass.clone(), Arc::default(), queue, MANAGER, FLUX),
                context,
                sources,
                running: Mutex::default(),
                schedule: Schedule::default(),
                watches,
                handover: HandOver::default(),
                waiting: Mutex::default(),
                warned: Mutex::default(),
            }
        });
        let watching = async move {
            if let Some(watching) = watching {
                watching.await;
            }
        };
        (controller, watching)
    }

    /// A whole pass is due.
    fn ask(&self, key: &Key) {
        self.schedule.ask(key);
        self.core.queue.add(key);
    }

    /// Forgets one that is gone.
    fn forget(&self, key: &Key) {
        self.core.forget(key);
        self.schedule.forget(key);
        self.unwatch(key);
        self.watches.want(&dependencies::watcher(key), Vec::new());
        self.handover.forget(key);
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
        self.warned.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// Makes those due that wait for an object of any kind.
    fn wake_waiting(&self, reference: &Reference) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.is_empty() {
            return;
        }
        for key in self.core.index.referrers(reference) {
            if waiting.contains(&key) {
                self.ask(&key);
            }
        }
    }

    /// Cancels the waits of a pass: something made another one due.
    fn cancel(&self, key: &Key, by: &str) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = running.get_mut(key) {
            running.by = Some(by.to_owned());
            running.calls.cancel.cancel();
            running.calls.refetch.cancel();
        }
    }

    /// Ends the wait of a pass for an artifact, as its source was stored again; says whether there is a pass.
    fn refetch(&self, key: &Key) -> bool {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.get(key).inspect(|running| running.calls.refetch.cancel()).is_some()
    }

    /// What canceled the waits of the pass that is under way.
    fn canceled_by(&self, key: &Key) -> Option<String> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.get(key).and_then(|running| running.by.clone())
    }

    /// What cancels the waits of the pass that is under way.
    fn calls(&self, key: &Key) -> Calls {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.get(key).map(|running| running.calls.clone()).unwrap_or_default()
    }
}

impl OnChange<Kustomization> for Kustomizations {
    /// A Kustomization is due if its spec or an annotation of ours changed or a request was made; those that depend on
    /// it are due if it became ready or applied another revision.
    fn on_change(&self, change: &Change<Kustomization>) {
        for waiting in self.handover.released(change) {
            self.ask(&waiting);
        }
        let Some(after) = &change.after else { return self.forget(&change.key) };
        self.core.index.set(&change.key, references::all(after));
        if is_due(change.before.as_deref(), &**after) || is_steered(change) {
            self.cancel(&change.key, &source_text(after));
            self.ask(&change.key);
        }
        let name = references::any_kind(GROUP, "Kustomization");
        self.wake_waiting(&Reference::new(name, change.key.clone()));
        if change.before.as_deref().map(readiness) != Some(readiness(after)) {
            self.wake(&Reference::new("Kustomization", change.key.clone()));
        }
    }
}

impl Wakes for Kustomizations {
    fn wake(&self, reference: &Reference) {
        for key in self.core.index.referrers(reference) {
            self.ask(&key);
        }
    }

    fn refers_to(&self, reference: &Reference) -> bool {
        !self.core.index.referrers(reference).is_empty()
    }
}

impl Consumes for Kustomizations {
    fn on_source(&self, source: &Reference, artifact: &Artifact, change: ArtifactChange) {
        for waiting in self.handover.fetched(source) {
            self.ask(&waiting);
        }
        for key in self.core.index.referrers(source) {
            let object = self.core.store.get(&key);
            let is_applied = object.is_some_and(|object| is_applied(&object, &artifact.revision));
            let is_due = match WakeUp::decide(change, is_applied) {
                WakeUp::Supersede => {
                    self.cancel(&key, &format!("{}/{}", source.kind, source.key));
                    true
                }
                WakeUp::Refetch { always } => self.refetch(&key) || always,
            };
            if is_due {
                self.ask(&key);
            }
        }
    }
}

impl Reconcile for Kustomizations {
    async fn reconcile(&self, key: Key) -> Next {
        let Some(object) = self.core.store.get(&key) else { return Next::Event };
        let lock = || self.running.lock().unwrap_or_else(PoisonError::into_inner);
        lock().insert(key.clone(), Running::default());
        self.drift.enter(&key);
        let mut pass = Pass::begin(self, object);
        let next = if self.drift.has_untold(&key) && !self.schedule.is_due(&key) {
            self.warn(&mut pass).await
        } else {
            self.schedule.begin(&key);
            let next = Box::pin(pass.run(self)).await;
            self.schedule.end(&key, next);
            next
        };
        lock().remove(&key);
        for foreign in self.drift.leave(&key) {
            self.on_foreign(&foreign);
        }
        next
    }
}

/// Whether an annotation of ours changed, which leaves the generation as it is.
fn is_steered(change: &Change<Kustomization>) -> bool {
    let steering = |object: Option<&Arc<Kustomization>>| {
        let annotations = object.and_then(|object| object.metadata.annotations.clone());
        let annotations = annotations.unwrap_or_default().into_iter();
        annotations.filter(|(name, _)| STEERING.contains(&name.as_str())).collect::<Vec<_>>()
    };
    steering(change.before.as_ref()) != steering(change.after.as_ref())
}

fn source_text(object: &Kustomization) -> String {
    let source = references::source(object);
    format!("{}/{}", source.kind, source.key)
}

fn is_ready(object: &Kustomization) -> bool {
    let conditions = object.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|it| it.r#type == READY && it.status == ConditionStatus::True)
}

/// Whether a Kustomization is ready at a revision.
fn is_applied(object: &Kustomization, revision: &str) -> bool {
    let status = object.status.as_ref();
    let applied = status.and_then(|status| status.last_applied_revision.as_deref());
    applied == Some(revision) && is_ready(object)
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
