//! The order of a pass, the same for every kind, and what is reported about its end.

use std::future::Future;
use std::time::Duration;

use sluice_api::names::conditions::{READY, RECONCILING, STALLED};
use sluice_api::names::sluice::conditions::HELD;
use sluice_api::names::sluice::reasons::LAYER_HELD;
use sluice_api::shared::condition::ConditionStatus;
use tokio::time::Instant;
use tracing::{error, info};

use super::{OnChange, Pass, StatusOf, class_metadata};
use crate::class::ErrorClass;
use crate::conditions::Conditions;
use crate::controller::{Core, Kind, reconcile_request};
use crate::events::Severity;
use crate::gate::Hold;
use crate::key::Key;
use crate::metrics::names::{FAILURES, RECONCILE_DURATION, SUSPENDED};
use crate::outcome::{Failure, Retry, Stop, Waiting, places};
use crate::queue::Next;

/// A controller of one kind: what differs between kinds in a pass.
pub trait Reconciler: OnChange<Self::Kind> + Sized + 'static {
    /// The kind.
    type Kind: Kind;

    /// Its state.
    fn core(&self) -> &Core<Self::Kind>;

    /// Whether the object is to be left alone.
    fn is_suspended(&self, object: &Self::Kind) -> bool;

    /// Whether the object has brought something into effect already. One that has keeps its Ready while it is held.
    fn is_installed(&self, status: &StatusOf<Self::Kind>) -> bool;

    /// Brings the cluster to the state that the object describes; says when to come back. It sets Ready and reports its
    /// success itself, and asks the gate before it fetches and before its first write.
    fn converge(
        &self,
        pass: &mut Pass<'_, Self::Kind>,
    ) -> impl Future<Output = Result<Next, Stop>> + Send;

    /// Undoes what the object did, because it is deleted.
    fn finalize(&self, pass: &mut Pass<'_, Self::Kind>) -> impl Future<Output = Finalized> + Send;

    /// The object is suspended; `is_new` if it has just got its finalizer.
    fn on_suspended(&self, pass: &mut Pass<'_, Self::Kind>, is_new: bool) {
        let _ = is_new;
        info!(object = %pass.key, "Reconciliation is suspended for this object");
    }

    /// When to come back after a failure.
    fn retry(&self, object: &Self::Kind) -> Next {
        let _ = object;
        Next::Backoff
    }

    /// Reports a failure in the conditions.
    fn mark_failed(&self, conditions: &mut Conditions, failure: &Failure) {
        conditions.mark_not_ready(&failure.reason, &failure.message);
        if failure.stalls() {
            conditions.mark_stalled(&failure.reason, &failure.message);
        }
    }

    /// Reports a wait in the conditions.
    fn mark_waiting(&self, conditions: &mut Conditions, waiting: &Waiting) {
        conditions.mark_not_ready(waiting.reason, &waiting.message);
    }

    /// Brings the conditions to their end: nothing that is ready or stalled is reconciled any more.
    fn settle(&self, conditions: &mut Conditions, end: End) {
        let _ = end;
        if conditions.is_true(READY) || conditions.is_true(STALLED) {
            conditions.remove(RECONCILING);
        } else if conditions.is_false(READY) {
            conditions.mark_retrying();
        }
    }

    /// Whether the generation has been reconciled, as `status.observedGeneration` says it.
    fn is_observed(&self, conditions: &Conditions, end: End) -> bool {
        let _ = end;
        conditions.is_true(READY)
    }
}

/// How a pass ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The cluster is in the state that the object describes.
    Converged,
    /// The object is suspended.
    Suspended,
    /// Only another spec helps.
    Stalled,
    /// It is tried again.
    Retrying,
    /// A gate holds it.
    Held,
}

/// What became of an object that is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finalized {
    /// Nothing is left of it: the finalizer goes.
    Done,
    /// The finalizer stays until then.
    Later(Next),
}

/// One pass over an object, if it is still there; says when the next is due.
pub async fn reconcile<R: Reconciler>(controller: &R, key: &Key) -> Next {
    let Some(object) = controller.core().store.get(key) else { return Next::Event };
    Pass::begin(controller, object).run(controller).await
}

impl<K: Kind> Pass<'_, K> {
    /// The whole pass; says when the next is due.
    pub async fn run<R: Reconciler<Kind = K>>(&mut self, controller: &R) -> Next {
        let started = Instant::now();
        let next = if self.object.meta().deletion_timestamp.is_some() {
            self.finalize(controller).await
        } else {
            self.reconcile(controller).await
        };
        self.end_phase();
        let (metrics, labels) = (&self.core.context.metrics, Core::<K>::labels(&self.key));
        metrics.observe(&RECONCILE_DURATION, &labels, started.elapsed().as_secs_f64());
        let suspended = controller.is_suspended(&self.object);
        metrics.set(&SUSPENDED, &labels, f64::from(u8::from(suspended)));
        next
    }

    async fn finalize<R: Reconciler<Kind = K>>(&mut self, controller: &R) -> Next {
        let (finalizers, own) = (self.finalizers(), self.core.finalizer);
        if !finalizers.iter().any(|name| name == own) {
            return Next::Event;
        }
        if let Finalized::Later(next) = controller.finalize(self).await {
            return next;
        }
        let rest = finalizers.into_iter().filter(|name| name != own).collect();
        match self.write_finalizers(rest).await {
            Ok(()) => Next::Event,
            Err(error) if error.is_not_found() => Next::Event,
            Err(error) => {
                error!(object = %self.key, %error, "finalizer not removed");
                Next::Backoff
            }
        }
    }

    async fn reconcile<R: Reconciler<Kind = K>>(&mut self, controller: &R) -> Next {
        let is_new = !self.finalizers().iter().any(|name| name == self.core.finalizer);
        let is_first = self.core.context.rules.finalizer_first;
        if is_new && is_first && !self.add_finalizer().await {
            return Next::Backoff;
        }
        if controller.is_suspended(&self.object) {
            controller.on_suspended(self, is_new);
            return self.finish(controller, Next::Event, End::Suspended).await;
        }
        let outcome = controller.converge(self).await;
        if is_new && !is_first {
            self.add_finalizer().await;
        }
        let (next, end) = self.conclude(controller, outcome);
        self.finish(controller, next, end).await
    }

    fn finalizers(&self) -> Vec<String> {
        self.object.meta().finalizers.clone().unwrap_or_default()
    }

    /// Adds the finalizer; says whether it is there.
    async fn add_finalizer(&mut self) -> bool {
        let mut finalizers = self.finalizers();
        finalizers.push(self.core.finalizer.to_owned());
        let added = self.write_finalizers(finalizers).await;
        if let Err(error) = &added {
            error!(object = %self.key, %error, "finalizer not set");
        }
        added.is_ok()
    }

    /// Reports how a pass ended; says when the next is due.
    fn conclude<R: Reconciler<Kind = K>>(
        &mut self,
        controller: &R,
        outcome: Result<Next, Stop>,
    ) -> (Next, End) {
        self.update_time();
        let stop = match outcome {
            Ok(next) => return (next, End::Converged),
            Err(stop) => stop,
        };
        if let Some(class) = stop.class() {
            let labels = [class.as_str(), K::DEFINITION.kind];
            self.core.context.metrics.add(&FAILURES, &labels, 1.0);
        }
        match stop {
            Stop::Failed(failure) => self.fail(controller, &failure),
            Stop::Waiting(waiting) => {
                controller.mark_waiting(&mut self.conditions, &waiting);
                let class = waiting.class.map(ErrorClass::as_str);
                info!(object = %self.key, errorClass = class, "{}", waiting.message);
                if let Some((severity, message)) = &waiting.event {
                    let metadata = class_metadata(waiting.class, &[]);
                    self.event_with(*severity, waiting.reason, message, metadata);
                }
                (waiting.next, End::Retrying)
            }
            Stop::Held(hold) => self.hold(controller, &hold),
            Stop::Restart(replaced) => {
                info!(object = %self.key, "{replaced}");
                (Next::After(Duration::ZERO), End::Retrying)
            }
            Stop::Api(ref error) => {
                let class = stop.class().map(ErrorClass::as_str);
                error!(object = %self.key, errorClass = class, %error, "Reconciliation failed");
                (Next::Backoff, End::Retrying)
            }
        }
    }

    fn fail<R: Reconciler<Kind = K>>(&mut self, controller: &R, failure: &Failure) -> (Next, End) {
        controller.mark_failed(&mut self.conditions, failure);
        let revision = (!self.revision.is_empty()).then_some(self.revision.as_str());
        for one in &failure.objects {
            let Some(resource) = &one.object else { continue };
            let (class, error) = (one.class.as_str(), &one.message);
            let place = one.place.as_ref().map(ToString::to_string);
            let cause = (!one.causes.is_empty()).then(|| one.causes.join("\n"));
            error!(object = %self.key, revision, resource, errorClass = class, place, cause, error, "Object failed");
        }
        let place = places(&failure.objects);
        let (class, reason) = (failure.class.as_str(), &failure.reason);
        let message = failure.event.as_ref().unwrap_or(&failure.message);
        error!(object = %self.key, revision, errorClass = class, place, error = message, reason, "Reconciliation failed");
        let metadata = class_metadata(Some(failure.class), &failure.objects);
        self.event_with(Severity::Error, reason, message, metadata);
        match failure.retry {
            Retry::Usual => (controller.retry(&self.object), End::Retrying),
            Retry::At(next) => (next, End::Retrying),
            Retry::Never => (Next::Event, End::Stalled),
        }
    }

    /// What is installed keeps the conditions that it had, with Held beside them; what is not waits with Ready Unknown.
    fn hold<R: Reconciler<Kind = K>>(&mut self, controller: &R, hold: &Hold) -> (Next, End) {
        info!(object = %self.key, "{}", hold.message);
        self.conditions.restore(self.read.clone());
        self.conditions.remove(RECONCILING);
        let (unknown, held) = (ConditionStatus::Unknown, ConditionStatus::True);
        if controller.is_installed(&self.status) {
            self.conditions.set(HELD, held, LAYER_HELD, &hold.message);
        } else {
            self.conditions.set(READY, unknown, LAYER_HELD, &hold.message);
        }
        (hold.next, End::Held)
    }

    /// Writes the status at the end of a pass: the reconcile request is answered, and the conditions are settled.
    async fn finish<R: Reconciler<Kind = K>>(
        &mut self,
        controller: &R,
        next: Next,
        end: End,
    ) -> Next {
        if let Some(request) = reconcile_request(self.object.meta()) {
            self.common.insert("lastHandledReconcileAt".to_owned(), request.clone().into());
        }
        self.update_time();
        if end != End::Held {
            controller.settle(&mut self.conditions, end);
            let generation = self.object.meta().generation;
            if let Some(generation) =
                generation.filter(|_| controller.is_observed(&self.conditions, end))
            {
                self.common.insert("observedGeneration".to_owned(), generation.into());
            }
        }
        match self.write().await {
            Ok(()) => next,
            Err(error) => {
                error!(object = %self.key, %error, "status not written");
                Next::Backoff
            }
        }
    }
}
