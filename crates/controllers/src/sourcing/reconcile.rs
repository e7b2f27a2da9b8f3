//! What a pass over a source does around the kind's own work, in the order of Flux's controllers.

use sluice_api::names::conditions::{
    FETCH_FAILED, RECONCILING, SOURCE_VERIFIED, STALLED, STORAGE_OPERATION_FAILED,
};
use sluice_api::names::reasons::SUCCEEDED;
use sluice_api::shared::condition::{Condition, ConditionStatus};
use sluice_runtime::conditions::Conditions;
use sluice_runtime::controller::Core;
use sluice_runtime::error::ApiError;
use sluice_runtime::events::Severity;
use sluice_runtime::gate::Moment;
use sluice_runtime::outcome::{Failure, Stop, Waiting};
use sluice_runtime::pass::{End, Finalized, Pass, Reconciler, StatusOf};
use sluice_runtime::queue::Next;
use sluice_source::artifact::ArtifactPath;
use tracing::info;

use super::summary::summarise;
use super::{SourceController, SourceKind, SourcePass as _, SourceStatus as _};

impl<K: SourceKind> Reconciler for SourceController<K> {
    type Kind = K;

    fn core(&self) -> &Core<K> {
        &self.core
    }

    fn is_suspended(&self, object: &K) -> bool {
        object.is_suspended()
    }

    fn is_installed(&self, status: &StatusOf<K>) -> bool {
        status.artifact().is_some()
    }

    async fn converge(&self, pass: &mut Pass<'_, K>) -> Result<Next, Stop> {
        pass.ask_gate(Moment::BeforeFetch)?;
        let before: Vec<Condition> = pass.conditions.list().to_vec();
        let digest = pass.artifact().map(|artifact| artifact.digest.clone());
        self.begin(pass).await?;
        self.check_storage(pass).await;
        pass.phase("fetch");
        let produced = K::produce(self, pass).await;
        pass.end_phase();
        notify(pass, &produced?, &before, digest.as_deref());
        Ok(self.context.after(pass.object.interval()))
    }

    /// Removes everything of the source from the store.
    async fn finalize(&self, pass: &mut Pass<'_, K>) -> Finalized {
        let (namespace, name) = (&pass.key.namespace, &pass.key.name);
        let Ok(place) = ArtifactPath::new(K::DEFINITION.kind, namespace, name, "artifact") else {
            return Finalized::Done;
        };
        match self.backends.artifacts.remove(&place).await {
            Ok(true) => {
                let message = "garbage collected artifacts for deleted resource";
                pass.event(Severity::Trace, "GarbageCollectionSucceeded", message);
            }
            Ok(false) => {}
            Err(error) => {
                let message = format!("garbage collection for deleted resource failed: {error}");
                pass.event(Severity::Error, "GarbageCollectionFailed", &message);
                return Finalized::Later(Next::Backoff);
            }
        }
        Finalized::Done
    }

    fn mark_failed(&self, conditions: &mut Conditions, failure: &Failure) {
        let condition = failure.condition.unwrap_or(FETCH_FAILED);
        let is_bad = condition != SOURCE_VERIFIED;
        let status = if is_bad { ConditionStatus::True } else { ConditionStatus::False };
        conditions.set(condition, status, &failure.reason, &failure.message);
        if failure.stalls() {
            conditions.mark_stalled(&failure.reason, &failure.message);
        } else {
            conditions.remove(STALLED);
        }
    }

    fn mark_waiting(&self, conditions: &mut Conditions, waiting: &Waiting) {
        let condition = waiting.condition.unwrap_or(FETCH_FAILED);
        conditions.set(condition, ConditionStatus::True, waiting.reason, &waiting.message);
        conditions.remove(STALLED);
    }

    /// Ready follows from the other conditions.
    fn settle(&self, conditions: &mut Conditions, end: End) {
        match end {
            End::Converged => {
                conditions.remove(RECONCILING);
                conditions.remove(STALLED);
            }
            End::Retrying => conditions.mark_retrying(),
            End::Stalled | End::Suspended | End::Held => {}
        }
        summarise(conditions, K::WEIGHED);
    }

    fn is_observed(&self, conditions: &Conditions, end: End) -> bool {
        end != End::Retrying && !conditions.list().is_empty()
    }
}

impl<K: SourceKind> SourceController<K> {
    /// Says that work has begun, at once if the object is new or changed.
    async fn begin(&self, pass: &mut Pass<'_, K>) -> Result<(), ApiError> {
        let generation = pass.object.meta().generation.unwrap_or_default();
        let observed = pass.status.observed_generation().unwrap_or_default();
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
}

/// Records an event about a new artifact, or about the end of a failure.
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
