//! What the story happens on: a sandbox with the platform's repository, and the controllers.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use sluice_cluster::Cluster;
use sluice_controllers::run::{ControllerConfig, run as run_controllers};
use sluice_controllers::table::Controller;
use sluice_sandbox::{ListenError, Objects, Ports, Sandbox};
use sluice_ssa::ObjectKey;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::platform::{EditError, Platform};

/// The repository's path at its server.
const REPOSITORY: &str = "platform.git";
/// The namespace of Flux's objects, and the name of the first ones, as `flux bootstrap` has them.
pub(super) const FLUX: &str = "flux-system";
/// With `--keep` the story happens in the past, so that it ends before the present: this long ago it begins.
const HINDSIGHT: SignedDuration = SignedDuration::from_mins(10);

/// The sandbox and the controllers.
pub(super) struct Stage {
    pub(super) sandbox: Sandbox,
    pub(super) client: Client,
    running: Option<(CancellationToken, JoinHandle<()>)>,
}

impl Stage {
    /// An empty cluster. All stories begin at the same moment, so that a seed tells the same one.
    pub(super) fn new(seed: u64) -> Self {
        Self::on(Sandbox::new(seed))
    }

    /// The same with ports, whose addresses are in the objects of the story.
    pub(super) async fn with_ports(seed: u64) -> Result<(Self, Ports), ListenError> {
        let builder = Cluster::builder().seed(seed).epoch(Timestamp::now() - HINDSIGHT);
        let mut sandbox = Sandbox::on(builder.private_keys().build());
        let ports = sandbox.listen().await?;
        Ok((Self::on(sandbox), ports))
    }

    fn on(sandbox: Sandbox) -> Self {
        Self { client: sandbox.client(), sandbox, running: None }
    }

    /// The URL of the repository.
    pub(super) fn url(&self) -> String {
        self.sandbox.git_url(REPOSITORY)
    }

    /// The time in the cluster.
    pub(super) fn now(&self) -> Timestamp {
        self.sandbox.clock().now()
    }

    /// Commits all files of a platform; gives the revision as Flux writes it.
    pub(super) fn commit(&self, platform: &Platform, message: &str) -> Result<String, EditError> {
        Ok(self.sandbox.commit(REPOSITORY, message, &platform.tree()?))
    }

    /// Starts the controllers.
    pub(super) fn start(&mut self) {
        let (clock, backends) = (self.sandbox.clock(), self.sandbox.backends());
        let config = ControllerConfig {
            instance: "demo".to_owned(),
            controllers: BTreeSet::from([Controller::Source, Controller::Kustomize]),
            ..ControllerConfig::new(self.client.clone(), clock, backends)
        };
        let stop = CancellationToken::new();
        let task = tokio::spawn(run_controllers(config, stop.clone()));
        self.running = Some((stop, task));
    }

    /// Stops the controllers; passes that are under way may end.
    pub(super) async fn stop(&mut self) {
        if let Some((stop, task)) = self.running.take() {
            stop.cancel();
            // It ends by itself or was ended; either way nothing is running any more.
            let _ = task.await;
        }
    }

    /// The cluster's objects, as `flux` reads and writes them.
    pub(super) fn objects(&self) -> Objects {
        self.sandbox.objects("flux")
    }

    /// Asks for a look at the repository now, as the webhook receiver does after a push.
    pub(super) async fn pushed(&self) -> Result<(), kube::Error> {
        let patch = json!({"metadata": {"annotations": {
            sluice_api::names::annotations::REQUESTED_AT: self.now().to_string(),
        }}});
        let params = PatchParams { field_manager: Some("flux".to_owned()), ..Default::default() };
        let api = self.objects().kind("source.toolkit.fluxcd.io/v1", "GitRepository", Some(FLUX));
        api.patch(FLUX, &params, &Patch::Merge(patch)).await.map(drop)
    }

    /// An object, if it is there.
    pub(super) async fn object(&self, key: &ObjectKey) -> Result<Option<Value>, kube::Error> {
        let found: Option<DynamicObject> = self.api(key).get_opt(&key.id.name).await?;
        found.map(|found| serde_json::to_value(found).map_err(kube::Error::SerdeError)).transpose()
    }

    fn api(&self, key: &ObjectKey) -> Api<DynamicObject> {
        let group = &key.id.group;
        let separator = if group.is_empty() { "" } else { "/" };
        let api_version = format!("{group}{separator}{}", key.version);
        let namespace = Some(key.id.namespace.as_str()).filter(|namespace| !namespace.is_empty());
        self.objects().kind(&api_version, &key.id.kind, namespace)
    }
}
