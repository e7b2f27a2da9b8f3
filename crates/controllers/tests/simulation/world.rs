//! The sandbox of a simulation, a user of its cluster, and controllers that crash and restart.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::client::Body;
use serde_json::{Value, json};
use sluice_controllers::artifacts::{ArtifactError, Packed};
use sluice_controllers::context::Settings;
use sluice_controllers::run;
use sluice_controllers::safety::SafetyRule;
use sluice_controllers::sources::SourceArtifact;
use sluice_controllers::table::Controller;
use sluice_sandbox::{Objects, Sandbox};
use sluice_source::store::{ArtifactStore as _, MemoryStore};
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
/// What is switched off in a run, to see whether the checks notice.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Without {
    /// A rule of the controllers.
    pub(crate) rule: Option<SafetyRule>,
    /// The comparison of artifacts with their digests.
    pub(crate) digests: bool,
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

/// The sandbox, the user, the connection of the controllers and their configuration.
pub(crate) struct World {
    pub(crate) sandbox: Sandbox,
    pub(crate) user: User,
    pub(crate) facts: Arc<Facts>,
    pub(crate) wire: Arc<Wire>,
    controllers: run::ControllerConfig,
}

impl World {
    /// A sandbox with Flux's CRDs; the controllers do not run yet.
    pub(crate) async fn new(seed: u64, chance: &Chance, without: Without) -> Self {
        let sandbox = Sandbox::new(seed);
        let user = User { objects: sandbox.objects("user") };
        let facts = Arc::<Facts>::default();
        let wire = Arc::new(Wire {
            inner: sandbox.cluster.service(),
            user: user.clone(),
            store: Arc::clone(&sandbox.artifacts),
            chance: chance.clone(),
            late: Mutex::default(),
            worst: Chance::seeded(!seed),
            facts: Arc::clone(&facts),
            began: Instant::now(),
            trace: Mutex::default(),
            crash: Notify::new(),
            fuse: Mutex::default(),
            mischief: AtomicBool::new(true),
        });
        let carrier = Arc::clone(&wire);
        let service = tower::service_fn(move |request: http::Request<Body>| {
            Arc::clone(&carrier).send(request)
        });
        let jitter = chance.clone();
        let client = Client::new(service, "default");
        let mut controllers = run::ControllerConfig {
            chance: Arc::new(move || jitter.fraction()),
            settings: Settings {
                requeue_dependency: Duration::from_secs(10),
                switched_off: without.rule,
                ..Settings::default()
            },
            instance: "simulation".to_owned(),
            controllers: BTreeSet::from([Controller::Source, Controller::Kustomize]),
            ..run::ControllerConfig::new(client, sandbox.clock(), sandbox.backends())
        };
        if without.digests {
            controllers.packed = Arc::new(Unchecked(Arc::clone(&sandbox.artifacts)));
        }
        let world = Self { sandbox, user, facts, wire, controllers };
        let groups = ["source.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io"];
        world.user.objects.install_definitions(|group| groups.contains(&group)).await.unwrap();
        for name in [FLUX, NAMESPACE] {
            let metadata = json!({"name": name});
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata});
            world.user.apply(&namespace).await;
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
        world
    }

    /// Runs the controllers for ever, and restarts them some time after each crash.
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
        let revision = self.sandbox.commit(URL, message, &platform.files());
        self.facts.committed(&revision, platform);
        self.wire.note(&format!("commit {revision}: {message}"));
        revision
    }
}

/// A user with a client that no fault strikes.
#[derive(Clone)]
pub(crate) struct User {
    objects: Objects,
}

impl User {
    /// The objects of a kind in the namespace of all things.
    pub(crate) fn api(&self, kind: &str, group: &str, version: &str) -> Api<DynamicObject> {
        let api_version = format!("{group}/{version}");
        self.objects.kind(api_version.trim_start_matches('/'), kind, Some(NAMESPACE))
    }

    /// The GitRepositories.
    pub(crate) fn repositories(&self) -> Api<DynamicObject> {
        self.objects.kind("source.toolkit.fluxcd.io/v1", "GitRepository", Some(FLUX))
    }

    /// The Kustomizations.
    pub(crate) fn kustomizations(&self) -> Api<DynamicObject> {
        self.objects.kind("kustomize.toolkit.fluxcd.io/v1", "Kustomization", Some(FLUX))
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
        self.objects.apply(object).await.unwrap();
    }

    /// Deletes a thing, whichever manager owns it.
    pub(crate) async fn remove(&self, thing: &Thing, facts: &Facts) {
        let Some(object) = self.get(thing).await else { return };
        facts.deleted_by_user(&object.metadata.uid.unwrap());
        let _ = self.of(thing).delete(&thing.name, &DeleteParams::default()).await;
    }

    /// Creates an object that no Kustomization owns.
    pub(crate) async fn make_foreign(&self, thing: &Thing, facts: &Facts) {
        let mut object = thing.object(0);
        object["metadata"]["annotations"] = json!({"made.test/by": "a user"});
        let params = PatchParams::apply("user").force();
        let made =
            self.of(thing).patch(&thing.name, &params, &Patch::Apply(&object)).await.unwrap();
        facts.made_by_user(thing, serde_json::to_value(made).unwrap());
    }

    /// Changes an object of the repository, as with `kubectl edit`.
    pub(crate) async fn tamper(&self, thing: &Thing) {
        let params =
            PatchParams { field_manager: Some("kubectl-edit".to_owned()), ..Default::default() };
        let patch = json!({"metadata": {"annotations": {VALUE: "tampered"}}});
        let _ = self.of(thing).patch(&thing.name, &params, &Patch::Merge(patch)).await;
    }

    /// Annotates an object of the repository.
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
