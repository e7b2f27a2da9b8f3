//! From built objects to a converged cluster: remember, apply, prune, wait.

use sluice_api::names::reasons::{
    HEALTH_CHECK_FAILED, PROGRESSING, PRUNE_FAILED, RECONCILIATION_FAILED, RECONCILIATION_SUCCEEDED,
};
use sluice_api::names::sluice::conditions::HANDING_OVER;
use sluice_api::names::sluice::reasons::OUTDATED_VERSION;
use sluice_runtime::events::Severity;
use sluice_ssa::{
    Action, Applier, ApplyOptions, DeleteOptions, ErrorClass, HealthChecks, IgnoreRules, Inventory,
    Owner, outdated,
};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::Kustomizations;
use super::access::Target;
use super::build::Built;
use super::pass::Pass;
use super::stop::Stop;
use super::{guard, health};
use crate::safety::SafetyRule;
use crate::sources::SourceArtifact;

impl Kustomizations {
    /// Applies what was built, prunes what is no longer wanted, and waits until all is healthy.
    #[expect(clippy::too_many_arguments, reason = "each is one step's result")]
    pub(super) async fn apply(
        &self,
        pass: &mut Pass<'_>,
        artifact: &SourceArtifact,
        target: Target,
        built: Built,
        checks: HealthChecks,
        progress: &(dyn Fn(&str) -> String + Send + Sync),
        cancel: CancellationToken,
    ) -> Result<(), Stop> {
        pass.phase("apply");
        let Built { objects, digest, encrypted, .. } = built;
        pass.conditions.mark_reconciling(PROGRESSING, &progress("Detecting drift"));
        let ignore = IgnoreRules::compile(pass.object.spec.ignore.as_deref().unwrap_or_default());
        let ignore = match (encrypted, ignore) {
            (None, Ok(ignore)) => ignore,
            (encrypted, ignore) => {
                let message = encrypted.or_else(|| ignore.err().map(|error| format!("{error}\n")));
                pass.note(&digest, RECONCILIATION_FAILED);
                return Err(Stop::failed(RECONCILIATION_FAILED, message.unwrap_or_default()));
            }
        };
        let settings = &self.context.settings;
        let owner = Owner::kustomize();
        let watching = self.watching(&pass.object, &target)?;
        let applier = Applier::new(
            target.client,
            target.discovery,
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
        let wanted = applier.identify(&objects).await;
        self.handover.claim(&pass.object, artifact, &wanted);
        let wanted = Inventory::of_keys(wanted);
        let union = old.union(&wanted);
        if union.len() > old.len() && settings.keeps(SafetyRule::RememberBeforeApplying) {
            pass.status.inventory = Some(union.write());
            pass.write().await?;
        }
        let mut options = ApplyOptions::kustomize(&owner, &settings.disallowed_field_managers);
        options.force = pass.object.spec.force.unwrap_or(false);
        options.custom_stage_kinds.clone_from(&settings.custom_stage_kinds);
        options.ignore = ignore;
        options.unseen = wanted.minus(&old).into_iter().map(|key| key.id).collect();
        self.inform(pass, &watching, &mut options);
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
                    self.prune(pass, &applier, &owner, artifact, &old, &done, &digest).await?;
                }
                self.learn(pass, &watching, &error.changes, false).await;
                // Beside what Flux says, which stays as it is.
                if let Some(advice) = outdated::advice(&error.failures) {
                    warn!(object = %pass.key, revision = %pass.revision, "{advice}");
                    pass.event_because(Severity::Error, OUTDATED_VERSION, &advice);
                }
                let message = format!("{error}\n{}", error.changes.log());
                let class = error.class();
                return Err(Stop::of_objects(
                    class,
                    RECONCILIATION_FAILED,
                    message,
                    &error.failures,
                ));
            }
        };
        self.learn(pass, &watching, &changes, true).await;
        let log = changes.log();
        if !log.is_empty() {
            pass.event(Severity::Info, &log);
        }
        let new = Inventory::of_changes(&changes);
        pass.status.inventory = Some(new.write());
        self.prune(pass, &applier, &owner, artifact, &old, &new, &digest).await?;

        let is_new = Some(&artifact.revision) != pass.status.last_applied_revision.as_ref();
        let told = is_new && !log.is_empty();
        pass.phase("health");
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

    #[expect(clippy::too_many_arguments, reason = "each is one step's result")]
    async fn prune(
        &self,
        pass: &mut Pass<'_>,
        applier: &Applier,
        owner: &Owner,
        artifact: &SourceArtifact,
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
            pass.conditions.remove(HANDING_OVER);
            return Ok(());
        }
        let keeps = |rule| self.context.settings.keeps(rule);
        let claims = self.claimed(&pass.object, applier, &stale, Some(artifact)).await;
        let going = stale.len() - claims.len();
        if going > 0
            && keeps(SafetyRule::EmptyBuildPrunesNothing)
            && let Some(refusal) = guard::refusal(&pass.object, old, new, going)
        {
            pass.status.inventory = Some(old.union(new).write());
            pass.note(digest, PRUNE_FAILED);
            return Err(Stop::classed(ErrorClass::Policy, PRUNE_FAILED, refusal));
        }
        let mut options = DeleteOptions::kustomize(owner, &pass.key.name, &pass.key.namespace);
        options.very_object = keeps(SafetyRule::DeleteVeryObject);
        if !keeps(SafetyRule::PruneOnlyOwn) {
            options.owner_labels.clear();
        }
        options.spared = claims.spared();
        let (changes, failed) = match applier.delete(stale, &options).await {
            Ok(changes) => (changes, None),
            Err(error) => (error.changes.clone(), Some(error)),
        };
        let kept = self.keep(pass, &changes, &claims);
        pass.status.inventory = Some(new.union(&kept).write());
        match failed {
            None => {
                let log = changes.without(Action::Unchanged).to_string();
                if !log.is_empty() {
                    pass.event(Severity::Info, &log);
                }
                Ok(())
            }
            Some(error) => {
                // What may still be there stays in the inventory, to be tried again.
                let survivors = if keeps(SafetyRule::FailedPruneIsRemembered) {
                    Inventory::of_keys(error.survivors())
                } else {
                    Inventory::default()
                };
                let kept = kept.union(&survivors);
                pass.status.inventory = Some(new.union(&kept).write());
                pass.note(digest, PRUNE_FAILED);
                let (class, message) = (error.class(), error.to_string());
                Err(Stop::of_objects(class, PRUNE_FAILED, message, &error.failures))
            }
        }
    }
}
