//! A pass over an ArtifactGenerator, step by step, in the order of Flux's controller.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kube::ResourceExt as _;
use sluice_api::extensions::artifactgenerator::{ArtifactGenerator, ArtifactGeneratorStatus};
use sluice_api::names::DISABLED;
use sluice_api::names::annotations::{GENERATOR_RECONCILE, ORIGIN_REVISION};
use sluice_api::names::conditions::{READY, STALLED};
use sluice_api::names::reasons::{
    BUILD_FAILED, PROGRESSING, RECONCILIATION_DISABLED, RECONCILIATION_FAILED, SOURCE_FETCH_FAILED,
    SUCCEEDED,
};
use sluice_api::shared::artifact::Artifact;
use sluice_api::shared::condition::ConditionStatus;
use sluice_runtime::class::ErrorClass;
use sluice_runtime::conditions::Conditions;
use sluice_runtime::controller::Core;
use sluice_runtime::events::Severity;
use sluice_runtime::gate::Moment;
use sluice_runtime::outcome::{Failure, Retry, Stop};
use sluice_runtime::pass::{End, Finalized, Reconciler};
use sluice_runtime::queue::Next;
use sluice_source::artifact::{Digest, DigestAlgorithm};
use sluice_source::compose::Sources;
use tracing::{error, info};

use super::outputs::{Output, outputs};
use super::{ArtifactGenerators, Pass, reference};
use crate::external;
use crate::sources::{SourceArtifact, plural};

/// The interval of all ArtifactGenerators.
const INTERVAL: Duration = Duration::from_hours(1);
const IN_PROGRESS: &str = "Reconciliation in progress";

/// The artifacts of the sources, by alias.
pub(super) type Observed = BTreeMap<String, SourceArtifact>;

impl Reconciler for ArtifactGenerators {
    type Kind = ArtifactGenerator;

    fn core(&self) -> &Core<ArtifactGenerator> {
        &self.core
    }

    /// There is no `spec.suspend`: an annotation disables it.
    fn is_suspended(&self, object: &ArtifactGenerator) -> bool {
        let annotations = object.metadata.annotations.as_ref();
        let value = annotations.and_then(|all| all.get(GENERATOR_RECONCILE));
        value.is_some_and(|value| value.eq_ignore_ascii_case(DISABLED))
    }

    fn is_installed(&self, status: &ArtifactGeneratorStatus) -> bool {
        status.inventory.is_some()
    }

    async fn converge(&self, pass: &mut Pass<'_>) -> Result<Next, Stop> {
        self.validate(pass)?;
        pass.conditions.remove(STALLED);
        let observed = self
            .observe(pass)
            .map_err(|message| self.no_source(format!("get sources failed: {message}")))?;
        let digest = digest(&observed);
        let Some(reason) = self.drift(pass, &digest).await else {
            let count = pass.status.inventory.as_ref().map_or(0, Vec::len);
            let message = format!("No drift detected, {count} artifact(s) up to date");
            info!(object = %pass.key, "{message}");
            pass.event(Severity::Trace, READY, &message);
            return Ok(Next::After(INTERVAL));
        };
        pass.ask_gate(Moment::BeforeFetch)?;
        pass.conditions.mark_reconciling(PROGRESSING, IN_PROGRESS);
        pass.conditions.set(READY, ConditionStatus::Unknown, PROGRESSING, IN_PROGRESS);
        info!(object = %pass.key, reason, "{IN_PROGRESS}");
        pass.write().await?;
        let trees = self
            .fetch(&observed)
            .await
            .map_err(|message| self.no_source(format!("fetch sources failed: {message}")))?;
        pass.ask_gate(Moment::BeforeWrite)?;
        self.make_all(pass, &observed, &trees).await?;
        pass.status.observed_sources_digest = Some(digest);
        Ok(self.context.after(INTERVAL))
    }

    /// Deletes everything that was made.
    async fn finalize(&self, pass: &mut Pass<'_>) -> Finalized {
        let own = match self.all_own(pass).await {
            Ok(own) => own,
            Err(error) => {
                error!(object = %pass.key, %error, "finalizer not removed");
                return Finalized::Later(Next::Backoff);
            }
        };
        let inventory = pass.status.inventory.clone().unwrap_or_default();
        let claimed = inventory.into_iter().filter(|it| it.namespace == pass.key.namespace);
        let all = own.into_iter().chain(claimed.map(|it| it.name)).collect();
        self.discard(pass, &all).await;
        Finalized::Done
    }

    fn on_suspended(&self, pass: &mut Pass<'_>, is_new: bool) {
        if is_new {
            let message = "Initialized with reconciliation suspended";
            pass.conditions.mark_ready(RECONCILIATION_DISABLED, message);
        }
        let message = "Reconciliation is disabled";
        error!(object = %pass.key, "{message}");
        pass.event(Severity::Trace, RECONCILIATION_DISABLED, message);
    }

    /// The status has no `observedGeneration`; Ready's counts.
    fn is_observed(&self, _: &Conditions, _: End) -> bool {
        false
    }
}

impl ArtifactGenerators {
    /// A source is missing, not ready, or cannot be fetched.
    fn no_source(&self, message: String) -> Stop {
        let failure = Failure::new(ErrorClass::Source, SOURCE_FETCH_FAILED, message);
        let next = Next::After(self.context.settings.requeue_dependency);
        Failure { retry: Retry::At(next), ..failure }.into()
    }

    /// The artifacts of all sources.
    fn observe(&self, pass: &Pass<'_>) -> Result<Observed, String> {
        let mut observed = Observed::new();
        for source in &pass.object.spec.sources {
            let named = reference(source, &pass.key.namespace);
            match self.sources.artifact(&named) {
                Some(Some(artifact)) => {
                    if named.kind == external::KIND {
                        let hosts = &self.context.settings.external_artifact_hosts;
                        external::check(&artifact, hosts).map_err(|why| {
                            format!("can't access '{}/{}', {why}", named.kind, named.key)
                        })?;
                    }
                    observed.insert(source.alias.clone(), artifact)
                }
                Some(None) => {
                    return Err(format!("source '{}/{}' is not ready", named.kind, named.key));
                }
                None => {
                    let (plural, name) = (plural(&named.kind), &named.key.name);
                    return Err(format!("{plural}.source.toolkit.fluxcd.io \"{name}\" not found"));
                }
            };
        }
        Ok(observed)
    }

    async fn fetch(&self, observed: &Observed) -> Result<Sources, String> {
        let mut trees = Sources::new();
        for (alias, artifact) in observed {
            let tree = self.context.artifacts.tree(artifact).await;
            trees.insert(alias.clone(), tree.map_err(|error| error.to_string())?);
        }
        Ok(trees)
    }

    /// Makes every artifact that the spec asks for, and deletes those that it no longer asks for.
    async fn make_all(
        &self,
        pass: &mut Pass<'_>,
        observed: &Observed,
        trees: &Sources,
    ) -> Result<(), Stop> {
        let wanted = outputs(pass, trees)?;
        let before = pass.status.inventory.clone().unwrap_or_default();
        let mut inventory = Vec::new();
        for output in &wanted {
            let name = &output.artifact.name;
            let mut artifact = self.build(pass, output, trees).await.map_err(|message| {
                Stop::failed(BUILD_FAILED, format!("{name} build failed: {message}"))
            })?;
            set_revisions(&mut artifact, output, observed);
            let made = self.publish(pass, output, &artifact).await.map_err(|error| {
                let message = format!("{name} reconcile failed: {error}");
                Stop::classed(ErrorClass::Transient, RECONCILIATION_FAILED, message)
            })?;
            if !before.iter().any(|it| it.name == made.name && it.digest == made.digest) {
                let (kind, key, revision) = ("ExternalArtifact", &pass.key, &artifact.revision);
                let message =
                    format!("{kind}/{}/{name} reconciled with revision {revision}", key.namespace);
                info!(object = %pass.key, "{message}");
                pass.event(Severity::Trace, READY, &message);
            }
            inventory.push(made);
        }
        let own = self.own(pass).into_iter().map(|it| it.name_any());
        let claimed = before.iter().filter(|it| it.namespace == pass.key.namespace);
        let orphans: BTreeSet<String> = own
            .chain(claimed.map(|it| it.name.clone()))
            .filter(|old| !inventory.iter().any(|new| new.name == *old))
            .collect();
        self.discard(pass, &orphans).await;
        self.collect(&inventory).await;
        let message =
            format!("reconciliation succeeded, generated {} artifact(s)", inventory.len());
        pass.conditions.mark_ready(SUCCEEDED, &message);
        pass.event(Severity::Trace, READY, &message);
        let changed: Vec<String> = inventory
            .iter()
            .filter(|new| !before.contains(new))
            .map(|it| format!("{}/{} ({})", it.namespace, it.name, it.digest))
            .collect();
        if !changed.is_empty() {
            let message = format!("external artifacts reconciled: {}", changed.join("\n"));
            pass.event(Severity::Info, READY, &message);
        }
        pass.status.inventory = Some(inventory).filter(|list| !list.is_empty());
        Ok(())
    }
}

/// A digest over the state of all sources.
fn digest(observed: &Observed) -> String {
    let mut parts: Vec<String> = observed
        .iter()
        .map(|(alias, it)| {
            format!("{alias}=[digest={},revision={},url={}]", it.digest, it.revision, it.url)
        })
        .collect();
    parts.sort();
    Digest::of(DigestAlgorithm::Sha256, parts.join("|").as_bytes()).to_string()
}

/// The revision of a source instead of the digest, and the origin of one, if the spec names them.
fn set_revisions(artifact: &mut Artifact, output: &Output, observed: &Observed) {
    let named = |alias: &Option<String>| {
        let alias = alias.as_deref().filter(|alias| !alias.is_empty())?;
        observed.get(alias.trim_start_matches('@'))
    };
    if let Some(source) = named(&output.artifact.revision) {
        artifact.revision.clone_from(&source.revision);
    }
    if let Some(source) = named(&output.artifact.origin_revision) {
        let metadata = source.metadata.as_ref();
        let origin = metadata.and_then(|it| it.get(ORIGIN_REVISION)).filter(|it| !it.is_empty());
        let origin = origin.unwrap_or(&source.revision).clone();
        artifact.metadata.get_or_insert_default().insert(ORIGIN_REVISION.to_owned(), origin);
    }
}
