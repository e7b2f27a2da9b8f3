//! From built objects to a converged cluster: remember, apply, prune, wait.
//!
//! This file reads and writes; what is remembered and what may be deleted is decided in `inventory.rs`.

use sluice_api::names::reasons::{
    HEALTH_CHECK_FAILED, PROGRESSING, PRUNE_FAILED, RECONCILIATION_FAILED, RECONCILIATION_SUCCEEDED,
};
use sluice_api::names::sluice::conditions::HANDING_OVER;
use sluice_api::names::sluice::reasons::OUTDATED_VERSION;
use sluice_runtime::class::ErrorClass;
use sluice_runtime::events::Severity;
use sluice_runtime::gate::Moment;
use sluice_runtime::outcome::Stop;
use sluice_ssa::{
    Action, Applier, ApplyError, ApplyOptions, ChangeSet, DeleteError, DeleteOptions, Desired,
    HealthChecks, IgnoreRules, Inventory, Owner, jobs_with_ttl, outdated,
};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::access::Target;
use super::build::Built;
use super::drifting::Watching;
use super::failures::objects_failed;
use super::health::HealthWait;
use super::inventory::{self, Prune};
use super::reconcile::Progress;
use super::{Kustomizations, Pass};
use crate::safety::SafetyRule;
use crate::sources::SourceArtifact;

/// What a pass applies: the artifact, what was built from it, and where it goes.
pub(super) struct Job {
    pub(super) artifact: SourceArtifact,
    pub(super) target: Target,
    pub(super) built: Built,
    pub(super) checks: HealthChecks,
    pub(super) progress: Progress,
    /// Ends the wait for health: there is something newer to apply.
    pub(super) cancel: CancellationToken,
}

/// What the steps of an apply share.
struct Applying {
    artifact: SourceArtifact,
    /// The digest of what was built, for the history.
    digest: String,
    applier: Applier,
    watching: Watching,
    /// What was applied before.
    old: Inventory,
}

impl Kustomizations {
    /// Applies what was built, prunes what is no longer wanted, and waits until all is healthy.
    pub(super) async fn apply(&self, pass: &mut Pass<'_>, job: Job) -> Result<(), Stop> {
        let Job { artifact, target, built, checks, progress, cancel } = job;
        pass.phase("apply");
        pass.conditions.mark_reconciling(PROGRESSING, &progress.text("Detecting drift"));
        let Built { objects, digest, encrypted, .. } = built;
        let ignore = ignore_rules(pass, encrypted)
            .inspect_err(|_| pass.note(&digest, RECONCILIATION_FAILED))?;
        let watching = self.watching(&pass.object, &target)?;
        let old = match &pass.status.inventory {
            Some(stored) => Inventory::read(stored)
                .map_err(|error| Stop::failed(RECONCILIATION_FAILED, error.to_string()))?,
            None => Inventory::default(),
        };
        let applier = self.applier(target, checks);
        let applying = Applying { artifact, digest, applier, watching, old };
        let jobs = jobs_with_ttl(&objects);
        let changes = self.write_objects(pass, &applying, objects, ignore).await?;
        let log = changes.log();
        if !log.is_empty() {
            pass.ready_event(Severity::Info, &log);
        }
        let new = Inventory::of_changes(&changes);
        pass.status.inventory = Some(new.write());
        self.prune(pass, &applying, &new).await?;

        let Applying { artifact, digest, applier, .. } = applying;
        let is_new = Some(&artifact.revision) != pass.status.last_applied_revision.as_ref();
        let is_news = is_new && !log.is_empty();
        pass.phase("health");
        let wait = HealthWait { applier, changes, jobs, is_news, progress, cancel };
        self.wait_for_health(pass, wait).await.inspect_err(|stop| {
            if matches!(stop, Stop::Failed(_)) {
                pass.note(&digest, HEALTH_CHECK_FAILED);
            }
        })?;
        pass.status.last_applied_revision = Some(artifact.revision.clone());
        pass.status.last_applied_origin_revision =
            Some(pass.origin_revision.clone()).filter(|revision| !revision.is_empty());
        let message = format!("Applied revision: {}", artifact.revision);
        pass.update_time();
        pass.conditions.mark_ready(RECONCILIATION_SUCCEEDED, &message);
        pass.note(&digest, RECONCILIATION_SUCCEEDED);
        Ok(())
    }

    fn applier(&self, target: Target, checks: HealthChecks) -> Applier {
        let (owner, clock) = (Owner::kustomize(), self.context.clock.clone());
        Applier::new(target.client, target.discovery, owner, clock)
            .with_concurrency(self.context.settings.concurrent_ssa)
            .with_health_checks(checks)
    }

    /// Remembers and writes the objects.
    async fn write_objects(
        &self,
        pass: &mut Pass<'_>,
        applying: &Applying,
        objects: Vec<Desired>,
        ignore: IgnoreRules,
    ) -> Result<ChangeSet, Stop> {
        let Applying { artifact, applier, watching, old, .. } = applying;
        let settings = &self.context.settings;
        pass.ask_gate(Moment::BeforeWrite)?;
        let wanted = applier.identify(&objects).await;
        self.handover.claim(&pass.object, artifact, &wanted);
        let wanted = Inventory::of_keys(wanted);
        if let Some(union) = inventory::before_apply(settings, old, &wanted) {
            pass.status.inventory = Some(union.write());
            pass.write().await?;
        }
        let owner = Owner::kustomize();
        let mut options = ApplyOptions::kustomize(&owner, &settings.disallowed_field_managers);
        options.force = pass.object.spec.force.unwrap_or(false);
        options.custom_stage_kinds.clone_from(&settings.custom_stage_kinds);
        options.ignore = ignore;
        options.unseen = wanted.minus(old).into_iter().map(|key| key.id).collect();
        self.inform(pass, watching, &mut options);
        match applier.apply(objects, &options).await {
            Ok(changes) => {
                self.learn(pass, watching, &changes, true).await;
                Ok(changes)
            }
            Err(error) => Err(self.apply_failed(pass, applying, &error).await),
        }
    }

    /// Remembers what a failed apply may have left, and says why it failed.
    async fn apply_failed(
        &self,
        pass: &mut Pass<'_>,
        applying: &Applying,
        error: &ApplyError,
    ) -> Stop {
        let Applying { digest, applier, watching, old, .. } = applying;
        let settings = &self.context.settings;
        let in_doubt = Inventory::of_keys(applier.canonical(&error.in_doubt).await);
        let left = inventory::after_failed_apply(settings, old, &error.changes, &in_doubt);
        pass.status.inventory = left.map(|left| left.write());
        pass.note(digest, RECONCILIATION_FAILED);
        if !settings.keeps(SafetyRule::PruneAfterWholeApply) {
            let done = Inventory::of_changes(&error.changes);
            if let Err(stop) = self.prune(pass, applying, &done).await {
                return stop;
            }
        }
        self.learn(pass, watching, &error.changes, false).await;
        // In an event of its own: the message of Ready stays Flux's.
        if let Some(advice) = outdated::advice(&error.failures) {
            warn!(object = %pass.key, revision = %pass.revision, "{advice}");
            pass.event(Severity::Error, OUTDATED_VERSION, &advice);
        }
        let message = format!("{error}\n{}", error.changes.log());
        objects_failed(error.class(), RECONCILIATION_FAILED, message, &error.failures)
    }

    /// Deletes what was applied before and is no longer wanted.
    async fn prune(
        &self,
        pass: &mut Pass<'_>,
        applying: &Applying,
        new: &Inventory,
    ) -> Result<(), Stop> {
        let Applying { artifact, digest, applier, old, .. } = applying;
        let settings = &self.context.settings;
        if !pass.object.spec.prune {
            return Ok(());
        }
        // Flux's inventories may name a namespace for what has none; compared as such it would be stale.
        let old = &Inventory::of_keys(applier.canonical(old.keys()).await);
        let stale = inventory::stale(&pass.object, old, new);
        let claims = self.claimed(&pass.object, applier, &stale, Some(artifact)).await;
        let stale = match inventory::prune(settings, &pass.object, (old, new), claims.len()) {
            Prune::Nothing => {
                pass.conditions.remove(HANDING_OVER);
                return Ok(());
            }
            Prune::Refuse(message) => {
                pass.status.inventory = Some(old.union(new).write());
                pass.note(digest, PRUNE_FAILED);
                return Err(Stop::classed(ErrorClass::Policy, PRUNE_FAILED, message));
            }
            Prune::Delete(stale) => stale,
        };
        let owner = Owner::kustomize();
        let mut options = DeleteOptions::kustomize(&owner, &pass.key.name, &pass.key.namespace);
        options.very_object = settings.keeps(SafetyRule::DeleteVeryObject);
        if !settings.keeps(SafetyRule::PruneOnlyOwn) {
            options.owner_labels.clear();
        }
        options.spared = claims.spared();
        let (changes, failed) = match applier.delete(stale, &options).await {
            Ok(changes) => (changes, None),
            Err(error) => (error.changes.clone(), Some(error)),
        };
        let kept = self.keep(pass, &changes, &claims);
        let survivors = failed.as_ref().map(DeleteError::survivors).unwrap_or_default();
        let left = inventory::after_prune(settings, new, &kept, survivors);
        pass.status.inventory = Some(left.write());
        if let Some(error) = failed {
            pass.note(digest, PRUNE_FAILED);
            let (class, message) = (error.class(), error.to_string());
            return Err(objects_failed(class, PRUNE_FAILED, message, &error.failures));
        }
        let log = changes.without(Action::Unchanged).to_string();
        if !log.is_empty() {
            pass.ready_event(Severity::Info, &log);
        }
        Ok(())
    }
}

/// The fields that are left to others; fails if a rule is wrong, or if something is still encrypted.
fn ignore_rules(pass: &Pass<'_>, encrypted: Option<String>) -> Result<IgnoreRules, Stop> {
    let rules = IgnoreRules::compile(pass.object.spec.ignore.as_deref().unwrap_or_default());
    match (encrypted, rules) {
        (Some(message), _) => Err(Stop::failed(RECONCILIATION_FAILED, message)),
        (None, Ok(rules)) => Ok(rules),
        (None, Err(error)) => Err(Stop::failed(RECONCILIATION_FAILED, format!("{error}\n"))),
    }
}
