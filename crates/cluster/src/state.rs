//! The shared state of one cluster.

use std::sync::Arc;

use sluice_base::fault::Faults;
use sluice_base::random::Random;

use crate::Builder;
use crate::audit::Audit;
use crate::auth::{Authority, Authorizer, Secret};
use crate::clock::ClusterClock;
use crate::crd::openapi::Documents;
use crate::faults;
use crate::registry::Registry;
use crate::store::Store;

/// The parts of a cluster.
pub(crate) struct State {
    pub(crate) store: Arc<Store>,
    pub(crate) registry: Registry,
    pub(crate) clock: ClusterClock,
    pub(crate) seed: u64,
    pub(crate) random: Random,
    pub(crate) authority: Authority,
    pub(crate) authorizer: Authorizer,
    pub(crate) documents: Documents,
    pub(crate) faults: Faults,
    pub(crate) audit: Audit,
    /// Whether there are nodes that run pods.
    pub(crate) workloads: bool,
    /// Whether the controllers of workloads run.
    pub(crate) rollouts: bool,
}

impl State {
    /// The state of a cluster without objects.
    pub(crate) fn new(wanted: &Builder) -> Self {
        let secret =
            if wanted.private_keys { Secret::private() } else { Secret::of_seed(wanted.seed) };
        let clock = ClusterClock::starting_at(wanted.epoch, wanted.speed);
        let faults = Faults::new(&faults::TRANSPORT, move || clock.age());
        faults.seed(wanted.seed);
        Self {
            store: Arc::new(Store::new(wanted.history)),
            registry: Registry::built_in(),
            clock,
            seed: wanted.seed,
            random: Random::seeded(wanted.seed),
            authority: Authority::new(&secret, &wanted.tokens),
            authorizer: Authorizer::default(),
            documents: Documents::default(),
            faults,
            audit: wanted.audit.clone(),
            workloads: wanted.workloads,
            rollouts: wanted.rollouts,
        }
    }
}
