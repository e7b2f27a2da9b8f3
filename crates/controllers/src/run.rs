//! Everything a set of controllers needs, put together: stores, watches, queues, workers. A server, a test
//! and a simulation start them alike; they differ in what they hand in.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use sluice_base::clock::Clock;
use sluice_runtime::events::{Notify, Recorder};
use sluice_runtime::index::Reference;
use sluice_runtime::key::Key;
use sluice_runtime::queue::{Backoff, Queue};
use sluice_runtime::store::{Change, Store};
use sluice_runtime::watch::watch;
use sluice_runtime::worker::work;
use sluice_ssa::Discovery;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::artifacts::{Artifacts, Packed};
use crate::compute::Compute;
use crate::context::{Context, Settings};
use crate::gitrepository::{GitRepositories, Workshop};
use crate::kustomization::Kustomizations;
use crate::sources::{Source, Sources};

/// How long the controllers wait for the first lists: a kind that is not installed has none.
const FIRST_LISTS: Duration = Duration::from_secs(5);
/// How long passes may go on after the controllers are to stop.
const GRACE: Duration = Duration::from_secs(20);
/// How long to wait before a failed watch of metadata is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// A controller that can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Controller {
    /// Makes artifacts of GitRepositories.
    Source,
    /// Applies Kustomizations.
    Kustomize,
}

impl Controller {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Source, Self::Kustomize];

    /// The name that Flux gives the controller.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Source => "source-controller",
            Self::Kustomize => "kustomize-controller",
        }
    }
}

/// What the controllers work with.
#[derive(Clone)]
pub struct World {
    /// The cluster.
    pub client: Client,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Chance, between 0 and 1.
    pub chance: Arc<dyn Fn() -> f64 + Send + Sync>,
    /// Where long work is done.
    pub compute: Compute,
    /// Where sources come from and artifacts go.
    pub workshop: Workshop,
    /// Where artifacts are taken from.
    pub packed: Arc<dyn Packed>,
    /// Flags and feature gates.
    pub settings: Settings,
    /// Takes events besides Kubernetes.
    pub receiver: Option<Arc<dyn Notify>>,
    /// Who tells of events.
    pub instance: String,
    /// How many objects of a kind are worked on at a time.
    pub concurrent: usize,
    /// Which controllers run.
    pub controllers: BTreeSet<Controller>,
}

/// Runs controllers until they are to stop. Then no new pass begins, and those under way may come to an end
/// for a while. Dropping the future ends everything at once; what was begun is done by the next run.
pub async fn run(world: World, stop: CancellationToken) {
    let mut tasks = JoinSet::new();
    let artifacts = Arc::new(Artifacts::new(Arc::clone(&world.packed), world.compute));
    let base = |controller: Controller, tasks: &mut JoinSet<()>| {
        let (recorder, sender) = Recorder::new(
            world.client.clone(),
            controller.name(),
            &world.instance,
            Arc::clone(&world.clock),
            world.receiver.clone(),
        );
        tasks.spawn(sender);
        Context {
            client: world.client.clone(),
            clock: Arc::clone(&world.clock),
            chance: Arc::clone(&world.chance),
            recorder,
            artifacts: Arc::clone(&artifacts),
            discovery: Discovery::new(),
            compute: world.compute,
            settings: Arc::new(world.settings.clone()),
        }
    };
    let sources = Arc::new(Sources::default());
    let queue = || Arc::new(Queue::new(Backoff::default()));
    let (git_queue, kustomize_queue) = (queue(), queue());
    let runs = |controller| world.controllers.contains(&controller);
    let kustomizations = runs(Controller::Kustomize).then(|| {
        let context = base(Controller::Kustomize, &mut tasks);
        Arc::new(Kustomizations::new(context, Arc::clone(&sources), Arc::clone(&kustomize_queue)))
    });
    let listener = kustomizations.clone();
    let tell_git = move |change: &Change<_>| {
        if let Some(kustomizations) = &listener {
            kustomizations.on_source("GitRepository", change);
        }
    };
    let repositories = runs(Controller::Source).then(|| {
        let context = base(Controller::Source, &mut tasks);
        let store = Arc::clone(&sources.git);
        let (workshop, queue) = (world.workshop.clone(), Arc::clone(&git_queue));
        Arc::new(GitRepositories::new(context, workshop, store, queue, Arc::new(tell_git.clone())))
    });

    let client = &world.client;
    match repositories.clone() {
        Some(repositories) => {
            observe(&mut tasks, client, &sources.git, move |change| {
                repositories.on_change(&change);
            });
        }
        None => observe(&mut tasks, client, &sources.git, move |change| tell_git(&change)),
    }
    if let Some(kustomizations) = &kustomizations {
        let controller = Arc::clone(kustomizations);
        let store = Arc::clone(kustomizations.store());
        observe(&mut tasks, client, &store, move |change| controller.on_change(&change));
        observe_source(&mut tasks, client, &sources.oci, kustomizations, "OCIRepository");
        observe_source(&mut tasks, client, &sources.bucket, kustomizations, "Bucket");
        if world.settings.external_artifacts {
            observe_source(
                &mut tasks,
                client,
                &sources.external,
                kustomizations,
                "ExternalArtifact",
            );
        }
    }
    let users =
        Users { kustomizations: kustomizations.clone(), repositories: repositories.clone() };
    let users = Arc::new(users);
    tasks.spawn(observe_config::<ConfigMap>(client.clone(), "ConfigMap", Arc::clone(&users)));
    tasks.spawn(observe_config::<Secret>(client.clone(), "Secret", users));

    // Who starts before the sources are known would call them missing.
    let first = async {
        sources.git.synced().await;
        if let Some(kustomizations) = &kustomizations {
            tokio::join!(
                kustomizations.store().synced(),
                sources.oci.synced(),
                sources.bucket.synced()
            );
        }
    };
    let _ = tokio::time::timeout(FIRST_LISTS, first).await;
    info!("controllers started");
    let workers = world.concurrent;
    let working = async {
        let git = async {
            if let Some(repositories) = repositories {
                work(git_queue, repositories, workers, stop.clone()).await;
            }
        };
        let kustomize = async {
            if let Some(kustomizations) = kustomizations {
                work(kustomize_queue, kustomizations, workers, stop.clone()).await;
            }
        };
        tokio::join!(git, kustomize);
    };
    let overdue = async {
        stop.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        biased;
        () = working => {}
        () = overdue => {}
    }
}

/// Watches a kind.
fn observe<K>(
    tasks: &mut JoinSet<()>,
    client: &Client,
    store: &Arc<Store<K>>,
    tell: impl Fn(Change<K>) + Send + Sync + 'static,
) where
    K: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + Sync + 'static,
{
    let api: Api<K> = Api::all(client.clone());
    tasks.spawn(watch(api, Config::default(), Arc::clone(store), tell, Arc::new(|_, _| {})));
}

/// Watches a kind of sources that somebody else looks after.
fn observe_source<K>(
    tasks: &mut JoinSet<()>,
    client: &Client,
    store: &Arc<Store<K>>,
    kustomizations: &Arc<Kustomizations>,
    kind: &'static str,
) where
    K: Source
        + Resource<DynamicType = ()>
        + DeserializeOwned
        + Clone
        + Debug
        + Send
        + Sync
        + 'static,
{
    let kustomizations = Arc::clone(kustomizations);
    observe(tasks, client, store, move |change| kustomizations.on_source(kind, &change));
}

/// Those who read ConfigMaps and Secrets.
struct Users {
    kustomizations: Option<Arc<Kustomizations>>,
    repositories: Option<Arc<GitRepositories>>,
}

impl Users {
    fn are_there(&self, reference: &Reference) -> bool {
        self.kustomizations.as_ref().is_some_and(|it| it.refers_to(reference))
            || self.repositories.as_ref().is_some_and(|it| it.refers_to(reference))
    }

    fn wake(&self, reference: &Reference) {
        if let Some(kustomizations) = &self.kustomizations {
            kustomizations.wake(reference);
        }
        if let Some(repositories) = &self.repositories {
            repositories.wake(reference);
        }
    }
}

/// Watches the metadata of ConfigMaps or Secrets, never what is in them, and wakes who reads one that is
/// new or changed. Only those that somebody reads are remembered.
async fn observe_config<K>(client: Client, kind: &'static str, users: Arc<Users>)
where
    K: Resource<DynamicType = ()> + Clone + Debug + Send + Sync + 'static,
{
    let mut seen: BTreeMap<Key, Option<String>> = BTreeMap::new();
    let api: Api<PartialObjectMeta<K>> = Api::all(client);
    loop {
        let mut events = std::pin::pin!(watcher(api.clone(), Config::default()));
        while let Some(event) = events.next().await {
            let object = match event {
                Ok(Event::Apply(object) | Event::InitApply(object)) => object,
                Ok(_) => continue,
                Err(_) => {
                    tokio::time::sleep(RETRY).await;
                    continue;
                }
            };
            let key = Key::of(&object.metadata);
            let reference = Reference::new(kind, key.clone());
            if !users.are_there(&reference) {
                continue;
            }
            let version = object.metadata.resource_version.clone();
            let before = seen.insert(key, version.clone());
            if before != Some(version) {
                users.wake(&reference);
            }
        }
    }
}
