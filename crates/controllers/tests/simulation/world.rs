//! What a story plays on: a cluster, a repository, an artifact store, and controllers that crash and come back.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::client::Body;
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use sluice_base::clock::Clock;
use sluice_cluster::Cluster;
use sluice_controllers::artifacts::{ArtifactError, Local, Packed};
use sluice_controllers::compute::Compute;
use sluice_controllers::context::Settings;
use sluice_controllers::egress::Egress;
use sluice_controllers::operation::Operation;
use sluice_controllers::run::{self, Controller};
use sluice_controllers::safety::SafetyRule;
use sluice_controllers::sources::SourceArtifact;
use sluice_controllers::sourcing::SourceBackends;
use sluice_source::artifact::DigestAlgorithm;
use sluice_source::bucket::MemoryBuckets;
use sluice_source::git::{Identity, MemoryTransport, NewCommit, Repository};
use sluice_source::network::Network;
use sluice_source::oci::MemoryRegistry;
use sluice_source::store::{ArtifactStore as _, MemoryStore, Retention};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::chance::Chance;
use crate::observer::Facts;
use crate::platform::{KINDS, NAMESPACE, Platform, Thing, VALUE};
use crate::wire::Wire;

/// The repository.
pub(crate) const URL: &str = "https://git.test/platform";
/// The namespace of Flux's objects.
pub(crate) const FLUX: &str = "flux-system";
/// The moment at which all stories begin.
const EPOCH: Timestamp = Timestamp::constant(1_767_225_600, 0);

/// What a story does without, to see whether anybody notices.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Without {
    /// A rule of the controllers.
    pub(crate) rule: Option<SafetyRule>,
    /// The comparison of artifacts with their digests.
    pub(crate) digests: bool,
}

struct Virtual(Instant);

impl Clock for Virtual {
    fn now(&self) -> Timestamp {
        EPOCH + SignedDuration::try_from(self.0.elapsed()).unwrap()
    }
}

/// Artifacts as they are, whatever their digest.
struct Unchecked(Arc<MemoryStore>);

impl Packed for Unchecked {
    fn fetch<'a>(
        &'a self,
        artifact: &'a SourceArtifact,
    ) -> BoxFuture<'a, Result<bytes::Bytes, ArtifactError>> {
        Box::pin(async move {
            let served = self.0.open(&artifact.path).await;
            let missing = |error: &dyn std::fmt::Display| ArtifactError::Missing(error.to_string());
            let content = served.map_err(|error| missing(&error))?.content;
            content.read().await.map_err(|error| missing(&error))
        })
    }
}

/// Everything.
pub(crate) struct World {
    pub(crate) cluster: Cluster,
    pub(crate) user: User,
    pub(crate) git: MemoryTransport,
    pub(crate) facts: Arc<Facts>,
    pub(crate) wire: Arc<Wire>,
    clock: Arc<dyn Clock>,
    controllers: run::ControllerConfig,
}

impl World {
    /// Everything, with Flux's definitions; the controllers do not run yet.
    pub(crate) async fn new(seed: u64, chance: &Chance, without: Without) -> Self {
        static NETWORK: OnceLock<Network> = OnceLock::new();
        let cluster = Cluster::builder().seed(seed).build();
        let user = User { client: Client::new(cluster.service(), "default") };
        let began = Instant::now();
        let clock: Arc<dyn Clock> = Arc::new(Virtual(began));
        let (git, store) =
            (MemoryTransport::default(), Arc::new(MemoryStore::new(Arc::clone(&clock))));
        git.insert(URL, Repository::new("main"));
        let facts = Arc::<Facts>::default();
        let wire = Arc::new(Wire {
            inner: cluster.service(),
            user: user.clone(),
            store: Arc::clone(&store),
            chance: chance.clone(),
            late: Mutex::default(),
            worst: Chance::seeded(!seed),
            facts: Arc::clone(&facts),
            began,
            trace: Mutex::default(),
            crash: Notify::new(),
            fuse: Mutex::default(),
            mischief: AtomicBool::new(true),
        });
        let packed: Arc<dyn Packed> = if without.digests {
            Arc::new(Unchecked(Arc::clone(&store)))
        } else {
            Arc::new(Local(Arc::clone(&store) as _))
        };
        let carrier = Arc::clone(&wire);
        let service = tower::service_fn(move |request: http::Request<Body>| {
            Arc::clone(&carrier).send(request)
        });
        let jitter = chance.clone();
        let controllers = run::ControllerConfig {
            client: Client::new(service, "default"),
            clock: Arc::clone(&clock),
            chance: Arc::new(move || jitter.fraction()),
            compute: Compute::Inline,
            backends: SourceBackends {
                artifacts: store,
                advertised: "source.test".to_owned(),
                retention: Retention::default(),
                digests: DigestAlgorithm::default(),
                transport: Arc::new(git.clone()),
                buckets: Arc::new(MemoryBuckets::default()),
                network: NETWORK.get_or_init(Network::new).clone(),
                registries: Arc::new(MemoryRegistry::new()),
            },
            packed,
            egress: Egress::sealed(Arc::new(git.clone())),
            settings: Settings {
                requeue_dependency: Duration::from_secs(10),
                switched_off: without.rule,
                ..Settings::default()
            },
            receiver: None,
            instance: "simulation".to_owned(),
            concurrent: 4,
            controllers: BTreeSet::from([Controller::Source, Controller::Kustomize]),
            operation: Operation::default(),
        };
        let world = Self { cluster, user, git, facts, wire, clock, controllers };
        for crd in sluice_api::crds() {
            let group = crd["spec"]["group"].as_str().unwrap();
            if ["source.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io"].contains(&group) {
                world.user.apply(&crd).await;
            }
        }
        for name in [FLUX, NAMESPACE] {
            let metadata = json!({"name": name});
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata});
            world.user.apply(&namespace).await;
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
        world
    }

    /// Runs the controllers for ever; when they crash they come back after a while.
    pub(crate) async fn supervise(world: run::ControllerConfig, wire: Arc<Wire>) {
        loop {
            let running = tokio::spawn(run::run(world.clone(), CancellationToken::new()));
            wire.crash.notified().await;
            running.abort();
            let _ = running.await;
            let pause = wire.chance.millis(500..4000);
            wire.note(&format!("the controllers are gone for {pause:?}"));
            tokio::time::sleep(pause).await;
        }
    }

    pub(crate) fn controllers(&self) -> run::ControllerConfig {
        self.controllers.clone()
    }

    /// Commits all of the repository; gives the revision.
    pub(crate) fn commit(&self, message: &str, platform: &Platform) -> String {
        let files = platform.files();
        let by = Identity::new("Ada", "ada@git.test", self.clock.now());
        let new = NewCommit { branch: "main", message, files: &files, by };
        let id = self.git.change(URL, |repository| repository.commit(&new)).unwrap();
        let revision = format!("main@sha1:{id}");
        self.facts.committed(&revision, platform);
        self.wire.note(&format!("commit {revision}: {message}"));
        revision
    }
}

/// Somebody with a client of their own, whom no fault strikes.
#[derive(Clone)]
pub(crate) struct User {
    client: Client,
}

impl User {
    /// The objects of a kind in the namespace of all things.
    pub(crate) fn api(&self, kind: &str, group: &str, version: &str) -> Api<DynamicObject> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        Api::namespaced_with(self.client.clone(), NAMESPACE, &resource)
    }

    /// The GitRepositories.
    pub(crate) fn repositories(&self) -> Api<DynamicObject> {
        let gvk = GroupVersionKind::gvk("source.toolkit.fluxcd.io", "v1", "GitRepository");
        let resource = ApiResource::from_gvk_with_plural(&gvk, "gitrepositories");
        Api::namespaced_with(self.client.clone(), FLUX, &resource)
    }

    /// The Kustomizations.
    pub(crate) fn kustomizations(&self) -> Api<DynamicObject> {
        let gvk = GroupVersionKind::gvk("kustomize.toolkit.fluxcd.io", "v1", "Kustomization");
        Api::namespaced_with(self.client.clone(), FLUX, &ApiResource::from_gvk(&gvk))
    }

    fn of(&self, thing: &Thing) -> Api<DynamicObject> {
        let (kind, group, version) = KINDS.into_iter().find(|it| it.0 == thing.kind).unwrap();
        self.api(kind, group, version)
    }

    pub(crate) async fn get(&self, thing: &Thing) -> Option<DynamicObject> {
        self.of(thing).get_opt(&thing.name).await.unwrap()
    }

    /// Applies an object of any kind.
    pub(crate) async fn apply(&self, object: &Value) {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let (api_version, kind) = (text("/apiVersion").unwrap(), text("/kind").unwrap());
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let gvk = GroupVersionKind::gvk(group, version, kind);
        let resource = match kind {
            "GitRepository" => ApiResource::from_gvk_with_plural(&gvk, "gitrepositories"),
            _ => ApiResource::from_gvk(&gvk),
        };
        let api: Api<DynamicObject> = match text("/metadata/namespace") {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        };
        let params = PatchParams::apply("user").force();
        api.patch(text("/metadata/name").unwrap(), &params, &Patch::Apply(object)).await.unwrap();
    }

    /// Deletes a thing, whosever it is.
    pub(crate) async fn remove(&self, thing: &Thing, facts: &Facts) {
        let Some(object) = self.get(thing).await else { return };
        facts.deleted_by_user(&object.metadata.uid.unwrap());
        let _ = self.of(thing).delete(&thing.name, &DeleteParams::default()).await;
    }

    /// Makes a thing that is nobody else's business.
    pub(crate) async fn make_foreign(&self, thing: &Thing, facts: &Facts) {
        let mut object = thing.object(0);
        object["metadata"]["annotations"] = json!({"made.test/by": "a user"});
        let params = PatchParams::apply("user").force();
        let made =
            self.of(thing).patch(&thing.name, &params, &Patch::Apply(&object)).await.unwrap();
        facts.made_by_user(thing, serde_json::to_value(made).unwrap());
    }

    /// Changes something that is the repository's, as with `kubectl edit`.
    pub(crate) async fn tamper(&self, thing: &Thing) {
        let params =
            PatchParams { field_manager: Some("kubectl-edit".to_owned()), ..Default::default() };
        let patch = json!({"metadata": {"annotations": {VALUE: "tampered"}}});
        let _ = self.of(thing).patch(&thing.name, &params, &Patch::Merge(patch)).await;
    }

    /// Puts a note on an object that is the repository's.
    pub(crate) async fn annotate(&self, thing: &Thing, note: &str, facts: &Facts) {
        let params = PatchParams { field_manager: Some("notes".to_owned()), ..Default::default() };
        let patch = json!({"metadata": {"annotations": {"notes.test/note": note}}});
        let noted = self.of(thing).patch(&thing.name, &params, &Patch::Merge(patch)).await;
        if let Ok(object) = noted
            && object.metadata.deletion_timestamp.is_none()
        {
            facts.noted(&object.metadata.uid.unwrap(), note);
        }
    }
}
