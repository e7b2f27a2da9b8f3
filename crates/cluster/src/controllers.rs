//! The control plane behind the API server: garbage collection, namespaces, rollouts, nodes.
//!
//! All controllers of a cluster run in one task, one reconcile at a time, in the order of a queue
//! that is sorted by due time and then by arrival. So a run on a paused runtime is the same every
//! time. They write through the same API as every client ([`Control`]) and read only the store.
//!
//! A controller is a file: which events queue which keys ([`Controller::wakes`]) and one pass over one
//! object ([`Controller::reconcile`]). It is called again whenever something it read may have changed,
//! so it computes from the stored state and keeps none of its own.

mod addresses;
mod autoscaler;
mod cluster_role_aggregation;
mod condition;
pub(crate) mod control;
mod cron_job;
mod daemon_set;
mod deployment;
mod disruption;
mod endpoints;
mod garbage;
mod hash;
mod history;
mod job;
mod kubelet;
mod namespace;
mod nodes;
mod pods;
mod queue;
mod quota;
mod recorder;
mod replica_set;
mod scheduler;
mod service_account;
mod service_account_token;
mod stateful_set;
mod volumes;

use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use jiff::Timestamp;
use sluice_base::clock::Clock as _;

use self::control::Control;
use self::queue::Queue;
use self::recorder::Recorder;
use crate::state::State;
use crate::store::{Event, GroupResource};

/// The object that a controller is asked to reconcile.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) resource: GroupResource,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Key {
    pub(crate) fn new(group: &str, resource: &str, namespace: &str, name: &str) -> Self {
        Self {
            resource: GroupResource::new(group, resource),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// The key of an object of `resource`, from its key in the store.
    pub(crate) fn of(resource: &GroupResource, store_key: &str) -> Self {
        let (namespace, name) = store_key.split_once('/').unwrap_or(("", store_key));
        Self { resource: resource.clone(), namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

/// When to reconcile an object again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// When something changes.
    Wait,
    /// After this time in the simulated cluster.
    After(Duration),
    /// At this moment of the cluster's clock.
    At(Timestamp),
}

/// The future of a reconcile.
pub(crate) type Reconcile<'a> = Pin<Box<dyn Future<Output = Next> + Send + 'a>>;

/// One controller.
pub(crate) trait Controller: Send + Sync {
    /// The keys that an event queues.
    fn wakes(&self, control: &Control, resource: &GroupResource, event: &Event) -> Vec<Key>;

    /// The shortest and the longest delay between an event and the pass; the seed decides.
    fn reaction(&self) -> (Duration, Duration) {
        (Duration::from_millis(5), Duration::from_millis(30))
    }

    /// Reconciles one object. Idempotent; called again after a failed write.
    fn reconcile<'a>(&'a self, control: &'a Control, key: &'a Key) -> Reconcile<'a>;
}

/// Starts the controllers of a cluster on the current runtime. They stop when the cluster is dropped.
pub(crate) fn start(state: &Arc<State>) {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        tracing::debug!("no runtime: the cluster has no controllers");
        return;
    };
    runtime.spawn(run(Arc::downgrade(state), controllers(state)));
}

fn controllers(state: &Arc<State>) -> Vec<Arc<dyn Controller>> {
    let mut out: Vec<Arc<dyn Controller>> = vec![
        Arc::new(crate::crd::controller::DefinitionController),
        Arc::new(cluster_role_aggregation::ClusterRoleAggregation::default()),
        Arc::new(garbage::GarbageCollector::default()),
        Arc::new(namespace::NamespaceController),
        Arc::new(service_account::ServiceAccountController),
        Arc::new(service_account_token::ServiceAccountTokens),
    ];
    if state.rollouts {
        out.extend(workloads());
    }
    if state.workloads {
        out.extend(machines());
    }
    out
}

/// The workload controllers of `kube-controller-manager`.
fn workloads() -> Vec<Arc<dyn Controller>> {
    vec![
        Arc::new(deployment::DeploymentController),
        Arc::new(replica_set::REPLICA_SETS),
        Arc::new(replica_set::REPLICATION_CONTROLLERS),
        Arc::new(stateful_set::StatefulSetController),
        Arc::new(daemon_set::DaemonSetController),
        Arc::new(job::JobController),
        Arc::new(cron_job::CronJobController),
        Arc::new(endpoints::EndpointsController),
        Arc::new(volumes::VolumeController),
        Arc::new(disruption::DisruptionController),
        Arc::new(autoscaler::Autoscaler),
        Arc::new(quota::QuotaController),
    ]
}

/// The controllers of nodes and pods.
fn machines() -> Vec<Arc<dyn Controller>> {
    vec![
        Arc::new(nodes::NodeController),
        Arc::new(scheduler::Scheduler::default()),
        Arc::new(kubelet::Kubelet::default()),
        Arc::new(addresses::AddressController),
    ]
}

async fn run(state: Weak<State>, controllers: Vec<Arc<dyn Controller>>) {
    let mut queue = Queue::default();
    let recorder = Arc::new(Recorder::default());
    let mut seen = 0;
    let Some(mut journal) = state.upgrade().map(|state| state.store.journal()) else { return };
    loop {
        let due = {
            let Some(state) = state.upgrade() else { return };
            let control = Control::new(state, recorder.clone());
            seen = take_events(&control, &controllers, &mut queue, seen);
            while let Some((index, key)) = queue.pop(control.state.clock.now()) {
                match controllers[index].reconcile(&control, &key).await {
                    Next::Wait => {}
                    Next::After(wait) => {
                        queue.push(control.state.clock.after(wait), index, key);
                    }
                    Next::At(due) => queue.push(due, index, key),
                }
                seen = take_events(&control, &controllers, &mut queue, seen);
            }
            let clock = control.state.clock;
            queue.next_due().map(|due| (clock, due))
        };
        // The state is not held while waiting, so that dropping the cluster ends this task.
        let news = match due {
            Some((clock, due)) => tokio::select! {
                biased;
                news = journal.changed() => news,
                () = clock.sleep_until(due) => Ok(()),
            },
            None => journal.changed().await,
        };
        if news.is_err() {
            return;
        }
    }
}

/// Queues the keys that the events since `seen` affect; returns the revision now seen.
fn take_events(
    control: &Control,
    controllers: &[Arc<dyn Controller>],
    queue: &mut Queue,
    seen: u64,
) -> u64 {
    let (events, revision) = control.state.store.events_after(seen);
    for (resource, event) in events {
        for (index, controller) in controllers.iter().enumerate() {
            for key in controller.wakes(control, &resource, &event) {
                let (least, most) = controller.reaction();
                let due = control.state.clock.after(control.between(least, most));
                queue.push(due, index, key);
            }
        }
    }
    revision
}
