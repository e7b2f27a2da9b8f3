//! How the parts of a run are put together: for each kind its store, its watch and, if it is looked after
//! here, its queue, its controller and its workers.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::Resource;
use kube::core::NamespaceResourceScope;
use kube::runtime::watcher::Config;
use serde::de::DeserializeOwned;
use sluice_api::crd::{CustomResource, Definition};
use sluice_cloud::{Clouds, CloudsParts};
use sluice_runtime::controller::PassContext;
use sluice_runtime::events::Recorder;
use sluice_runtime::pass::OnChange as _;
use sluice_runtime::queue::Queue;
use sluice_runtime::store::{Change, Store};
use sluice_runtime::watch::watch;
use sluice_runtime::worker::{Passes, Reconcile, work};
use sluice_ssa::Discovery;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::ControllerConfig;
use crate::artifacts::Artifacts;
use crate::client::guarded;
use crate::context::Context;
use crate::external::host_of;
use crate::identity::ClusterAccounts;
use crate::operation::new_id;
use crate::sources::{MadeHere, Source, Sources};
use crate::sourcing::{SourceBackends, SourceController, SourceKind};
use crate::table::{Controller, ReconciledKind};
use crate::waking::{SourceUsers, Wakes};

/// The parts of a run.
pub(crate) struct Wiring<'w> {
    config: &'w ControllerConfig,
    stop: CancellationToken,
    artifacts: Arc<Artifacts>,
    clouds: Clouds,
    /// The sources of the cluster.
    pub(crate) sources: Arc<Sources>,
    /// Watches and senders of events; they end with the run.
    pub(crate) tasks: JoinSet<()>,
    /// The contexts of the controllers that run here.
    contexts: BTreeMap<Controller, Context>,
    /// The controllers that build from artifacts. They have to be known before sources are watched.
    pub(crate) users: SourceUsers,
    /// The controllers with objects that refer to ConfigMaps and Secrets.
    pub(super) referrers: Vec<Arc<dyn Wakes>>,
    /// The first lists: who starts before the sources are known would call them missing.
    pub(super) lists: Vec<BoxFuture<'static, ()>>,
    /// Everything that works on queues.
    pub(super) workers: Vec<BoxFuture<'static, ()>>,
}

impl<'w> Wiring<'w> {
    pub(super) fn new(config: &'w ControllerConfig, stop: CancellationToken) -> Self {
        Self {
            config,
            stop,
            artifacts: Arc::new(Artifacts::new(Arc::clone(&config.packed), config.compute)),
            clouds: clouds(config),
            sources: Arc::new(Sources { made_here: made_here(config), ..Sources::default() }),
            tasks: JoinSet::new(),
            contexts: BTreeMap::new(),
            users: SourceUsers::default(),
            referrers: Vec::new(),
            lists: Vec::new(),
            workers: Vec::new(),
        }
    }

    /// What a controller works with, if it is to run.
    pub(crate) fn context(&mut self, controller: Controller) -> Option<Context> {
        let config = self.config;
        if !config.controllers.contains(&controller) {
            return None;
        }
        if let Some(context) = self.contexts.get(&controller) {
            return Some(context.clone());
        }
        let (recorder, sender) = Recorder::new(
            config.client.clone(),
            controller.name(),
            &config.instance,
            Arc::clone(&config.clock),
            config.receiver.clone(),
        );
        self.tasks.spawn(sender);
        let mut settings = config.settings.clone();
        // What this process serves itself is as good as what its own sources made.
        settings.external_artifact_hosts.extend(host_of(&config.backends.advertised));
        let context = Context {
            pass: PassContext {
                client: guarded(&config.client),
                clock: Arc::clone(&config.clock),
                chance: Arc::clone(&config.chance),
                recorder,
                metrics: Arc::clone(&config.operation.metrics),
                gate: config.operation.gate.clone(),
                jitter: settings.interval_jitter,
                rules: settings.pass_rules(),
            },
            artifacts: Arc::clone(&self.artifacts),
            made_here: made_here(config),
            discovery: Discovery::new(),
            compute: config.compute,
            egress: config.egress.clone(),
            clouds: self.clouds.clone(),
            settings: Arc::new(settings),
        };
        self.contexts.insert(controller, context.clone());
        Some(context)
    }

    /// Where artifacts go, and where sources come from.
    pub(crate) fn backends(&self) -> SourceBackends {
        self.config.backends.clone()
    }

    /// An empty queue of a kind.
    pub(crate) fn queue(&self, definition: &Definition) -> Arc<Queue> {
        let operation = &self.config.operation;
        let controller = definition.kind.to_ascii_lowercase();
        let metrics = Arc::clone(&operation.metrics);
        Arc::new(Queue::counting(operation.backoff, metrics, &controller))
    }

    /// What the API server is asked to choose by, where objects of other shards are not to be seen.
    pub(crate) fn shard(&self) -> Config {
        match self.config.operation.shard.as_str() {
            "" => Config::default(),
            selector => Config::default().labels(selector),
        }
    }

    /// A controller that runs here, and the queue that it works on.
    pub(crate) fn controller<R: Reconcile + Wakes>(
        &mut self,
        kind: &ReconciledKind,
        queue: Arc<Queue>,
        controller: &Arc<R>,
    ) {
        self.referrers.push(Arc::clone(controller) as Arc<dyn Wakes>);
        let (controller, stop) = (Arc::clone(controller), self.stop.clone());
        let (config, chance) = (self.config, Arc::clone(&self.config.chance));
        let passes = Passes::new(
            &kind.definition,
            Arc::clone(&config.operation.metrics),
            Arc::new(move || new_id(&*chance)),
        );
        let workers =
            config.operation.concurrent.get(&kind.controller).copied().unwrap_or(config.concurrent);
        self.workers.push(work(queue, controller, passes, workers, stop).boxed());
    }

    /// A kind of sources that is looked after here; where the controller does not run, it is only watched.
    pub(crate) fn source<K: SourceKind>(&mut self, kind: &ReconciledKind, store: &Arc<Store<K>>) {
        let Some(context) = self.context(kind.controller) else {
            return self.foreign_source(store);
        };
        let queue = self.queue(&kind.definition);
        let controller = Arc::new(SourceController::new(
            context,
            self.backends(),
            Arc::clone(store),
            Arc::clone(&queue),
            self.users.clone(),
        ));
        self.controller(kind, queue, &controller);
        let (shard, users) = (self.config.operation.shard.clone(), self.users.clone());
        self.observe(store, Config::default(), move |change| {
            let labels = |object: &Arc<K>| shard.matches(object.meta().labels.as_ref());
            if change.after.as_ref().is_none_or(labels) {
                controller.on_change(&change);
            } else {
                // Another process looks after it; here it is only built from.
                controller.forget(&change.key);
                users.on_change(&change);
            }
        });
    }

    /// A kind of sources that somebody else looks after.
    pub(super) fn foreign_source<K>(&mut self, store: &Arc<Store<K>>)
    where
        K: Source + CustomResource + Watched,
    {
        if self.users.is_empty() {
            return;
        }
        let users = self.users.clone();
        self.observe(store, Config::default(), move |change| users.on_change(&change));
    }

    /// Watches a kind.
    pub(crate) fn observe<K: Watched>(
        &mut self,
        store: &Arc<Store<K>>,
        config: Config,
        tell: impl Fn(Change<K>) + Send + Sync + 'static,
    ) {
        let (client, namespace) =
            (self.config.client.clone(), self.config.operation.namespace.clone());
        let (kept, quiet) = (Arc::clone(store), Arc::new(|_: &_, _: &_| {}));
        self.tasks.spawn(async move {
            watch(client, namespace.as_deref(), config, kept, tell, quiet).await;
        });
        let store = Arc::clone(store);
        self.lists.push(async move { store.synced().await }.boxed());
    }
}

/// Which sources the controllers of this run make artifacts of. Generators of other shards are not known
/// here, only their ExternalArtifacts are.
fn made_here(config: &ControllerConfig) -> MadeHere {
    let shard = &config.operation.shard;
    let runs = |controller| config.controllers.contains(&controller);
    MadeHere {
        sources: runs(Controller::Source).then(|| shard.clone()),
        generated: runs(Controller::Watcher) && shard.as_str().is_empty(),
    }
}

/// The clouds as all controllers see them: what one was given, another need not ask for.
fn clouds(config: &ControllerConfig) -> Clouds {
    Clouds::new(CloudsParts {
        environment: config.egress.environment.clone(),
        http: Arc::clone(&config.egress.web),
        accounts: Arc::new(ClusterAccounts(guarded(&config.client))),
        clock: Arc::clone(&config.clock),
        limits: config.settings.token_cache,
        allows_accounts: config.settings.object_level_workload_identity,
        trusted_hosts: config.settings.cloud_hosts.clone(),
    })
}

/// A kind that can be watched.
pub(crate) trait Watched:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + DeserializeOwned
    + Clone
    + Debug
    + Send
    + Sync
    + 'static
{
}

impl<K> Watched for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + DeserializeOwned
        + Clone
        + Debug
        + Send
        + Sync
        + 'static
{
}
