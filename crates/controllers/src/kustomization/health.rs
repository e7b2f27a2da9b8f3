//! Waits until what was applied is healthy.

use std::collections::BTreeSet;
use std::time::Duration;

use sluice_api::names::conditions::HEALTHY;
use sluice_api::names::reasons::{
    HEALTH_CHECK_CANCELED, HEALTH_CHECK_FAILED, PROGRESSING, SUCCEEDED,
};
use sluice_api::shared::condition::ConditionStatus;
use sluice_runtime::events::Severity;
use sluice_runtime::outcome::{Stop, Waiting};
use sluice_runtime::queue::Next;
use sluice_ssa::{
    Action, Applier, ChangeSet, ObjectId, ObjectKey, WaitError, WaitOptions, WaitTarget,
};
use tokio_util::sync::CancellationToken;

use super::failures::unhealthy;
use super::reconcile::{Progress, go_duration};
use super::{Kustomizations, Pass, source_text, timing};

/// The version that a health check without one is about.
const DEFAULT_API_VERSION: &str = "apps/v1";

/// What becomes healthy within this time is not announced as being waited for: that saves most passes a write.
const ANNOUNCED_AFTER: Duration = Duration::from_secs(1);

/// A wait for the health of what was applied.
pub(super) struct HealthWait {
    pub(super) applier: Applier,
    pub(super) changes: ChangeSet,
    /// Jobs that may be gone before they are seen complete.
    pub(super) jobs: BTreeSet<ObjectId>,
    /// Whether a new revision changed something.
    pub(super) is_news: bool,
    pub(super) progress: Progress,
    /// Ends the wait: there is something newer to apply.
    pub(super) cancel: CancellationToken,
}

impl Kustomizations {
    /// Waits for what the spec says: everything that was applied, or the objects it names.
    pub(super) async fn wait_for_health(
        &self,
        pass: &mut Pass<'_>,
        wait: HealthWait,
    ) -> Result<(), Stop> {
        let targets = targets(pass, &wait.changes);
        if targets.is_empty() {
            pass.conditions.remove(HEALTHY);
            return Ok(());
        }
        let was_healthy = pass.conditions.is_true(HEALTHY);
        let began = pass.elapsed();
        let options = WaitOptions {
            timeout: timing::timeout(&pass.object.spec),
            fail_fast: self.context.settings.fail_fast,
            jobs_with_ttl: wait.jobs,
            cancel: wait.cancel,
            ..WaitOptions::default()
        };
        let waiting = wait.applier.wait(targets, &options);
        tokio::pin!(waiting);
        let message = wait.progress.text("Running health checks");
        pass.conditions.mark_reconciling(PROGRESSING, &message);
        let soon = tokio::time::timeout(ANNOUNCED_AFTER, waiting.as_mut()).await;
        let outcome = if let Ok(outcome) = soon {
            outcome
        } else {
            pass.update_time();
            pass.conditions.set(HEALTHY, ConditionStatus::Unknown, PROGRESSING, &message);
            pass.write().await?;
            waiting.await
        };
        let took = go_duration(pass.elapsed().saturating_sub(began));
        pass.update_time();
        match outcome {
            Ok(()) => {
                let message = format!("Health check passed in {took}");
                if !was_healthy || wait.is_news {
                    pass.ready_event(Severity::Info, &message);
                }
                pass.conditions.set(HEALTHY, ConditionStatus::True, SUCCEEDED, &message);
                Ok(())
            }
            Err(WaitError::Canceled) => Err(self.superseded(pass)),
            Err(error) => {
                let message = error.to_string();
                pass.conditions.set(HEALTHY, ConditionStatus::False, HEALTH_CHECK_FAILED, &message);
                let message = format!("health check failed after {took}: {message}");
                let causes = wait.applier.causes(error.objects()).await;
                Err(unhealthy(message, error.objects(), &causes))
            }
        }
    }

    /// There is something newer to apply, which is done at once.
    fn superseded(&self, pass: &Pass<'_>) -> Stop {
        let trigger = self.canceled_by(&pass.key);
        let trigger = trigger.unwrap_or_else(|| source_text(&pass.object));
        let message = format!("New reconciliation triggered by {trigger}");
        let event =
            format!("Health checks canceled due to new reconciliation triggered by {trigger}");
        let waiting = Waiting::new(HEALTH_CHECK_CANCELED, message, Next::After(Duration::ZERO));
        waiting.with_event(Severity::Info, event).into()
    }
}

/// What to wait for. A Kustomization never waits for itself, and what it left alone is not its business.
fn targets(pass: &Pass<'_>, changes: &ChangeSet) -> Vec<WaitTarget> {
    let spec = &pass.object.spec;
    let all: Vec<WaitTarget> = if spec.wait.unwrap_or(false) {
        let applied = changes.entries.iter().filter(|change| change.action != Action::Skipped);
        applied.map(WaitTarget::from).collect()
    } else {
        let named = spec.health_checks.iter().flatten();
        named
            .map(|check| {
                let object = serde_json::json!({
                    "apiVersion": check.api_version.as_deref().unwrap_or(DEFAULT_API_VERSION),
                    "kind": check.kind,
                    "metadata": {"name": check.name, "namespace": check.namespace},
                });
                let key = ObjectKey::of(&object);
                let applied = changes.entries.iter().find(|change| change.key.id == key.id);
                let place = applied.and_then(|change| change.place.clone());
                WaitTarget { place, ..WaitTarget::from(key) }
            })
            .collect()
    };
    let is_self = |id: &ObjectId| {
        id.kind == "Kustomization" && id.name == pass.key.name && id.namespace == pass.key.namespace
    };
    all.into_iter().filter(|target| !is_self(&target.key.id)).collect()
}
