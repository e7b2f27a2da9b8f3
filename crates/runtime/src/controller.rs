//! What every controller of a kind has: clients and clocks, the objects, the queue and the reverse index.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use kube::core::object::HasStatus;
use kube::core::{NamespaceResourceScope, ObjectMeta};
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sluice_api::crd::CustomResource;
use sluice_api::names::annotations::REQUESTED_AT;
use sluice_base::clock::Clock;

use crate::events::Recorder;
use crate::gate::SharedGate;
use crate::index::{Index, Reference};
use crate::key::Key;
use crate::metrics::Metrics;
use crate::metrics::names::{RECONCILE_DURATION, SUSPENDED};
use crate::queue::{Next, Queue};
use crate::store::Store;

/// A kind that can be reconciled: every kind of `sluice-api` with a status is one.
pub trait Kind:
    CustomResource
    + HasStatus<Status: Clone + Default + Serialize + DeserializeOwned + Send + Sync + 'static>
    + Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + DeserializeOwned
    + Clone
    + Debug
    + Send
    + Sync
    + 'static
{
}

impl<K> Kind for K where
    K: CustomResource
        + HasStatus<Status: Clone + Default + Serialize + DeserializeOwned + Send + Sync + 'static>
        + Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + DeserializeOwned
        + Clone
        + Debug
        + Send
        + Sync
        + 'static
{
}

/// What the passes of all kinds of a process share. Nothing in it is global, so that simulations run side by side.
#[derive(Clone)]
pub struct PassContext {
    /// The cluster with the objects that are reconciled.
    pub client: Client,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Random numbers between 0 and 1.
    pub chance: Arc<dyn Fn() -> f64 + Send + Sync>,
    /// Takes events.
    pub recorder: Recorder,
    /// Takes metrics.
    pub metrics: Arc<Metrics>,
    /// Asked before new revisions are taken in.
    pub gate: SharedGate,
    /// `--interval-jitter-percentage`
    pub jitter: u8,
    /// The safety rules that passes keep.
    #[doc(hidden)]
    pub rules: PassRules,
}

impl PassContext {
    /// When to come back after a success: the interval, moved by up to the jitter either way so that objects do not
    /// come all at once.
    pub fn after(&self, interval: Duration) -> Next {
        Next::After(jittered(interval, self.jitter, (self.chance)()))
    }
}

fn jittered(interval: Duration, percent: u8, chance: f64) -> Duration {
    let share = f64::from(percent.min(100)) / 100.0;
    interval.mul_f64(1.0 + share * (2.0 * chance.clamp(0.0, 1.0) - 1.0))
}

/// Safety rules of a pass. Simulations switch one off to see what it prevents; nothing else can.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct PassRules {
    /// A status is written only over the one that was read: a stale write is rejected.
    pub compares_versions: bool,
    /// The finalizer is there before anything is done that it has to undo.
    pub finalizer_first: bool,
}

impl Default for PassRules {
    fn default() -> Self {
        Self { compares_versions: true, finalizer_first: true }
    }
}

/// The state of the controller of one kind.
pub struct Core<K> {
    /// What it shares with the others.
    pub context: PassContext,
    /// The objects, as the watch and the controller's own writes report them.
    pub store: Arc<Store<K>>,
    /// The objects that are due.
    pub queue: Arc<Queue>,
    /// What the objects refer to.
    pub index: Index,
    /// The field manager of what is written to the objects.
    pub manager: &'static str,
    /// The finalizer that the objects get.
    pub finalizer: &'static str,
}

impl<K: Kind> Core<K> {
    /// The state of a controller that has not seen anything.
    pub fn new(
        context: PassContext,
        store: Arc<Store<K>>,
        queue: Arc<Queue>,
        manager: &'static str,
        finalizer: &'static str,
    ) -> Self {
        Self { context, store, queue, index: Index::default(), manager, finalizer }
    }

    /// Makes those due that refer to an object, which changed.
    pub fn wake(&self, reference: &Reference) {
        for key in self.index.referrers(reference) {
            self.queue.add(&key);
        }
    }

    /// Whether anything refers to an object.
    pub fn is_referred_to(&self, reference: &Reference) -> bool {
        !self.index.referrers(reference).is_empty()
    }

    /// Forgets an object that is gone, or belongs to another shard by now.
    pub fn forget(&self, key: &Key) {
        self.index.set(key, []);
        self.queue.forget(key);
        for metric in [&RECONCILE_DURATION, &SUSPENDED] {
            self.context.metrics.forget(metric, &Self::labels(key));
        }
    }

    /// The labels of an object's metrics.
    pub fn labels(key: &Key) -> [&str; 3] {
        [K::DEFINITION.kind, &key.name, &key.namespace]
    }
}

/// Whether a change of the object itself makes it due: a new spec, a deletion, or a reconcile request.
pub fn is_due<K: Resource>(before: Option<&K>, after: &K) -> bool {
    let Some(before) = before.map(K::meta) else { return true };
    let after = after.meta();
    before.generation != after.generation
        || before.deletion_timestamp != after.deletion_timestamp
        || reconcile_request(before) != reconcile_request(after)
}

/// The reconcile request of an object: the value of the annotation, if it has one.
pub fn reconcile_request(metadata: &ObjectMeta) -> Option<&String> {
    metadata.annotations.as_ref()?.get(REQUESTED_AT)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sluice_api::names::annotations::REQUESTED_AT;
    use sluice_api::source::bucket::Bucket;

    use super::{is_due, jittered};

    #[test]
    fn intervals_are_moved_by_a_share_either_way() {
        let minute = Duration::from_mins(1);
        for (percent, chance, seconds) in
            [(5, 0.5, 60), (5, 0.0, 57), (5, 1.0, 63), (0, 0.9, 60), (200, 0.0, 0), (100, 7.0, 120)]
        {
            let expected = Duration::from_secs(seconds);
            assert_eq!(jittered(minute, percent, chance), expected, "{percent}% {chance}");
        }
    }

    #[test]
    fn a_spec_a_deletion_and_a_request_make_an_object_due() {
        let old = Bucket::default();
        assert!(is_due(None, &old), "it is new");
        assert!(!is_due(Some(&old), &old));
        let mut labelled = old.clone();
        labelled.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
        assert!(!is_due(Some(&old), &labelled), "a label is nothing to act on");
        let mut changed = old.clone();
        changed.metadata.generation = Some(2);
        assert!(is_due(Some(&old), &changed));
        let mut asked = old.clone();
        asked.metadata.annotations = Some([(REQUESTED_AT.to_owned(), "now".to_owned())].into());
        assert!(is_due(Some(&old), &asked));
    }
}
