//! Waiting until what was applied is healthy.

use std::collections::BTreeSet;

use sluice_api::names::conditions::HEALTHY;
use sluice_api::names::reasons::{HEALTH_CHECK_FAILED, PROGRESSING, SUCCEEDED};
use sluice_api::shared::condition::ConditionStatus;
use sluice_base::duration::GoDuration;
use sluice_runtime::events::Severity;
use sluice_ssa::{
    Action, Applier, ChangeSet, ObjectId, ObjectKey, WaitError, WaitOptions, WaitTarget,
};
use tokio_util::sync::CancellationToken;

use super::pass::Pass;
use super::stop::Stop;
use super::timing;

/// The version that a health check without one is about.
const DEFAULT_API_VERSION: &str = "apps/v1";

/// Waits for what the spec says: everything that was applied, or the objects it names.
#[expect(clippy::too_many_arguments, reason = "each is one step's result")]
pub(super) async fn check(
    pass: &mut Pass<'_>,
    applier: &Applier,
    changes: &ChangeSet,
    jobs_with_ttl: BTreeSet<ObjectId>,
    is_news: bool,
    progress: &(dyn Fn(&str) -> String + Send + Sync),
    fail_fast: bool,
    cancel: CancellationToken,
) -> Result<(), Stop> {
    let targets = targets(pass, changes);
    if targets.is_empty() {
        pass.conditions.remove(HEALTHY);
        return Ok(());
    }
    let was_healthy = pass.conditions.is_true(HEALTHY);
    let began = pass.elapsed();
    let timeout = timing::timeout(&pass.object.spec);
    let options =
        WaitOptions { timeout, fail_fast, jobs_with_ttl, cancel, ..WaitOptions::default() };
    let waiting = applier.wait(targets, &options);
    tokio::pin!(waiting);
    // What is healthy at once need not be announced.
    let message = progress("Running health checks");
    pass.conditions.mark_reconciling(PROGRESSING, &message);
    let first = futures::poll!(waiting.as_mut());
    let outcome = match first {
        std::task::Poll::Ready(outcome) => outcome,
        std::task::Poll::Pending => {
            pass.conditions.set_now(pass.context.clock.now());
            pass.conditions.set(HEALTHY, ConditionStatus::Unknown, PROGRESSING, &message);
            pass.write().await?;
            waiting.await
        }
    };
    let took = pass.elapsed().saturating_sub(began).as_nanos();
    let took = GoDuration::from_nanos(i64::try_from(took).unwrap_or(i64::MAX));
    pass.conditions.set_now(pass.context.clock.now());
    match outcome {
        Ok(()) => {
            let message = format!("Health check passed in {took}");
            if !was_healthy || is_news {
                pass.event(Severity::Info, &message);
            }
            pass.conditions.set(HEALTHY, ConditionStatus::True, SUCCEEDED, &message);
            Ok(())
        }
        Err(WaitError::Canceled) => Err(Stop::Superseded),
        Err(error) => {
            let message = error.to_string();
            pass.conditions.set(HEALTHY, ConditionStatus::False, HEALTH_CHECK_FAILED, &message);
            let message = format!("health check failed after {took}: {message}");
            Err(Stop::failed(HEALTH_CHECK_FAILED, message))
        }
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
                WaitTarget::from(ObjectKey::of(&object))
            })
            .collect()
    };
    let is_self = |id: &ObjectId| {
        id.kind == "Kustomization" && id.name == pass.key.name && id.namespace == pass.key.namespace
    };
    all.into_iter().filter(|target| !is_self(&target.key.id)).collect()
}
