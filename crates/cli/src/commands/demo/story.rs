//! The chapters of the demo. Each does one thing to the platform, shows what comes of it, and then
//! looks whether the cluster is as the chapter claims.

mod telling;
#[cfg(test)]
mod tests;

use std::time::Duration;

use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};
use sluice_sandbox::InstallError;
use tokio::time::Instant;

use super::evidence::{Workload, expect, stuck_pod, workload, written};
use super::layers::{Layer, State, WIDTH, layers, shortened, wrapped};
use super::pace::{Pace, Tempo};
use super::platform::{Edit, EditError, Platform};
use super::stage::{FLUX, Stage};
use crate::screen::{Screen, Tone};
use telling::Vigil;

/// Why a story ends early.
#[derive(Debug)]
pub(super) enum Stopped {
    /// Something did not happen as it should have; what was seen instead.
    Finding(String),
    /// The story could not be played.
    Failed(Box<dyn std::error::Error + Send + Sync>),
}

impl From<kube::Error> for Stopped {
    fn from(error: kube::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<InstallError> for Stopped {
    fn from(error: InstallError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<EditError> for Stopped {
    fn from(error: EditError) -> Self {
        Self::Failed(error.into())
    }
}

/// No chapter takes longer than this, in the cluster's time.
const PATIENCE: Duration = Duration::from_mins(15);
/// How long people read the end of a chapter.
const READ: Duration = Duration::from_secs(2);
/// Within this a foreign change is put right.
const REPAIR: Duration = Duration::from_secs(2);

const ROLLOUT: Tempo = Tempo(1);
/// For the minutes in which a broken layer is given its chance.
const LONG_WAIT: Tempo = Tempo(40);

const WEB: (&str, &str) = ("shop", "web");
const GATEWAY: (&str, &str) = ("platform-services", "gateway");
const GATEWAY_REPLICAS: i64 = 3;
const WEB_REPLICAS: i64 = 3;

const SHOP: &str = "applications/shop/kustomization.yaml";
const GATEWAY_FILE: &str = "services/gateway/deployment.yaml";
/// A new version of one application.
const NEW_VERSION: &[Edit] =
    &[(SHOP, "shop/web\n    newTag: 1.4.0", "shop/web\n    newTag: 1.5.0")];
/// A gateway whose image is nowhere to be had, and in the same commit a version of an application
/// that might need it.
const BROKEN: &[Edit] = &[
    (GATEWAY_FILE, "platform/gateway:3.2.0", "platform/gateway:3.3.0"),
    (
        GATEWAY_FILE,
        "        app.kubernetes.io/name: gateway\n    spec:",
        "        app.kubernetes.io/name: gateway\n      annotations:\n        sluice.dev/simulate: image-pull-error\n    spec:",
    ),
    (SHOP, "shop/web\n    newTag: 1.5.0", "shop/web\n    newTag: 1.6.0"),
];

/// Tells the story.
pub(super) struct Story<'a> {
    stage: &'a mut Stage,
    screen: &'a mut Screen,
    pace: Pace,
    platform: Platform,
    broken: &'a [Edit],
    proofs: usize,
}

impl<'a> Story<'a> {
    /// Everything a story needs.
    pub(super) fn new(
        stage: &'a mut Stage,
        screen: &'a mut Screen,
        pace: Pace,
        platform: Platform,
    ) -> Self {
        Self { stage, screen, pace, platform, broken: BROKEN, proofs: 0 }
    }

    /// A story with another broken commit.
    #[cfg(test)]
    fn breaking(mut self, edits: &'a [Edit]) -> Self {
        self.broken = edits;
        self
    }

    /// Tells all of it.
    pub(super) async fn tell(mut self) -> Result<(), Stopped> {
        let (began, real) = (Instant::now(), std::time::Instant::now());
        let strong = self.screen.tone(Tone::Strong, "A platform in four layers");
        self.screen.line(&format!("  {strong}, from a Git repository made just now."));
        let text = format!(
            "  Cluster: embedded Kubernetes 1.35, seed {}. Times are the cluster's own.",
            self.stage.sandbox.seed()
        );
        self.screen.line(&text);
        let first = self.install().await?;
        let second = self.new_commit(&first).await?;
        self.foreign_change(&second).await?;
        let third = self.broken_commit(&second).await?;
        self.revert(&third).await?;
        self.screen.line("");
        let text = format!(
            "  {} claims, each read from the cluster. {} minutes of it took {:.1} s.",
            self.proofs,
            began.elapsed().as_secs() / 60,
            real.elapsed().as_secs_f64()
        );
        self.screen.line(&text);
        Ok(())
    }

    async fn install(&mut self) -> Result<String, Stopped> {
        let revision = self.stage.commit(&self.platform, "A platform in four layers")?;
        self.heading("It is installed, layer by layer", Some(&revision));
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": FLUX}});
        let objects = self.stage.objects();
        objects.apply(&namespace).await?;
        objects.install_definitions(|_| true).await?;
        self.stage.start();
        for object in entry(&self.stage.url()) {
            objects.apply(&object).await?;
        }
        let all_ready = |layers: &[Layer]| are_ready(layers, &revision);
        let layers = self.follow(&revision, ROLLOUT, None, all_ready).await?;
        self.judge_order(&layers).await?;
        let count: usize = layers.iter().map(|layer| layer.objects.len()).sum();
        self.proved(&format!(
            "{count} objects; none is older than the proof of the layer below it"
        ));
        self.pace.rest(READ);
        Ok(revision)
    }

    /// No object of a layer was made before the layers below it had been proved.
    async fn judge_order(&self, layers: &[Layer]) -> Result<(), Stopped> {
        for layer in layers {
            let below = layers.iter().filter(|other| other.number < layer.number);
            let Some(proved) = below.map(Layer::since).max() else { continue };
            for key in &layer.objects {
                let found = self.stage.object(key).await?;
                let made = found
                    .as_ref()
                    .and_then(|found| found["metadata"]["creationTimestamp"].as_str());
                let made = made.and_then(|made| made.parse::<jiff::Timestamp>().ok());
                if made.is_none_or(|made| made < proved) {
                    return Err(Stopped::Finding(format!(
                        "{} of layer {} was made at {made:?}, before the layer below it was proved at {proved}",
                        key.id, layer.name
                    )));
                }
            }
        }
        Ok(())
    }

    async fn push(&mut self, message: &str) -> Result<String, Stopped> {
        let revision = self.stage.commit(&self.platform, message)?;
        self.stage.pushed().await?;
        Ok(revision)
    }

    async fn new_commit(&mut self, before: &str) -> Result<String, Stopped> {
        let untouched = written(self.stage, &layers(self.stage).await?, "shop").await?;
        self.platform.edit(NEW_VERSION)?;
        let revision = self.push("shop: web 1.5.0").await?;
        self.heading("A new commit rolls out", Some(&revision));
        self.note("shop: web 1.4.0 → 1.5.0");
        let mut vigil = Vigil { of: WEB, least: i64::MAX };
        let all_ready = |layers: &[Layer]| are_ready(layers, &revision);
        let layers = self.follow(&revision, ROLLOUT, Some(&mut vigil), all_ready).await?;
        let web = workload(self.stage, WEB).await?;
        expect("the image of web", &web.image, "registry.example.com/shop/web:1.5.0")?;
        expect("the ready pods of web", &web.updated, &WEB_REPLICAS)?;
        if vigil.least < WEB_REPLICAS {
            let seen = format!("only {} pods of web were ready during the rollout", vigil.least);
            return Err(Stopped::Finding(seen));
        }
        let now = written(self.stage, &layers, "shop").await?;
        if let Some((id, _)) = now.iter().find(|(id, mark)| untouched.get(id) != Some(mark)) {
            return Err(Stopped::Finding(format!(
                "{id} was written, though nothing in it changed"
            )));
        }
        expect("the objects outside shop", &now.len(), &untouched.len())?;
        debug_assert_ne!(revision, before, "a commit with other files has another name");
        self.proved("web runs 1.5.0; never fewer than 3 of 3 pods were ready on the way");
        self.proved(&format!("the {} objects outside shop were not written", now.len()));
        self.pace.rest(READ);
        Ok(revision)
    }

    async fn foreign_change(&mut self, revision: &str) -> Result<(), Stopped> {
        self.heading("Somebody changes the cluster by hand", None);
        self.note("$ kubectl scale -n platform-services deployment gateway --replicas=1");
        let api: Api<k8s_openapi::api::apps::v1::Deployment> =
            Api::namespaced(self.stage.client.clone(), GATEWAY.0);
        let params =
            PatchParams { field_manager: Some("kubectl".to_owned()), ..Default::default() };
        let patch = Patch::Merge(json!({"spec": {"replicas": 1}}));
        let before = workload(self.stage, GATEWAY).await?;
        let scaled = api.patch_scale(GATEWAY.1, &params, &patch).await?;
        expect("the answer", &scaled.spec.and_then(|spec| spec.replicas), &Some(1))?;
        let began = Instant::now();
        // The change and the repair are a generation each.
        let is_repaired = |now: &Workload| {
            now.wanted == GATEWAY_REPLICAS && now.generation == before.generation + 2
        };
        while !is_repaired(&workload(self.stage, GATEWAY).await?) {
            if began.elapsed() > REPAIR {
                let seen = "the gateway still has 1 replica, though drift is to be repaired";
                return Err(Stopped::Finding(seen.to_owned()));
            }
            self.pace.frame(ROLLOUT).await;
        }
        let repaired = began.elapsed();
        let all_ready = |layers: &[Layer]| are_ready(layers, revision);
        loop {
            let gateway = workload(self.stage, GATEWAY).await?;
            if gateway.ready == GATEWAY_REPLICAS && all_ready(&layers(self.stage).await?) {
                break;
            }
            if began.elapsed() > PATIENCE {
                return Err(Stopped::Finding(format!("{} pods of the gateway", gateway.ready)));
            }
            self.pace.frame(ROLLOUT).await;
        }
        let seconds = repaired.as_secs_f64().max(0.1);
        self.proved(&format!("put right within {seconds:.1} s; the gateway has 3 of 3 again"));
        self.pace.rest(READ);
        Ok(())
    }

    async fn broken_commit(&mut self, before: &str) -> Result<Broken, Stopped> {
        let good = self.platform.clone();
        self.platform.edit(self.broken)?;
        let revision = self.push("gateway 3.3.0, and web 1.6.0 with it").await?;
        self.heading("A broken commit stops at its layer", Some(&revision));
        self.note("services: gateway 3.2.0 → 3.3.0, an image that is nowhere; shop: web 1.6.0");
        let stopped = |layers: &[Layer]| {
            layers.iter().all(|layer| {
                let state = layer.state(&revision);
                match layer.number.as_str() {
                    "1" | "2" => state == State::Ready,
                    "3" => state == State::Failed,
                    _ => state == State::Held,
                }
            })
        };
        let layers = self.follow(&revision, LONG_WAIT, None, stopped).await?;
        let services = layers.iter().find(|layer| layer.name == "services");
        let services = services.map(Layer::message).unwrap_or_default();
        if !services.contains("Deployment/platform-services/gateway") {
            return Err(Stopped::Finding(format!("services says {services:?}, not the gateway")));
        }
        let because = stuck_pod(self.stage, GATEWAY).await?;
        let mark = self.screen.tone(Tone::Bad, "✗");
        for (number, line) in wrapped(services, WIDTH - 4).iter().enumerate() {
            let mark = if number == 0 { mark.as_str() } else { " " };
            self.screen.line(&format!("  {mark} {line}"));
        }
        self.screen.line(&format!("    └ {}", shortened(&because, WIDTH - 6)));
        let gateway = workload(self.stage, GATEWAY).await?;
        expect(
            "the old pods of the gateway",
            &(gateway.ready - gateway.updated),
            &GATEWAY_REPLICAS,
        )?;
        self.proved("the gateway serves on, 3 of 3 on 3.2.0; layers 1 and 2 took the commit");
        for layer in layers.iter().filter(|layer| layer.number == "4") {
            expect(&format!("the revision of {}", layer.name), &layer.applied.as_str(), &before)?;
        }
        let web = workload(self.stage, WEB).await?;
        expect("the image of web", &web.image, "registry.example.com/shop/web:1.5.0")?;
        expect("the ready pods of web", &web.ready, &WEB_REPLICAS)?;
        self.proved("the applications are held back and run on: web has 3 of 3 on 1.5.0");
        self.pace.rest(READ * 2);
        Ok(Broken { good, revision })
    }

    async fn revert(&mut self, broken: &Broken) -> Result<(), Stopped> {
        self.platform = broken.good.clone();
        let revision = self.push("Revert \"gateway 3.3.0, and web 1.6.0 with it\"").await?;
        self.heading("Its revert recovers", Some(&revision));
        let all_ready = |layers: &[Layer]| are_ready(layers, &revision);
        self.follow(&revision, ROLLOUT, None, all_ready).await?;
        let gateway = workload(self.stage, GATEWAY).await?;
        expect(
            "the image of the gateway",
            &gateway.image,
            "registry.example.com/platform/gateway:3.2.0",
        )?;
        expect("the pods of the gateway", &(gateway.ready, gateway.updated), &(3, 3))?;
        let web = workload(self.stage, WEB).await?;
        expect("the image of web", &web.image, "registry.example.com/shop/web:1.5.0")?;
        debug_assert_ne!(revision, broken.revision, "a commit of its own");
        self.proved("all layers are ready at the revert; gateway 3.2.0, web 1.5.0");
        self.pace.rest(READ);
        Ok(())
    }
}

/// What a broken commit leaves behind.
struct Broken {
    good: Platform,
    revision: String,
}

/// The source and the Kustomization that everything else comes from, as `flux bootstrap` makes them.
fn entry(url: &str) -> [Value; 2] {
    [
        json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": {"name": FLUX, "namespace": FLUX},
            "spec": {"interval": "1m", "url": url, "ref": {"branch": "main"}},
        }),
        json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": FLUX, "namespace": FLUX},
            "spec": {
                "interval": "10m", "path": "./clusters/demo", "prune": true,
                "sourceRef": {"kind": "GitRepository", "name": FLUX},
            },
        }),
    ]
}

fn are_ready(layers: &[Layer], revision: &str) -> bool {
    layers.iter().all(|layer| layer.state(revision) == State::Ready)
}
