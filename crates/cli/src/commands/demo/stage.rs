//! What the story is played on: an embedded cluster, the controllers, and a repository.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use sluice_base::clock::Clock;
use sluice_cluster::Cluster;
use sluice_controllers::artifacts::Local;
use sluice_controllers::compute::Compute;
use sluice_controllers::context::Settings;
use sluice_controllers::egress::Egress;
use sluice_controllers::operation::Operation;
use sluice_controllers::run::{Controller, ControllerConfig, run as run_controllers};
use sluice_controllers::sourcing::SourceBackends;
use sluice_source::artifact::DigestAlgorithm;
use sluice_source::bucket::MemoryBuckets;
use sluice_source::git::{
    Cause, GitAuth, GitRemote, GitTransport, Identity, MemoryTransport, NewCommit, Repository,
};
use sluice_source::network::Network;
use sluice_source::oci::MemoryRegistry;
use sluice_source::store::{ArtifactStore, MemoryStore, Retention};
use sluice_ssa::ObjectKey;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::keep::Ports;
use super::layers::resource;
use super::platform::{EditError, Platform};

/// The repository's path at its server.
pub(super) const REPOSITORY: &str = "platform.git";
/// The namespace of Flux's objects, and the name of the first ones, as `flux bootstrap` has them.
pub(super) const FLUX: &str = "flux-system";
const BRANCH: &str = "main";
const EPOCH: Timestamp = Timestamp::constant(1_767_225_600, 0);
const HINDSIGHT: SignedDuration = SignedDuration::from_mins(10);

/// The cluster, the controllers and the repository.
pub(super) struct Stage {
    pub(super) client: Client,
    pub(super) cluster: Cluster,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) git: MemoryTransport,
    pub(super) store: Arc<dyn ArtifactStore>,
    pub(super) url: String,
    advertised: String,
    seed: u64,
    running: Option<(CancellationToken, JoinHandle<()>)>,
}

impl Stage {
    /// An empty cluster and an empty repository. Ports, if any, are named in their objects.
    pub(super) fn new(seed: u64, clock: Arc<dyn Clock>, ports: Option<&Ports>) -> Self {
        let builder = Cluster::builder().seed(seed).epoch(clock.now());
        let cluster = if ports.is_some() { builder.private_keys() } else { builder }.build();
        let git = ports.map_or_else(MemoryTransport::default, |ports| ports.git.clone());
        git.insert(REPOSITORY, Repository::new(BRANCH));
        let host = |port: Option<std::net::SocketAddr>, name: &str| {
            port.map_or_else(|| name.to_owned(), |port| port.to_string())
        };
        let git_host = host(ports.map(|ports| ports.git_address), "git.demo");
        let store: Arc<dyn ArtifactStore> = match ports {
            Some(ports) => Arc::clone(&ports.store),
            None => Arc::new(MemoryStore::new(Arc::clone(&clock))),
        };
        Self {
            client: Client::new(cluster.service(), "default"),
            cluster,
            git,
            store,
            url: format!("http://{git_host}/{REPOSITORY}"),
            advertised: host(ports.map(|ports| ports.artifacts_address), "artifacts.demo"),
            clock,
            seed,
            running: None,
        }
    }

    /// The source of all chance.
    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    /// Commits all files of a platform; gives the revision as Flux writes it.
    pub(super) fn commit(&self, platform: &Platform, message: &str) -> Result<String, EditError> {
        let files = platform.tree()?;
        let by = Identity::new("Platform Team", "platform@example.com", self.clock.now());
        let new = NewCommit { branch: BRANCH, message, files: &files, by };
        let id = self
            .git
            .change(REPOSITORY, |repository| repository.commit(&new))
            .expect("the repository was put there when the stage was made");
        Ok(format!("{BRANCH}@sha1:{id}"))
    }

    /// Starts the controllers.
    pub(super) fn start(&mut self) {
        let config = ControllerConfig {
            client: self.client.clone(),
            clock: Arc::clone(&self.clock),
            chance: Arc::new(|| 0.5),
            compute: Compute::Inline,
            backends: SourceBackends {
                artifacts: Arc::clone(&self.store),
                advertised: self.advertised.clone(),
                retention: Retention::default(),
                digests: DigestAlgorithm::default(),
                transport: Arc::new(ByPath(self.git.clone())),
                buckets: Arc::new(MemoryBuckets::default()),
                network: Network::new(),
                registries: Arc::new(MemoryRegistry::new()),
            },
            packed: Arc::new(Local(Arc::clone(&self.store))),
            egress: Egress::sealed(Arc::new(ByPath(self.git.clone()))),
            settings: Settings::default(),
            receiver: None,
            instance: "demo".to_owned(),
            concurrent: 4,
            controllers: BTreeSet::from([Controller::Source, Controller::Kustomize]),
            operation: Operation::default(),
        };
        let stop = CancellationToken::new();
        let task = tokio::spawn(run_controllers(config, stop.clone()));
        self.running = Some((stop, task));
    }

    /// Stops the controllers; what they are at may come to an end.
    pub(super) async fn stop(&mut self) {
        if let Some((stop, task)) = self.running.take() {
            stop.cancel();
            // It ends by itself or was ended; either way nothing is running any more.
            let _ = task.await;
        }
    }

    /// Applies an object as somebody.
    pub(super) async fn apply(&self, object: &Value, manager: &str) -> Result<(), kube::Error> {
        let key = ObjectKey::of(object);
        let api = self.api(&key);
        let params = PatchParams::apply(manager).force();
        api.patch(&key.id.name, &params, &Patch::Apply(object)).await.map(drop)
    }

    /// Asks for a look at the repository now, as the webhook receiver does after a push.
    pub(super) async fn pushed(&self) -> Result<(), kube::Error> {
        let key = ObjectKey::of(&json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": {"name": FLUX, "namespace": FLUX},
        }));
        let now = self.clock.now().to_string();
        let patch = json!({"metadata": {"annotations": {
            sluice_api::names::annotations::REQUESTED_AT: now,
        }}});
        let params = PatchParams { field_manager: Some("flux".to_owned()), ..Default::default() };
        self.api(&key).patch(FLUX, &params, &Patch::Merge(patch)).await.map(drop)
    }

    /// Objects like this one.
    pub(super) fn api(&self, key: &ObjectKey) -> Api<DynamicObject> {
        let resource = resource(key);
        if key.id.namespace.is_empty() {
            Api::all_with(self.client.clone(), &resource)
        } else {
            Api::namespaced_with(self.client.clone(), &key.id.namespace, &resource)
        }
    }
}

/// The cluster's time: a moment, and what the runtime's timer says has passed since.
pub(super) struct Simulated {
    epoch: Timestamp,
    start: Instant,
}

impl Simulated {
    /// With ports the story happened just now: it begins so long ago that it ends before the
    /// present. Without them all stories begin at the same moment, so that a seed tells the same one.
    pub(super) fn clock(with_ports: bool) -> Arc<dyn Clock> {
        let epoch = if with_ports { Timestamp::now() - HINDSIGHT } else { EPOCH };
        Arc::new(Self { epoch, start: Instant::now() })
    }
}

impl Clock for Simulated {
    fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.start.elapsed()).unwrap_or(SignedDuration::MAX);
        self.epoch.checked_add(elapsed).unwrap_or(Timestamp::MAX)
    }
}

/// Repositories by the path of their address, whatever its host: the one that the git server
/// serves is the one that the controllers fetch.
struct ByPath(MemoryTransport);

impl GitTransport for ByPath {
    fn open(&self, url: &str, auth: &GitAuth) -> Result<Arc<dyn GitRemote>, Cause> {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let path = rest.split_once('/').map_or(rest, |(_, path)| path);
        self.0.open(path, auth)
    }
}
