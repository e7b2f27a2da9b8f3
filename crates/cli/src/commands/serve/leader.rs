//! Leader election: this process runs the controllers with a lease that it holds, under upstream's names.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{join_all, select_all};
use sluice_controllers::run::{ControllerConfig, run};
use sluice_controllers::table::Controller;
use sluice_runtime::lease::{Candidate, Held, Terms};
use sluice_runtime::metrics::names::LEADER;
use sluice_source::artifact::{Digest, DigestAlgorithm};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::outcome::Failure;

/// How long to wait for further leases before the controllers with a lease start.
const TOGETHER: Duration = Duration::from_secs(1);

/// The timeout of releasing leases.
const LETTING_GO: Duration = Duration::from_millis(600);

/// The parameters of leases.
pub(super) struct Election {
    /// The namespace of the leases.
    pub(super) namespace: String,
    /// The identity of this process, which is unique.
    pub(super) identity: String,
    pub(super) terms: Terms,
    /// Whether leases are released at the end.
    pub(super) release: bool,
}

impl Election {
    fn candidate(&self, config: &ControllerConfig, controller: Controller) -> Candidate {
        let hash = |text: &str| {
            let digest = Digest::of(DigestAlgorithm::Sha256, text.as_bytes()).to_string();
            digest.trim_start_matches("sha256:").to_owned()
        };
        let shard = config.operation.shard.as_str();
        Candidate {
            client: config.client.clone(),
            namespace: self.namespace.clone(),
            name: Candidate::lease_name(controller.name(), shard, hash),
            identity: self.identity.clone(),
            clock: Arc::clone(&config.clock),
            chance: Arc::clone(&config.chance),
            terms: self.terms,
        }
    }

    /// Runs each controller while its lease is held, until the shutdown. Losing a lease ends the process: another replica
    /// works now.
    pub(super) async fn run(
        self,
        config: ControllerConfig,
        stop: CancellationToken,
    ) -> Result<(), Failure> {
        let metrics = Arc::clone(&config.operation.metrics);
        let mut waiting = JoinSet::new();
        let mut names = BTreeMap::new();
        for controller in config.controllers.iter().copied() {
            let candidate = self.candidate(&config, controller);
            metrics.set(&LEADER, &[&candidate.name], 0.0);
            names.insert(controller, candidate.name.clone());
            waiting.spawn(async move { (controller, candidate.acquire().await) });
        }
        let mut held: BTreeMap<Controller, Held> = BTreeMap::new();
        let outcome = loop {
            // Take the leases that are there, and those that come right after.
            let first = async {
                if held.is_empty() { waiting.join_next().await } else { waiting.try_join_next() }
            };
            let mut next = tokio::select! {
                biased;
                () = stop.cancelled() => break Ok(()),
                next = first => next,
            };
            while let Some(Ok((controller, lease))) = next.take() {
                let name = names.get(&controller).map(String::as_str).unwrap_or_default();
                metrics.set(&LEADER, &[name], 1.0);
                held.insert(controller, lease);
                next = tokio::time::timeout(TOGETHER, waiting.join_next()).await.unwrap_or(None);
            }
            let controllers: BTreeSet<Controller> = held.keys().copied().collect();
            let pause = CancellationToken::new();
            let running = run(ControllerConfig { controllers, ..config.clone() }, pause.clone());
            match together(running, &mut held, &mut waiting, &stop, &pause).await {
                Ended::Stopped => break Ok(()),
                Ended::Lost => break Err(Failure::new("leader election lost")),
                Ended::Joined(controller, lease) => {
                    let name = names.get(&controller).map(String::as_str).unwrap_or_default();
                    metrics.set(&LEADER, &[name], 1.0);
                    held.insert(controller, *lease);
                }
            }
        };
        waiting.abort_all();
        let lets_go = self.release && outcome.is_ok();
        let ending = held
            .into_values()
            .map(async |lease| if lets_go { lease.release().await } else { lease.stopped().await });
        // An unresponsive cluster must not keep the process alive: the lease then expires by itself.
        let _ = tokio::time::timeout(LETTING_GO, join_all(ending)).await;
        outcome
    }
}

/// Why a run ended.
enum Ended {
    /// The shutdown.
    Stopped,
    /// A lost lease: everything was dropped at once.
    Lost,
    /// A further lease: everything restarts with one more controller.
    Joined(Controller, Box<Held>),
}

/// Runs controllers, renews their leases and waits for the others' at the same time.
async fn together(
    running: impl Future<Output = ()>,
    held: &mut BTreeMap<Controller, Held>,
    waiting: &mut JoinSet<(Controller, Held)>,
    stop: &CancellationToken,
    pause: &CancellationToken,
) -> Ended {
    let mut running = std::pin::pin!(running);
    let keeping = select_all(held.values_mut().map(|lease| Box::pin(lease.keep())));
    let mut keeping = std::pin::pin!(keeping);
    let joined = async {
        match waiting.join_next().await {
            Some(Ok(joined)) => joined,
            _ => std::future::pending().await,
        }
    };
    let reason = tokio::select! {
        biased;
        _ = keeping.as_mut() => return Ended::Lost,
        () = stop.cancelled() => Ended::Stopped,
        (controller, lease) = joined => Ended::Joined(controller, Box::new(lease)),
        () = running.as_mut() => return Ended::Stopped,
    };
    // The leases are renewed until the last pass is over.
    pause.cancel();
    tokio::select! {
        biased;
        _ = keeping => Ended::Lost,
        () = running => reason,
    }
}

#[cfg(test)]
mod tests;
