//! What a pass does, step by step, in the order of Flux's controller.

use serde_json::json;
use sluice_api::crd::CustomResource as _;
use sluice_api::kustomize::kustomization::Kustomization;
use sluice_api::names::conditions::READY;
use sluice_api::names::finalizers::FLUX;
use sluice_api::names::reasons::{
    ACCESS_DENIED, ARTIFACT_FAILED, BUILD_FAILED, DEPENDENCY_NOT_READY, HEALTH_CHECK_CANCELED,
    HEALTH_CHECK_FAILED, INVALID_CEL_EXPRESSION, PROGRESSING, PRUNE_FAILED, RECONCILIATION_FAILED,
    RECONCILIATION_SUCCEEDED,
};
use sluice_api::shared::artifact::Artifact;
use sluice_api::shared::condition::ConditionStatus;
use sluice_base::duration::GoDuration;
use sluice_runtime::error::ApiError;
use sluice_runtime::events::Severity;
use sluice_runtime::queue::Next;
use sluice_runtime::status::patch_metadata;
use sluice_ssa::{
    Applier, ApplyOptions, DeleteOptions, HealthChecks, IgnoreRules, Inventory, Owner,
};
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use super::Kustomizations;
use super::build::{self, Built};
use super::dependencies::{self, NotReady};
use super::pass::{Pass, STATUS_MANAGER};
use super::{health, references, timing};
use crate::artifacts::ArtifactError;
use crate::safety::SafetyRule;

/// In front of errors that no retry mends.
const TERMINAL: &str = "Reconciliation failed terminally due to configuration error";

/// The metadata of an artifact that names the revision of what it was made from.
const ORIGIN: &str = "org.opencontainers.image.revision";

/// Why a pass ended before its end.
pub(super) enum Stop {
    /// A failure: said in Ready, told as an event, tried again after the retry interval.
    Failed { reason: &'static str, message: String },
    /// Nothing that a retry mends: said in Ready and Stalled.
    Terminal { reason: &'static str, message: String },
    /// Something has to come first: said in Ready, looked at again soon, or when it comes.
    Waiting { reason: &'static str, message: String, event: Option<String>, next: Next },
    /// There is something newer to apply.
    Superseded,
    /// The API server could not be used; tried again with growing pauses.
    Api(ApiError),
}

impl From<ApiError> for Stop {
    fn from(error: ApiError) -> Self {
        Self::Api(error)
    }
}

impl Stop {
    pub(super) fn failed(reason: &'static str, message: impl Into<String>) -> Self {
        Self::Failed { reason, message: message.into() }
    }
}

impl Kustomizations {
    /// A whole pass; says when the next is due.
    pub(super) async fn pass(&self, pass: &mut Pass<'_>, cancel: CancellationToken) -> Next {
        if pass.object.metadata.deletion_timestamp.is_some() {
            return self.finalize(pass).await;
        }
        let keeps = |rule| self.context.settings.keeps(rule);
        let holds_first = keeps(SafetyRule::HoldBeforeApplying);
        let held = if holds_first { self.hold(pass).await } else { Ok(()) };
        if held.is_ok() && pass.object.spec.suspend.unwrap_or(false) {
            info!(object = %pass.key, "Reconciliation is suspended for this object");
            return self.finish(pass, Next::Event).await;
        }
        let outcome = match held {
            Ok(()) => self.converge(pass, cancel).await,
            Err(error) => Err(error.into()),
        };
        if !holds_first && let Err(error) = self.hold(pass).await {
            error!(object = %pass.key, %error, "finalizer not set");
        }
        let next = self.conclude(pass, outcome);
        self.finish(pass, next).await
    }

    /// Says in the conditions how it went.
    fn conclude(&self, pass: &mut Pass<'_>, outcome: Result<(), Stop>) -> Next {
        pass.conditions.set_now(self.context.clock.now());
        let spec = &pass.object.spec;
        let retry = timing::retry_interval(spec);
        match outcome {
            Ok(()) => {
                let took = GoDuration::from_nanos(
                    i64::try_from(pass.elapsed().as_nanos()).unwrap_or(i64::MAX),
                );
                let message =
                    format!("Reconciliation finished in {took}, next run in {}", spec.interval);
                info!(object = %pass.key, revision = %pass.revision, "{message}");
                pass.success_event(&message);
                let jitter = self.context.settings.interval_jitter;
                Next::After(timing::next_interval(spec, jitter, (self.context.chance)()))
            }
            Err(Stop::Failed { reason, message }) => {
                pass.conditions.mark_not_ready(reason, &message);
                error!(object = %pass.key, revision = %pass.revision, error = message, "Reconciliation failed");
                pass.event(Severity::Error, &message);
                Next::After(retry)
            }
            Err(Stop::Terminal { reason, message }) => {
                pass.conditions.mark_not_ready(reason, &message);
                pass.conditions.mark_stalled(reason, &message);
                if reason == INVALID_CEL_EXPRESSION {
                    pass.status.observed_generation = pass.object.metadata.generation;
                }
                pass.event(Severity::Error, &message);
                Next::Event
            }
            Err(Stop::Waiting { reason, message, event, next }) => {
                pass.conditions.mark_not_ready(reason, &message);
                info!(object = %pass.key, "{message}");
                if let Some(event) = event {
                    pass.event(Severity::Info, &event);
                }
                next
            }
            Err(Stop::Superseded) => {
                let source = references::source(&pass.object);
                let trigger = format!("{}/{}", source.kind, source.key);
                let message = format!("New reconciliation triggered by {trigger}");
                pass.conditions.mark_not_ready(HEALTH_CHECK_CANCELED, &message);
                pass.event(
                    Severity::Info,
                    &format!(
                        "Health checks canceled due to new reconciliation triggered by {trigger}"
                    ),
                );
                Next::After(std::time::Duration::ZERO)
            }
            Err(Stop::Api(error)) => {
                error!(object = %pass.key, %error, "Reconciliation failed");
                Next::Backoff
            }
        }
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
    async fn converge(&self, pass: &mut Pass<'_>, cancel: CancellationToken) -> Result<(), Stop> {
        let terminal = |reason, error: &dyn std::fmt::Display| Stop::Terminal {
            reason,
            message: format!("{TERMINAL}: {error}"),
        };
        let checks = pass.object.spec.health_check_exprs.clone().unwrap_or_default();
        let checks = HealthChecks::compile(&checks)
            .map_err(|error| terminal(INVALID_CEL_EXPRESSION, &error))?;
        let ignore = pass.object.spec.ignore.clone().unwrap_or_default();
        let ignore = IgnoreRules::compile(&ignore)
            .map_err(|error| Stop::failed(RECONCILIATION_FAILED, error.to_string()))?;

        let artifact = self.artifact(pass)?;
        pass.revision.clone_from(&artifact.revision);
        let origin = artifact.metadata.as_ref().and_then(|metadata| metadata.get(ORIGIN));
        pass.origin_revision = origin.cloned().unwrap_or_default();
        dependencies::check(&self.context, &self.store, &pass.object, &artifact).await.map_err(
            |error| match error {
                NotReady::Expression(error) => terminal(INVALID_CEL_EXPRESSION, &error),
                NotReady::Object(message) => Stop::Waiting {
                    reason: DEPENDENCY_NOT_READY,
                    message,
                    event: Some(format!(
                        "Dependencies do not meet ready condition, retrying in {}",
                        self.requeue_text()
                    )),
                    next: Next::After(self.context.settings.requeue_dependency),
                },
            },
        )?;

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

        let files = self.context.artifacts.tree(&artifact).await.map_err(|error| match error {
            ArtifactError::Missing(_) => self.wait_for_artifact(format!(
                "Source is not ready, artifact not found, retrying in {}",
                self.requeue_text()
            )),
            ArtifactError::Failed(message) => Stop::failed(ARTIFACT_FAILED, message),
        })?;
        if let Some(refusal) = build::path_refusal(&pass.object, &files) {
            return Err(Stop::failed(ARTIFACT_FAILED, refusal));
        }
        pass.status.last_attempted_revision = Some(artifact.revision.clone());
        pass.conditions.mark_reconciling(PROGRESSING, &progress("Building manifests"));
        let built = build::build(&self.context, &pass.object, files).await?;
        self.apply(pass, &artifact, built, checks, ignore, &progress, cancel).await
    }

    /// The artifact of the source, if the source may be used and has one.
    fn artifact(&self, pass: &Pass<'_>) -> Result<Artifact, Stop> {
        let source = references::source(&pass.object);
        let settings = &self.context.settings;
        let denied = |why: &str| Stop::Terminal {
            reason: ACCESS_DENIED,
            message: format!("can't access '{}/{}', {why}", source.kind, source.key),
        };
        if settings.no_cross_namespace_refs && source.key.namespace != pass.key.namespace {
            return Err(denied("cross-namespace references have been blocked"));
        }
        if source.kind == "ExternalArtifact" && !settings.external_artifacts {
            return Err(denied("ExternalArtifact feature gate is disabled"));
        }
        match self.sources.artifact(&source) {
            Some(Some(artifact)) => Ok(artifact),
            Some(None) => Err(self.wait_for_artifact(format!(
                "Source artifact not found, retrying in {}",
                self.requeue_text()
            ))),
            None => Err(Stop::Waiting {
                reason: ARTIFACT_FAILED,
                message: format!(
                    "{}.source.toolkit.fluxcd.io \"{}\" not found",
                    source.kind, source.key.name
                ),
                event: None,
                next: Next::After(timing::retry_interval(&pass.object.spec)),
            }),
        }
    }

    fn wait_for_artifact(&self, message: String) -> Stop {
        let next = Next::After(self.context.settings.requeue_dependency);
        Stop::Waiting { reason: ARTIFACT_FAILED, message, event: None, next }
    }

    fn requeue_text(&self) -> GoDuration {
        let pause = self.context.settings.requeue_dependency.as_nanos();
        GoDuration::from_nanos(i64::try_from(pause).unwrap_or(i64::MAX))
    }

    /// Applies what was built, prunes what is no longer wanted, and waits until all is healthy.
    #[expect(clippy::too_many_arguments, reason = "each is one step's result")]
    async fn apply(
        &self,
        pass: &mut Pass<'_>,
        artifact: &Artifact,
        built: Built,
        checks: HealthChecks,
        ignore: IgnoreRules,
        progress: &(dyn Fn(&str) -> String + Send + Sync),
        cancel: CancellationToken,
    ) -> Result<(), Stop> {
        let Built { objects, digest } = built;
        let client = self.client_for(&pass.object).await?;
        let settings = &self.context.settings;
        let owner = Owner::kustomize();
        let applier = Applier::new(
            client,
            self.context.discovery.clone(),
            owner.clone(),
            self.context.clock.clone(),
        )
        .with_concurrency(settings.concurrent_ssa)
        .with_health_checks(checks);
        let old = match &pass.status.inventory {
            Some(stored) => Inventory::read(stored)
                .map_err(|error| Stop::failed(RECONCILIATION_FAILED, error.to_string()))?,
            None => Inventory::default(),
        };
        // Before anything is applied, everything that may be applied is remembered: a crash orphans nothing.
        pass.conditions.mark_reconciling(PROGRESSING, &progress("Detecting drift"));
        let union = old.union(&Inventory::of_keys(applier.identify(&objects).await));
        if union.len() > old.len() && settings.keeps(SafetyRule::RememberBeforeApplying) {
            pass.status.inventory = Some(union.write());
            pass.write().await?;
        }
        let mut options = ApplyOptions::kustomize(&owner, &settings.disallowed_field_managers);
        options.force = pass.object.spec.force.unwrap_or(false);
        options.custom_stage_kinds.clone_from(&settings.custom_stage_kinds);
        options.ignore = ignore;
        let jobs = sluice_ssa::jobs_with_ttl(&objects);
        let changes = match applier.apply(objects, &options).await {
            Ok(changes) => changes,
            Err(error) => {
                // What was certainly not written need not be remembered.
                let in_doubt = Inventory::of_keys(applier.canonical(&error.in_doubt).await);
                let left = old.union(&Inventory::of_changes(&error.changes)).union(&in_doubt);
                pass.status.inventory = (!left.is_empty()).then(|| left.write());
                pass.note(&digest, RECONCILIATION_FAILED);
                let done = Inventory::of_changes(&error.changes);
                if !settings.keeps(SafetyRule::FailedApplyIsRemembered) {
                    pass.status.inventory = Some(done.write());
                }
                if !settings.keeps(SafetyRule::PruneAfterWholeApply) {
                    self.prune(pass, &applier, &owner, &old, &done, &digest).await?;
                }
                return Err(Stop::failed(
                    RECONCILIATION_FAILED,
                    format!("{error}\n{}", error.changes.log()),
                ));
            }
        };
        let log = changes.log();
        if !log.is_empty() {
            pass.event(Severity::Info, &log);
        }
        let new = Inventory::of_changes(&changes);
        pass.status.inventory = Some(new.write());
        self.prune(pass, &applier, &owner, &old, &new, &digest).await?;

        let is_new = Some(&artifact.revision) != pass.status.last_applied_revision.as_ref();
        let told = is_new && !log.is_empty();
        match health::check(
            pass,
            &applier,
            &changes,
            jobs,
            told,
            progress,
            settings.fail_fast,
            cancel,
        )
        .await
        {
            Ok(()) => {}
            Err(stop) => {
                if matches!(stop, Stop::Failed { .. }) {
                    pass.note(&digest, HEALTH_CHECK_FAILED);
                }
                return Err(stop);
            }
        }
        pass.status.last_applied_revision = Some(artifact.revision.clone());
        pass.status.last_applied_origin_revision =
            Some(pass.origin_revision.clone()).filter(|revision| !revision.is_empty());
        let message = format!("Applied revision: {}", artifact.revision);
        pass.conditions.set_now(self.context.clock.now());
        pass.conditions.mark_ready(RECONCILIATION_SUCCEEDED, &message);
        pass.note(&digest, RECONCILIATION_SUCCEEDED);
        Ok(())
    }

    async fn prune(
        &self,
        pass: &mut Pass<'_>,
        applier: &Applier,
        owner: &Owner,
        old: &Inventory,
        new: &Inventory,
        digest: &str,
    ) -> Result<(), Stop> {
        if !pass.object.spec.prune {
            return Ok(());
        }
        // Flux's inventories may name a namespace for what has none; compared as such it would be stale.
        let old = &Inventory::of_keys(applier.canonical(old.keys()).await);
        let stale = old.minus(new);
        if stale.is_empty() {
            return Ok(());
        }
        let keeps = |rule| self.context.settings.keeps(rule);
        if keeps(SafetyRule::EmptyBuildPrunesNothing)
            && let Some(refusal) = build::prune_refusal(&pass.object, old, new, stale.len())
        {
            pass.status.inventory = Some(old.union(new).write());
            pass.note(digest, PRUNE_FAILED);
            return Err(Stop::failed(PRUNE_FAILED, refusal));
        }
        let mut options = DeleteOptions::kustomize(owner, &pass.key.name, &pass.key.namespace);
        options.very_object = keeps(SafetyRule::DeleteVeryObject);
        if !keeps(SafetyRule::PruneOnlyOwn) {
            options.owner_labels.clear();
        }
        match applier.delete(stale, &options).await {
            Ok(changes) => {
                let log = changes.to_string();
                if !log.is_empty() {
                    pass.event(Severity::Info, &log);
                }
                Ok(())
            }
            Err(error) => {
                // What may still be there stays in the inventory, to be tried again.
                let kept = if keeps(SafetyRule::FailedPruneIsRemembered) {
                    Inventory::of_keys(error.survivors())
                } else {
                    Inventory::default()
                };
                pass.status.inventory = Some(new.union(&kept).write());
                pass.note(digest, PRUNE_FAILED);
                Err(Stop::failed(PRUNE_FAILED, error.to_string()))
            }
        }
    }
}

/// What a failed build is called.
pub(super) fn build_failed(message: impl Into<String>) -> Stop {
    Stop::failed(BUILD_FAILED, message)
}

fn timeout_text(object: &Kustomization) -> GoDuration {
    let timeout = timing::timeout(&object.spec).as_nanos();
    GoDuration::from_nanos(i64::try_from(timeout).unwrap_or(i64::MAX))
}
