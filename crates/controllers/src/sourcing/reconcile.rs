//! What a pass does around the kind's own work, in the order of Flux's controllers.

use sluice_api::names::annotations::REQUESTED_AT;
use sluice_api::names::conditions::{
    RECONCILING, SOURCE_VERIFIED, STALLED, STORAGE_OPERATION_FAILED,
};
use sluice_api::names::finalizers::FLUX;
use sluice_api::names::reasons::{FAILED, PROGRESSING_WITH_RETRY, SUCCEEDED};
use sluice_api::shared::condition::{Condition, ConditionStatus};
use sluice_runtime::error::ApiError;
use sluice_runtime::events::Severity;
use sluice_runtime::metrics::names::{FAILURES, PHASE_DURATION};
use sluice_runtime::queue::Next;
use sluice_source::artifact::ArtifactPath;
use tokio::time::Instant;
use tracing::{error, info};

use super::summary::summarise;
use super::{Pass, SourceController, SourceKind, SourceStatus as _, Stop};
use crate::timing::jittered;

impl<K: SourceKind> SourceController<K> {
    /// A whole pass; says when the next is due.
    pub(super) async fn pass(&self, pass: &mut Pass<'_, K>) -> Next {
        let finalizers = pass.object.meta().finalizers.clone().unwrap_or_default();
        if pass.object.meta().deletion_timestamp.is_some() {
            return self.finalize(pass, finalizers).await;
        }
        if !finalizers.iter().any(|name| name == FLUX) {
            let with = finalizers.into_iter().chain([FLUX.to_owned()]).collect();
            if let Err(error) = pass.write_finalizers(with).await {
                error!(object = %pass.key, %error, "finalizer not set");
                return Next::Backoff;
            }
        }
        if pass.object.is_suspended() {
            info!(object = %pass.key, "reconciliation is suspended for this object");
            return self.finish(pass, Next::Event, true).await;
        }
        let before: Vec<Condition> = pass.conditions.list().to_vec();
        let digest = pass.artifact().map(|artifact| artifact.digest.clone());
        match self.steps(pass).await {
            Ok(message) => {
                notify(pass, &message, &before, digest.as_deref());
                pass.conditions.remove(RECONCILING);
                pass.conditions.remove(STALLED);
                let interval = pass.object.interval();
                let (percent, chance) =
                    (self.context.settings.interval_jitter, (self.context.chance)());
                self.finish(pass, Next::After(jittered(interval, percent, chance)), true).await
            }
            Err(stop) => self.fail(pass, stop).await,
        }
    }

    async fn steps(&self, pass: &mut Pass<'_, K>) -> Result<String, Stop> {
        self.begin(pass).await?;
        self.check_storage(pass).await;
        let began = Instant::now();
        let produced = K::produce(self, pass).await;
        let (took, labels) = (began.elapsed().as_secs_f64(), [K::DEFINITION.kind, "fetch"]);
        self.context.metrics.observe(&PHASE_DURATION, &labels, took);
        produced
    }

    /// Says that work has begun, at once if the object is new or changed.
    async fn begin(&self, pass: &mut Pass<'_, K>) -> Result<(), ApiError> {
        let generation = pass.object.meta().generation.unwrap_or_default();
        let observed = pass.status.common().observed_generation.unwrap_or_default();
        let is_new = generation != observed;
        let message = if is_new {
            format!("processing object: new generation {observed} -> {generation}")
        } else {
            "reconciliation in progress".to_owned()
        };
        pass.progress(&message, false);
        pass.conditions.remove(STORAGE_OPERATION_FAILED);
        if is_new { pass.write().await } else { Ok(()) }
    }

    /// Says in the conditions what went wrong.
    async fn fail(&self, pass: &mut Pass<'_, K>, stop: Stop) -> Next {
        pass.conditions.set_now(self.context.clock.now());
        if let Some(message) = pass.conditions.get(RECONCILING).map(|it| it.message.clone()) {
            let retry = PROGRESSING_WITH_RETRY;
            pass.conditions.set(RECONCILING, ConditionStatus::True, retry, &message);
        }
        let class = stop.class().as_str();
        self.context.metrics.add(&FAILURES, &[class, K::DEFINITION.kind], 1.0);
        match stop {
            Stop::Failed { condition, reason, message, stalls } => {
                error!(object = %pass.key, errorClass = class, error = message, reason, "reconciliation failed");
                let is_bad = condition != SOURCE_VERIFIED;
                let status = if is_bad { ConditionStatus::True } else { ConditionStatus::False };
                pass.conditions.set(condition, status, &reason, &message);
                pass.failure_event(Severity::Error, &reason, &message, class);
                if stalls {
                    pass.conditions.mark_stalled(&reason, &message);
                    return self.finish(pass, Next::Event, true).await;
                }
                pass.conditions.remove(STALLED);
                self.finish(pass, Next::Backoff, false).await
            }
            Stop::Waiting { condition, reason, message } => {
                info!(object = %pass.key, errorClass = class, "{message}");
                pass.conditions.set(condition, ConditionStatus::True, reason, &message);
                pass.failure_event(Severity::Trace, reason, &message, class);
                pass.conditions.remove(STALLED);
                let next = Next::After(self.context.settings.requeue_dependency);
                self.finish(pass, next, false).await
            }
            Stop::Api(error) => {
                error!(object = %pass.key, errorClass = class, %error, reason = FAILED, "reconciliation failed");
                self.finish(pass, Next::Backoff, false).await
            }
        }
    }

    /// The last words of a pass.
    async fn finish(&self, pass: &mut Pass<'_, K>, next: Next, observed: bool) -> Next {
        let annotations = pass.object.meta().annotations.as_ref();
        if let Some(request) = annotations.and_then(|annotations| annotations.get(REQUESTED_AT)) {
            *pass.status.common().last_handled_reconcile_at = Some(request.clone());
        }
        pass.conditions.set_now(self.context.clock.now());
        summarise(&mut pass.conditions, K::WEIGHED);
        if observed && !pass.conditions.list().is_empty() {
            *pass.status.common().observed_generation = pass.object.meta().generation;
        }
        match pass.write().await {
            Ok(()) => next,
            Err(error) => {
                error!(object = %pass.key, %error, "status not written");
                Next::Backoff
            }
        }
    }

    /// Takes everything out of the store, and lets the object go.
    async fn finalize(&self, pass: &mut Pass<'_, K>, finalizers: Vec<String>) -> Next {
        if !finalizers.iter().any(|name| name == FLUX) {
            return Next::Event;
        }
        let (namespace, name) = (&pass.key.namespace, &pass.key.name);
        if let Ok(place) = ArtifactPath::new(K::DEFINITION.kind, namespace, name, "artifact") {
            match self.backends.artifacts.remove(&place).await {
                Ok(true) => {
                    let message = "garbage collected artifacts for deleted resource";
                    pass.event(Severity::Trace, "GarbageCollectionSucceeded", message);
                }
                Ok(false) => {}
                Err(error) => {
                    let message =
                        format!("garbage collection for deleted resource failed: {error}");
                    pass.event(Severity::Error, "GarbageCollectionFailed", &message);
                    return Next::Backoff;
                }
            }
        }
        let rest = finalizers.into_iter().filter(|name| name != FLUX).collect();
        match pass.write_finalizers(rest).await {
            Ok(()) => Next::Event,
            Err(error) if error.is_not_found() => Next::Event,
            Err(error) => {
                error!(object = %pass.key, %error, "finalizer not removed");
                Next::Backoff
            }
        }
    }
}

/// Tells of a new artifact, or that a failure is over.
fn notify<K: SourceKind>(
    pass: &Pass<'_, K>,
    message: &str,
    before: &[Condition],
    digest: Option<&str>,
) {
    let is_new = pass.artifact().map(|it| it.digest.as_str()) != digest;
    let recovered = before.iter().any(|it| K::FAILURES.contains(&it.r#type.as_str()));
    if is_new {
        info!(object = %pass.key, "{message}");
        pass.artifact_event("NewArtifact", message);
    } else if recovered {
        info!(object = %pass.key, "{message}");
        pass.artifact_event(SUCCEEDED, message);
    }
}
