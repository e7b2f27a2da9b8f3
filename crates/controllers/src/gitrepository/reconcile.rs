//! What a pass does, step by step, in the order of Flux's controller.

use sluice_api::names::annotations::REQUESTED_AT;
use sluice_api::names::conditions::{
    ARTIFACT_IN_STORAGE, ARTIFACT_OUTDATED, FETCH_FAILED, INCLUDE_UNAVAILABLE, READY, RECONCILING,
    SOURCE_VERIFIED, STALLED, STORAGE_OPERATION_FAILED,
};
use sluice_api::names::finalizers::FLUX;
use sluice_api::names::reasons::{
    ARCHIVE_OPERATION_FAILED, ARTIFACT_UP_TO_DATE, FAILED, GIT_OPERATION_SUCCEEDED, PROGRESSING,
    PROGRESSING_WITH_RETRY, SUCCEEDED,
};
use sluice_api::shared::artifact::Artifact;
use sluice_api::shared::condition::{Condition, ConditionStatus};
use sluice_base::time::Time;
use sluice_runtime::error::ApiError;
use sluice_runtime::events::Severity;
use sluice_runtime::queue::Next;
use sluice_source::archive;
use sluice_source::artifact::{Place, Revision};
use sluice_source::git::{Checkout, Cloned};
use sluice_source::ignore::Rules;
use sluice_source::store::{StoreError, verify};
use tracing::{error, info};

use super::GitRepositories;
use super::fetch::{content_changed, included_changed};
use super::pass::Pass;
use super::summary::summarise;
use crate::timing::jittered;

/// The conditions that tell of a failure.
const FAILURES: [&str; 3] = [FETCH_FAILED, INCLUDE_UNAVAILABLE, STORAGE_OPERATION_FAILED];

/// Why a pass ended before its end.
pub(super) enum Stop {
    /// A failure: said in a condition, told as an event, tried again with growing pauses; or never, if only
    /// another spec helps.
    Failed { condition: &'static str, reason: String, message: String, stalls: bool },
    /// Another repository has to come first.
    Waiting { reason: &'static str, message: String },
    /// The API server could not be used.
    Api(ApiError),
}

impl From<ApiError> for Stop {
    fn from(error: ApiError) -> Self {
        Self::Api(error)
    }
}

impl Stop {
    fn failed(condition: &'static str, reason: &str, message: impl Into<String>) -> Self {
        Self::Failed {
            condition,
            reason: reason.to_owned(),
            message: message.into(),
            stalls: false,
        }
    }

    /// The repository could not be read.
    pub(super) fn fetch(reason: &str, message: impl Into<String>) -> Self {
        Self::failed(FETCH_FAILED, reason, message)
    }

    /// The artifact could not be made or kept.
    pub(super) fn storage(reason: &str, message: impl Into<String>) -> Self {
        Self::failed(STORAGE_OPERATION_FAILED, reason, message)
    }

    /// The spec cannot be used.
    pub(super) fn stalled(reason: &str, message: impl Into<String>) -> Self {
        let (reason, message) = (reason.to_owned(), message.into());
        Self::Failed { condition: FETCH_FAILED, reason, message, stalls: true }
    }

    /// A signature is missing or wrong.
    pub(super) fn unverified(reason: &str, message: String, stalls: bool) -> Self {
        Self::Failed { condition: SOURCE_VERIFIED, reason: reason.to_owned(), message, stalls }
    }

    /// Another repository has to come first.
    pub(super) fn waiting(reason: &'static str, message: String) -> Self {
        Self::Waiting { reason, message }
    }
}

/// What a pass came to.
enum Done {
    /// There is nothing new at this revision.
    Unchanged(Revision),
    /// The artifact is made of this commit.
    Made(Box<Checkout>),
}

impl GitRepositories {
    /// A whole pass; says when the next is due.
    pub(super) async fn pass(&self, pass: &mut Pass<'_>) -> Next {
        let finalizers = pass.object.metadata.finalizers.clone().unwrap_or_default();
        if pass.object.metadata.deletion_timestamp.is_some() {
            return self.finalize(pass, finalizers).await;
        }
        if !finalizers.iter().any(|name| name == FLUX) {
            let with = finalizers.into_iter().chain([FLUX.to_owned()]).collect();
            if let Err(error) = pass.write_finalizers(with).await {
                error!(object = %pass.key, %error, "finalizer not set");
                return Next::Backoff;
            }
        }
        if pass.object.spec.suspend.unwrap_or(false) {
            info!(object = %pass.key, "reconciliation is suspended for this object");
            return self.finish(pass, Next::Event, true).await;
        }
        let before: Vec<Condition> = pass.conditions.list().to_vec();
        let digest = pass.status.artifact.as_ref().map(|artifact| artifact.digest.clone());
        match self.produce(pass).await {
            Ok(done) => {
                notify(pass, &done, &before, digest.as_deref());
                pass.conditions.remove(RECONCILING);
                pass.conditions.remove(STALLED);
                let interval = pass.object.spec.interval.to_std();
                let (percent, chance) =
                    (self.context.settings.interval_jitter, (self.context.chance)());
                self.finish(pass, Next::After(jittered(interval, percent, chance)), true).await
            }
            Err(stop) => self.fail(pass, stop).await,
        }
    }

    /// From an address to an artifact.
    async fn produce(&self, pass: &mut Pass<'_>) -> Result<Done, Stop> {
        self.begin(pass).await?;
        self.check_storage(pass).await;
        if pass.conditions.is_false(SOURCE_VERIFIED) {
            pass.conditions.remove(SOURCE_VERIFIED);
        }
        let auth = self.credentials(pass).await?;
        let included = self.included(pass)?;
        pass.conditions.remove(INCLUDE_UNAVAILABLE);
        pass.conditions.remove(ARTIFACT_OUTDATED);
        let checkout = match self.check_out(pass, &auth, &included).await? {
            Cloned::Checkout(checkout) => checkout,
            Cloned::Unchanged { revision, .. } => {
                pass.conditions.remove(FETCH_FAILED);
                stored(pass, &revision.to_string());
                return Ok(Done::Unchanged(revision));
            }
            // Told as a failure already.
            Cloned::Empty => {
                return Err(Stop::fetch("EmptyGitRepository", "git repository is empty"));
            }
        };
        pass.conditions.remove(FETCH_FAILED);
        self.verify(pass, &checkout).await?;
        self.make(pass, &checkout, included).await?;
        Ok(Done::Made(checkout))
    }

    /// Says that work has begun, at once if the object is new or changed.
    async fn begin(&self, pass: &mut Pass<'_>) -> Result<(), ApiError> {
        let generation = pass.object.metadata.generation.unwrap_or_default();
        let observed = pass.status.observed_generation.unwrap_or_default();
        let is_new = generation != observed;
        let message = if is_new {
            format!("processing object: new generation {observed} -> {generation}")
        } else {
            "reconciliation in progress".to_owned()
        };
        progress(pass, &message, false);
        pass.conditions.remove(STORAGE_OPERATION_FAILED);
        if is_new { pass.write().await } else { Ok(()) }
    }

    /// Looks after what is in the store: old artifacts go, and one that is not as it should be is made anew.
    async fn check_storage(&self, pass: &mut Pass<'_>) {
        let store = &*self.workshop.artifacts;
        if let Some(artifact) = pass.status.artifact.clone() {
            let place = Place::of_path(&artifact.path);
            if let Ok(place) = &place {
                match store.collect(place, self.workshop.retention).await {
                    Ok(gone) if !gone.is_empty() => {
                        let message = format!("garbage collected {} artifacts", gone.len());
                        pass.event(Severity::Trace, "GarbageCollectionSucceeded", &message);
                    }
                    Ok(_) => {}
                    Err(error) => error!(object = %pass.key, %error, "old artifacts not collected"),
                }
            }
            match verify(store, &artifact).await {
                Ok(()) => {
                    if let (Ok(place), Some(current)) = (place, &mut pass.status.artifact) {
                        current.url = place.url(&self.workshop.advertised);
                    }
                    return;
                }
                Err(StoreError::Missing(_)) => {}
                Err(error) => {
                    let message = format!("failed to verify integrity of artifact: {error}");
                    pass.event(Severity::Error, "ArtifactVerificationFailed", &message);
                }
            }
            pass.status.artifact = None;
            progress(pass, "building artifact: disappeared from storage", true);
        } else {
            progress(pass, "building artifact", true);
        }
        pass.conditions.remove(ARTIFACT_IN_STORAGE);
    }

    /// Packs the files and keeps them, unless they are there already.
    async fn make(
        &self,
        pass: &mut Pass<'_>,
        checkout: &Checkout,
        included: Vec<Artifact>,
    ) -> Result<(), Stop> {
        let spec = pass.object.spec.clone();
        let revision = checkout.revision.to_string();
        let current = pass.status.artifact.as_ref();
        let is_current = current
            .is_some_and(|it| Revision::new(it.revision.clone()).is_same(&checkout.revision));
        let before = pass.status.included_artifacts.as_deref().unwrap_or_default();
        if is_current
            && !included_changed(before, &included)
            && !content_changed(&spec, &pass.status, &included)
        {
            let message = format!("artifact up-to-date with remote revision: '{revision}'");
            pass.event(Severity::Trace, ARTIFACT_UP_TO_DATE, &message);
            stored(pass, &revision);
            return Ok(());
        }
        let mut files = checkout.files.clone();
        self.mix_in(pass, &included, &mut files).await?;
        let failed = |error: &dyn std::fmt::Display| {
            let message = format!("unable to archive artifact to storage: {error}");
            Stop::storage(ARCHIVE_OPERATION_FAILED, message)
        };
        let ignore = spec.ignore.clone();
        let packed = self.context.compute.run(move || {
            let rules = Rules::of_source(&files, ignore.as_deref());
            archive::pack(&files, |path, is_directory| rules.excludes(path, is_directory))
        });
        let packed = packed.await.map_err(|error| failed(&error))?;
        let file = format!("{}.tar.gz", checkout.commit.id);
        let place = Place::new("GitRepository", &pass.key.namespace, &pass.key.name, &file)
            .map_err(|error| failed(&error))?;
        let kept =
            self.workshop.artifacts.put(&place, packed).await.map_err(|error| failed(&error))?;
        let (advertised, now) = (&self.workshop.advertised, Time(self.context.clock.now()));
        let artifact = place.artifact(advertised, &checkout.revision, &kept.digest, kept.size, now);
        pass.status.artifact = Some(artifact);
        pass.status.included_artifacts = Some(included).filter(|list| !list.is_empty());
        pass.status.observed_ignore = spec.ignore;
        pass.status.observed_recurse_submodules = spec.recurse_submodules;
        pass.status.observed_include = spec.include;
        pass.status.observed_sparse_checkout = spec.sparse_checkout;
        stored(pass, &revision);
        Ok(())
    }

    /// Says in the conditions what went wrong.
    async fn fail(&self, pass: &mut Pass<'_>, stop: Stop) -> Next {
        pass.conditions.set_now(self.context.clock.now());
        if let Some(message) = pass.conditions.get(RECONCILING).map(|it| it.message.clone()) {
            let retry = PROGRESSING_WITH_RETRY;
            pass.conditions.set(RECONCILING, ConditionStatus::True, retry, &message);
        }
        match stop {
            Stop::Failed { condition, reason, message, stalls } => {
                error!(object = %pass.key, error = message, reason, "reconciliation failed");
                let is_bad = condition != SOURCE_VERIFIED;
                let status = if is_bad { ConditionStatus::True } else { ConditionStatus::False };
                pass.conditions.set(condition, status, &reason, &message);
                pass.event(Severity::Error, &reason, &message);
                if stalls {
                    pass.conditions.mark_stalled(&reason, &message);
                    return self.finish(pass, Next::Event, true).await;
                }
                pass.conditions.remove(STALLED);
                self.finish(pass, Next::Backoff, false).await
            }
            Stop::Waiting { reason, message } => {
                info!(object = %pass.key, "{message}");
                pass.conditions.set(INCLUDE_UNAVAILABLE, ConditionStatus::True, reason, &message);
                pass.event(Severity::Trace, reason, &message);
                pass.conditions.remove(STALLED);
                let next = Next::After(self.context.settings.requeue_dependency);
                self.finish(pass, next, false).await
            }
            Stop::Api(error) => {
                error!(object = %pass.key, %error, reason = FAILED, "reconciliation failed");
                self.finish(pass, Next::Backoff, false).await
            }
        }
    }

    /// The last words of a pass.
    async fn finish(&self, pass: &mut Pass<'_>, next: Next, observed: bool) -> Next {
        let annotations = pass.object.metadata.annotations.as_ref();
        if let Some(request) = annotations.and_then(|annotations| annotations.get(REQUESTED_AT)) {
            pass.status.last_handled_reconcile_at = Some(request.clone());
        }
        pass.conditions.set_now(self.context.clock.now());
        summarise(&mut pass.conditions);
        if observed && !pass.conditions.list().is_empty() {
            pass.status.observed_generation = pass.object.metadata.generation;
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
    async fn finalize(&self, pass: &mut Pass<'_>, finalizers: Vec<String>) -> Next {
        if !finalizers.iter().any(|name| name == FLUX) {
            return Next::Event;
        }
        let place = Place::new("GitRepository", &pass.key.namespace, &pass.key.name, "artifact");
        if let Ok(place) = place {
            match self.workshop.artifacts.remove(&place).await {
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

/// Says that something is happening; Ready keeps what it says unless there is nothing to be ready.
fn progress(pass: &mut Pass<'_>, message: &str, drift: bool) {
    pass.conditions.mark_reconciling(PROGRESSING, message);
    let is_known = pass.conditions.is_true(READY) || pass.conditions.is_false(READY);
    if drift || !is_known {
        pass.conditions.set(READY, ConditionStatus::Unknown, PROGRESSING, message);
    }
}

fn stored(pass: &mut Pass<'_>, revision: &str) {
    let message = format!("stored artifact for revision '{revision}'");
    pass.conditions.set(ARTIFACT_IN_STORAGE, ConditionStatus::True, SUCCEEDED, &message);
}

/// Tells of a new artifact, or that a failure is over.
fn notify(pass: &Pass<'_>, done: &Done, before: &[Condition], digest: Option<&str>) {
    let subject = match done {
        Done::Made(checkout) => checkout.commit.short_message(),
        Done::Unchanged(revision) => {
            let message =
                format!("no changes since last reconciliation: observed revision '{revision}'");
            pass.event(Severity::Trace, GIT_OPERATION_SUCCEEDED, &message);
            revision.to_string()
        }
    };
    let message = format!("stored artifact for commit '{subject}'");
    let is_new = pass.status.artifact.as_ref().map(|it| it.digest.as_str()) != digest;
    let recovered = before.iter().any(|it| FAILURES.contains(&it.r#type.as_str()));
    if is_new {
        info!(object = %pass.key, "{message}");
        pass.artifact_event("NewArtifact", &message);
    } else if recovered {
        info!(object = %pass.key, "{message}");
        pass.artifact_event(SUCCEEDED, &message);
    }
}
