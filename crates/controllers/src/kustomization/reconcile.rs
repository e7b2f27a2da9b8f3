//! What a pass does, step by step, in the order of Flux's controller.

use std::sync::{Arc, PoisonError};

use serde_json::json;
use sluice_api::crd::CustomResource as _;
use sluice_api::kustomize::kustomization::Kustomization;
use sluice_api::names::conditions::READY;
use sluice_api::names::finalizers::FLUX;
use sluice_api::names::reasons::{
    ACCESS_DENIED, ARTIFACT_FAILED, DEPENDENCY_NOT_READY, PROGRESSING,
};
use sluice_api::shared::condition::ConditionStatus;
use sluice_base::duration::GoDuration;
use sluice_runtime::error::ApiError;
use sluice_runtime::events::Severity;
use sluice_runtime::queue::Next;
use sluice_runtime::status::patch_metadata;
use sluice_secrets::flux::Finding;
use sluice_source::tree::SourceTree;
use sluice_ssa::HealthChecks;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use super::dependencies::NotReady;
use super::pass::{Pass, STATUS_MANAGER};
use super::stop::Stop;
use super::{Calls, Kustomizations, build, decryption, timing};
use crate::artifacts::ArtifactError;
use crate::safety::SafetyRule;
use crate::sources::SourceArtifact;

/// The metadata of an artifact that names the revision of what it was made from.
const ORIGIN: &str = "org.opencontainers.image.revision";

/// The longest revision of an origin that is taken into the status and into events.
const LONGEST_ORIGIN: usize = 1024;

impl Kustomizations {
    /// A whole pass; says when the next is due.
    pub(super) async fn pass(&self, pass: &mut Pass<'_>, calls: Calls) -> Next {
        if pass.object.metadata.deletion_timestamp.is_some() {
            return self.finalize(pass).await;
        }
        let keeps = |rule| self.context.settings.keeps(rule);
        let holds_first = keeps(SafetyRule::HoldBeforeApplying);
        let held = if holds_first { self.hold(pass).await } else { Ok(()) };
        if held.is_ok() && pass.object.spec.suspend.unwrap_or(false) {
            info!(object = %pass.key, "Reconciliation is suspended for this object");
            self.unwatch(&pass.key);
            return self.finish(pass, Next::Event).await;
        }
        let outcome = match held {
            Ok(()) => self.converge(pass, calls).await,
            Err(error) => Err(error.into()),
        };
        if !holds_first && let Err(error) = self.hold(pass).await {
            error!(object = %pass.key, %error, "finalizer not set");
        }
        let next = self.conclude(pass, outcome);
        self.finish(pass, next).await
    }

    async fn finish(&self, pass: &mut Pass<'_>, next: Next) -> Next {
        match pass.finish().await {
            Ok(()) => next,
            Err(error) => {
                error!(object = %pass.key, %error, "status not written");
                Next::Backoff
            }
        }
    }

    /// Puts the finalizer on, before anything is done that it has to undo.
    async fn hold(&self, pass: &mut Pass<'_>) -> Result<(), ApiError> {
        let metadata = &pass.object.metadata;
        let mut finalizers = metadata.finalizers.clone().unwrap_or_default();
        if finalizers.iter().any(|name| name == FLUX) {
            return Ok(());
        }
        finalizers.push(FLUX.to_owned());
        // The version makes it fail where somebody else changed the list in the meantime.
        let patch = json!({"finalizers": finalizers, "resourceVersion": metadata.resource_version});
        let client = &self.context.client;
        let definition = Kustomization::DEFINITION;
        let answer = patch_metadata(client, &definition, &pass.key, STATUS_MANAGER, patch).await?;
        pass.follow(&answer);
        Ok(())
    }

    /// From a source's artifact to a converged cluster.
    async fn converge(&self, pass: &mut Pass<'_>, calls: Calls) -> Result<(), Stop> {
        let checks = pass.object.spec.health_check_exprs.clone().unwrap_or_default();
        let checks = HealthChecks::compile(&checks).map_err(|error| Stop::expression(&error))?;
        let artifact = self.admitted(&pass.object)?;
        pass.revision.clone_from(&artifact.revision);
        let origin = artifact.metadata.as_ref().and_then(|metadata| metadata.get(ORIGIN));
        let origin = origin.filter(|origin| origin.len() <= LONGEST_ORIGIN);
        pass.origin_revision = origin.cloned().unwrap_or_default();
        self.dependencies(&pass.object, &artifact).await.map_err(|error| match error {
            NotReady::Expression(error) => Stop::expression(&error),
            NotReady::Denied(message) => Stop::Terminal { reason: ACCESS_DENIED, message },
            NotReady::Object(message) => Stop::Waiting {
                reason: DEPENDENCY_NOT_READY,
                message,
                event: Some(format!(
                    "Dependencies do not meet ready condition, retrying in {}",
                    self.requeue_text()
                )),
                next: Next::After(self.context.settings.requeue_dependency),
            },
        })?;

        let timeout = timeout_text(&pass.object);
        let revision = artifact.revision.clone();
        let progress =
            move |what: &str| format!("{what} for revision {revision} with a timeout of {timeout}");
        pass.conditions.set(
            READY,
            ConditionStatus::Unknown,
            PROGRESSING,
            "Reconciliation in progress",
        );
        pass.conditions.mark_reconciling(PROGRESSING, &progress("Fetching manifests"));
        pass.phase("fetch");

        let files = self.files(&artifact, &calls.refetch).await?;
        if let Some(refusal) = build::path_refusal(&pass.object, &files) {
            return Err(Stop::failed(ARTIFACT_FAILED, refusal));
        }
        pass.status.last_attempted_revision = Some(artifact.revision.clone());
        pass.conditions.mark_reconciling(PROGRESSING, &progress("Building manifests"));
        let target = self.target(&pass.object).await?;
        pass.phase("build");
        let built = build::build(&self.context, &pass.object, files).await?;
        self.warn_of_tampering(pass, &artifact.revision, &built.findings);
        self.apply(pass, &artifact, target, built, checks, &progress, calls.cancel).await
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
            () = refetch.cancelled() => return Err(Stop::Outdated),
        };
        let soon = Next::BackoffUpTo(self.context.settings.requeue_dependency);
        fetched.map_err(|error| match error {
            ArtifactError::Missing(_) => Stop::Waiting {
                reason: ARTIFACT_FAILED,
                message: format!(
                    "Source is not ready, artifact not found, retrying in {}",
                    self.requeue_text()
                ),
                event: None,
                next: soon,
            },
            ArtifactError::Unreachable(message) => Stop::Waiting {
                reason: ARTIFACT_FAILED,
                event: Some(message.clone()),
                message,
                next: soon,
            },
            ArtifactError::Failed(message) => Stop::failed(ARTIFACT_FAILED, message),
        })
    }
}

impl Kustomizations {
    /// Says once for each revision which documents were changed after they were encrypted.
    fn warn_of_tampering(&self, pass: &Pass<'_>, revision: &str, findings: &[Finding]) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(warning) = decryption::warning(findings) else {
            warned.remove(&pass.key);
            return;
        };
        let is_applied = pass.status.last_applied_revision.as_deref() == Some(revision);
        let now = (revision.to_owned(), warning);
        if !is_applied && warned.get(&pass.key) != Some(&now) {
            pass.event(Severity::Error, &now.1);
        }
        warned.insert(pass.key.clone(), now);
    }
}

fn timeout_text(object: &Kustomization) -> GoDuration {
    let timeout = timing::timeout(&object.spec).as_nanos();
    GoDuration::from_nanos(i64::try_from(timeout).unwrap_or(i64::MAX))
}
