//! A pass over a Kustomization, step by step, in the order of Flux's controller.

use std::sync::{Arc, PoisonError};

use sluice_api::kustomize::kustomization::{Kustomization, KustomizationStatus};
use sluice_api::names::conditions::{READY, STALLED};
use sluice_api::names::events::{COMMIT_STATUS, COMMIT_STATUS_UPDATE};
use sluice_api::names::reasons::{
    ACCESS_DENIED, ARTIFACT_FAILED, DEPENDENCY_NOT_READY, INVALID_CEL_EXPRESSION, PROGRESSING,
};
use sluice_api::shared::condition::ConditionStatus;
use sluice_base::duration::GoDuration;
use sluice_runtime::conditions::Conditions;
use sluice_runtime::controller::Core;
use sluice_runtime::events::Severity;
use sluice_runtime::gate::Moment;
use sluice_runtime::outcome::{Stop, Waiting};
use sluice_runtime::pass::{End, Finalized, Reconciler};
use sluice_runtime::queue::Next;
use sluice_secrets::flux::Finding;
use sluice_source::tree::SourceTree;
use sluice_ssa::HealthChecks;
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::apply::Job;
use super::dependencies::NotReady;
use super::failures::bad_expression;
use super::{Kustomizations, Pass, build, decryption, timing};
use crate::artifacts::ArtifactError;
use crate::sources::SourceArtifact;

/// The metadata of an artifact that names the revision of what it was made from.
const ORIGIN: &str = "org.opencontainers.image.revision";

/// The longest revision of an origin that is taken into the status and into events.
const LONGEST_ORIGIN: usize = 1024;

impl Reconciler for Kustomizations {
    type Kind = Kustomization;

    fn core(&self) -> &Core<Kustomization> {
        &self.core
    }

    fn is_suspended(&self, object: &Kustomization) -> bool {
        object.spec.suspend.unwrap_or(false)
    }

    fn is_installed(&self, status: &KustomizationStatus) -> bool {
        status.last_applied_revision.is_some()
    }

    /// From a source's artifact to a converged cluster.
    async fn converge(&self, pass: &mut Pass<'_>) -> Result<Next, Stop> {
        let calls = self.calls(&pass.key);
        let checks = pass.object.spec.health_check_exprs.clone().unwrap_or_default();
        let checks = HealthChecks::compile(&checks).map_err(|error| bad_expression(&error))?;
        let artifact = self.admitted(&pass.object)?;
        pass.revision.clone_from(&artifact.revision);
        let origin = artifact.metadata.as_ref().and_then(|metadata| metadata.get(ORIGIN));
        let origin = origin.filter(|origin| origin.len() <= LONGEST_ORIGIN);
        pass.origin_revision = origin.cloned().unwrap_or_default();
        self.dependencies(&pass.object, &artifact).await.map_err(|why| self.blocked(why))?;
        pass.ask_gate(Moment::BeforeFetch)?;

        let progress = Progress::new(&artifact, &pass.object);
        let message = "Reconciliation in progress";
        pass.conditions.set(READY, ConditionStatus::Unknown, PROGRESSING, message);
        pass.conditions.mark_reconciling(PROGRESSING, &progress.text("Fetching manifests"));
        pass.phase("fetch");
        let files = self.files(&artifact, &calls.refetch).await?;
        if let Some(refusal) = build::path_refusal(&pass.object, &files) {
            return Err(Stop::failed(ARTIFACT_FAILED, refusal));
        }
        pass.status.last_attempted_revision = Some(artifact.revision.clone());
        pass.conditions.mark_reconciling(PROGRESSING, &progress.text("Building manifests"));
        let target = self.target(&pass.object).await?;
        pass.phase("build");
        let built = build::build(&self.context, &pass.object, files).await?;
        self.warn_of_tampering(pass, &artifact.revision, &built.findings);
        let job = Job { artifact, target, built, checks, progress, cancel: calls.cancel };
        self.apply(pass, job).await?;
        Ok(self.succeed(pass))
    }

    async fn finalize(&self, pass: &mut Pass<'_>) -> Finalized {
        self.undo(pass).await
    }

    fn on_suspended(&self, pass: &mut Pass<'_>, _: bool) {
        info!(object = %pass.key, "Reconciliation is suspended for this object");
        self.unwatch(&pass.key);
    }

    fn retry(&self, object: &Kustomization) -> Next {
        Next::After(timing::retry_interval(&object.spec))
    }

    /// As Flux does it: of the specs that cannot be used, only one with a wrong expression counts as observed.
    fn is_observed(&self, conditions: &Conditions, end: End) -> bool {
        let stalled = conditions.get(STALLED).filter(|_| end == End::Stalled);
        conditions.is_true(READY) || stalled.is_some_and(|it| it.reason == INVALID_CEL_EXPRESSION)
    }
}

impl Kustomizations {
    /// Reports that the revision was applied and is healthy.
    fn succeed(&self, pass: &Pass<'_>) -> Next {
        let took = go_duration(pass.elapsed());
        let interval = pass.object.spec.interval;
        let message = format!("Reconciliation finished in {took}, next run in {interval}");
        info!(object = %pass.key, revision = %pass.revision, "{message}");
        let update = [(COMMIT_STATUS, COMMIT_STATUS_UPDATE)];
        pass.ready_event_with(Severity::Info, &message, &update);
        self.context.after(interval.to_std())
    }

    /// A dependency is not ready, or never will be.
    fn blocked(&self, why: NotReady) -> Stop {
        let message = match why {
            NotReady::Expression(error) => return bad_expression(&error),
            NotReady::Denied(message) => return Stop::stalled(ACCESS_DENIED, message),
            NotReady::Object(message) => message,
        };
        let next = Next::After(self.context.settings.requeue_dependency);
        let pause = self.requeue_text();
        let event = format!("Dependencies do not meet ready condition, retrying in {pause}");
        Waiting::new(DEPENDENCY_NOT_READY, message, next).with_event(Severity::Info, event).into()
    }

    /// The files of an artifact. The wait for them ends when the source has another one, or stored it again.
    async fn files(
        &self,
        artifact: &SourceArtifact,
        refetch: &CancellationToken,
    ) -> Result<Arc<SourceTree>, Stop> {
        let fetched = tokio::select! {
            biased;
            fetched = self.context.artifacts.tree(artifact) => fetched,
            () = refetch.cancelled() => {
                return Err(Stop::Restart("the source was stored anew while its artifact was fetched"));
            }
        };
        let soon = Next::BackoffUpTo(self.context.settings.requeue_dependency);
        fetched.map_err(|error| match error {
            ArtifactError::Missing(_) => {
                let pause = self.requeue_text();
                let message =
                    format!("Source is not ready, artifact not found, retrying in {pause}");
                Waiting::new(ARTIFACT_FAILED, message, soon).into()
            }
            ArtifactError::Unreachable(message) => {
                let waiting = Waiting::new(ARTIFACT_FAILED, message.clone(), soon);
                waiting.with_event(Severity::Info, message).into()
            }
            ArtifactError::Failed(message) => Stop::failed(ARTIFACT_FAILED, message),
        })
    }

    /// Reports once for each revision which documents were changed after they were encrypted.
    fn warn_of_tampering(&self, pass: &Pass<'_>, revision: &str, findings: &[Finding]) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(warning) = decryption::warning(findings) else {
            warned.remove(&pass.key);
            return;
        };
        let is_applied = pass.status.last_applied_revision.as_deref() == Some(revision);
        let now = (revision.to_owned(), warning);
        if !is_applied && warned.get(&pass.key) != Some(&now) {
            pass.ready_event(Severity::Error, &now.1);
        }
        warned.insert(pass.key.clone(), now);
    }
}

/// The messages of a pass that is under way.
pub(super) struct Progress {
    revision: String,
    timeout: GoDuration,
}

impl Progress {
    fn new(artifact: &SourceArtifact, object: &Kustomization) -> Self {
        let timeout = go_duration(timing::timeout(&object.spec));
        Self { revision: artifact.revision.clone(), timeout }
    }

    /// What is being done, for which revision, and how long it may take.
    pub(super) fn text(&self, what: &str) -> String {
        let Self { revision, timeout } = self;
        format!("{what} for revision {revision} with a timeout of {timeout}")
    }
}

/// A duration as Go prints it.
pub(super) fn go_duration(duration: std::time::Duration) -> GoDuration {
    GoDuration::from_nanos(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
}
