//! Workers: they take keys from the queue, one pass each.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use sluice_api::crd::Definition;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, error, info_span};

use crate::key::Key;
use crate::metrics::{Metrics, names};
use crate::queue::{Next, Queue};

/// What brings the cluster and an object's wish together.
pub trait Reconcile: Send + Sync + 'static {
    /// One pass over one object; the answer says when the next is due. It is not cancelled in the middle
    /// unless the process ends: whoever waits long looks at its own signals.
    fn reconcile(&self, key: Key) -> impl Future<Output = Next> + Send;
}

/// Whose passes they are: what Flux's logs and metrics call them.
#[derive(Clone)]
pub struct Passes {
    /// The kind in lower case.
    pub controller: String,
    /// The group of the kind.
    pub group: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// Where they are counted.
    pub metrics: Arc<Metrics>,
    /// A name for each pass.
    pub new_id: Arc<dyn Fn() -> String + Send + Sync>,
}

impl Passes {
    /// Passes over objects of a kind.
    pub fn new(
        definition: &Definition,
        metrics: Arc<Metrics>,
        new_id: Arc<dyn Fn() -> String + Send + Sync>,
    ) -> Self {
        let controller = definition.kind.to_ascii_lowercase();
        Self { controller, group: definition.group, kind: definition.kind, metrics, new_id }
    }

    /// One pass, logged with what Flux's logs name it by, and counted when it is over.
    async fn pass<R: Reconcile>(&self, reconciler: &R, key: &Key) -> Next {
        let (metrics, name) = (&self.metrics, [self.controller.as_str()]);
        let span = info_span!(
            "pass",
            controller = self.controller,
            controllerGroup = self.group,
            controllerKind = self.kind,
            name = key.name,
            namespace = key.namespace,
            reconcileID = (self.new_id)(),
        );
        let started = Instant::now();
        metrics.add(&names::ACTIVE_WORKERS, &name, 1.0);
        let pass = AssertUnwindSafe(reconciler.reconcile(key.clone())).catch_unwind();
        let next = pass.instrument(span.clone()).await.unwrap_or_else(|_| {
            // A fault of ours must not take the other objects with it.
            let _entered = span.entered();
            error!(object = %key, "reconciliation panicked");
            metrics.add(&names::RECONCILE_PANICS, &name, 1.0);
            Next::Backoff
        });
        let took = started.elapsed().as_secs_f64();
        metrics.add(&names::ACTIVE_WORKERS, &name, -1.0);
        metrics.observe(&names::RECONCILE_TIME, &name, took);
        metrics.observe(&names::WORK_DURATION, &[&self.controller, &self.controller], took);
        let result = match next {
            Next::Event => "success",
            Next::After(_) | Next::BackoffUpTo(_) => "requeue_after",
            Next::Backoff => {
                metrics.add(&names::RECONCILE_ERRORS, &name, 1.0);
                "error"
            }
        };
        metrics.add(&names::RECONCILIATIONS, &[&self.controller, result], 1.0);
        next
    }
}

/// Works on the queue until it is told to stop; then passes that have begun end first.
pub async fn work<R: Reconcile>(
    queue: Arc<Queue>,
    reconciler: Arc<R>,
    passes: Passes,
    workers: usize,
    stop: CancellationToken,
) {
    let workers = workers.max(1);
    let name = [passes.controller.as_str()];
    #[expect(clippy::cast_precision_loss, reason = "there are few workers")]
    passes.metrics.set(&names::MAX_CONCURRENT, &name, workers as f64);
    let waiting = Arc::clone(&queue);
    #[expect(clippy::cast_precision_loss, reason = "queues are short")]
    let depth = move || waiting.depth() as f64;
    passes.metrics.ask(&names::QUEUE_DEPTH, &[name[0], name[0], ""], depth);
    let mut tasks = JoinSet::new();
    for _ in 0..workers {
        let (queue, reconciler) = (Arc::clone(&queue), Arc::clone(&reconciler));
        let passes = passes.clone();
        tasks.spawn(async move {
            while let Some(key) = queue.next().await {
                let next = passes.pass(&*reconciler, &key).await;
                queue.done(&key, next);
            }
        });
    }
    stop.cancelled().await;
    queue.close();
    while tasks.join_next().await.is_some() {}
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use tokio_util::sync::CancellationToken;

    use super::{Passes, Reconcile, work};
    use crate::key::Key;
    use crate::queue::{Backoff, Next, Queue};

    #[derive(Default)]
    struct Noted(Mutex<Vec<String>>);

    impl Reconcile for Noted {
        async fn reconcile(&self, key: Key) -> Next {
            let mut noted = self.0.lock().unwrap();
            noted.push(key.name.clone());
            let panics = key.name == "bad" && noted.len() < 3;
            drop(noted);
            assert!(!panics, "this one panics once");
            Next::Event
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_is_one_objects_problem() {
        let (queue, noted) = (Arc::new(Queue::new(Backoff::default())), Arc::new(Noted::default()));
        queue.add(&Key::new("n", "bad"));
        queue.add(&Key::new("n", "good"));
        let stop = CancellationToken::new();
        let passes = Passes {
            controller: "thing".to_owned(),
            group: "",
            kind: "Thing",
            metrics: Arc::default(),
            new_id: Arc::new(String::new),
        };
        let metrics = Arc::clone(&passes.metrics);
        let (keys, log) = (Arc::clone(&queue), Arc::clone(&noted));
        let working = tokio::spawn(work(keys, log, passes, 1, stop.clone()));
        tokio::time::sleep(Duration::from_secs(5)).await;
        stop.cancel();
        working.await.unwrap();
        assert_eq!(*noted.0.lock().unwrap(), ["bad", "good", "bad"]);
        let counted = metrics.render();
        for line in [
            "controller_runtime_reconcile_panics_total{controller=\"thing\"} 1",
            "controller_runtime_reconcile_total{controller=\"thing\",result=\"error\"} 1",
            "controller_runtime_reconcile_total{controller=\"thing\",result=\"success\"} 2",
            "controller_runtime_active_workers{controller=\"thing\"} 0",
        ] {
            assert!(counted.lines().any(|it| it == line), "{line}\n{counted}");
        }
    }
}
