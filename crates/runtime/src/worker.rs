//! Workers: they take keys from the queue, one pass each.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::error;

use crate::key::Key;
use crate::queue::{Next, Queue};

/// What brings the cluster and an object's wish together.
pub trait Reconcile: Send + Sync + 'static {
    /// One pass over one object; the answer says when the next is due. It is not cancelled in the middle
    /// unless the process ends: whoever waits long looks at its own signals.
    fn reconcile(&self, key: Key) -> impl Future<Output = Next> + Send;
}

/// Works on the queue until it is told to stop; then passes that have begun end first.
pub async fn work<R: Reconcile>(
    queue: Arc<Queue>,
    reconciler: Arc<R>,
    workers: usize,
    stop: CancellationToken,
) {
    let mut tasks = JoinSet::new();
    for _ in 0..workers.max(1) {
        let (queue, reconciler) = (Arc::clone(&queue), Arc::clone(&reconciler));
        tasks.spawn(async move {
            while let Some(key) = queue.next().await {
                let pass = AssertUnwindSafe(reconciler.reconcile(key.clone())).catch_unwind();
                let next = pass.await.unwrap_or_else(|_| {
                    // A fault of ours must not take the other objects with it.
                    error!(object = %key, "reconciliation panicked");
                    Next::Backoff
                });
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

    use super::{Reconcile, work};
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
        let working = tokio::spawn(work(Arc::clone(&queue), Arc::clone(&noted), 1, stop.clone()));
        tokio::time::sleep(Duration::from_secs(5)).await;
        stop.cancel();
        working.await.unwrap();
        assert_eq!(*noted.0.lock().unwrap(), ["bad", "good", "bad"]);
    }
}
