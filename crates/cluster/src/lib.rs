//! An embedded Kubernetes API server with simulated controllers and nodes.
//!
//! ```text
//!            HTTP request (in process, or TLS on loopback: serve)
//!   service     authentication and authorization (auth), injected faults (faults), routing (request), audit log (audit)
//!   endpoints   version, health, discovery, OpenAPI
//!   verbs       get list watch create replace patch delete   subresources, reviews
//!   decode      JSON, YAML, protobuf -> typed, defaulted object
//!   write       ownership (managed), admission, hooks of the kind, validation, compare-and-swap
//!   store       objects, one revision, history, watches
//! ```
//!
//! What differs between kinds is in `kinds` (defaults, validation), `printers` (tables) and `crd`
//! (kinds made at run time); everything else treats all kinds alike. Time and random numbers come from
//! the cluster's own clock and seed, so that a run on a paused runtime can be repeated exactly.
//!
//! It is for tests, demonstrations and rehearsals. Nothing is kept on disk.
//!
//! Start reading at [`Cluster`], then `service`, then `write`.

mod admission;
pub mod audit;
pub mod auth;
pub mod body;
mod bootstrap;
mod builtin;
mod call;
mod clock;
mod controllers;
mod crd;
mod decode;
mod duplicates;
mod endpoints;
pub mod faults;
pub mod kind;
mod kinds;
mod managed;
mod metadata;
mod negotiate;
mod printer;
mod printers;
mod registry;
mod request;
mod resource;
mod reviews;
mod selector;
mod serve;
mod service;
mod state;
pub mod status;
mod store;
mod subresources;
mod table;
mod validation;
mod value;
mod verbs;
mod version_order;
mod write;

use std::sync::Arc;

use jiff::Timestamp;
use sluice_base::clock::Clock;
use sluice_base::fault::Faults;

pub use serve::{ServeError, Served};
pub use service::ClusterService;

use crate::audit::{Audit, Sink};
use crate::auth::User;
use crate::service::Origin;
use crate::state::State;

/// The default start time of clusters: 2026-01-01.
const EPOCH: Timestamp = Timestamp::constant(1_767_225_600, 0);

/// The configuration of a cluster.
#[derive(Debug, Clone)]
pub struct Builder {
    seed: u64,
    epoch: Timestamp,
    speed: f64,
    history: usize,
    workloads: bool,
    rollouts: bool,
    private_keys: bool,
    tokens: Vec<(String, User)>,
    audit: Audit,
}

impl Builder {
    /// The seed of uids, generated names and delays.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The cluster's time at the start.
    #[must_use]
    pub fn epoch(mut self, epoch: Timestamp) -> Self {
        self.epoch = epoch;
        self
    }

    /// The factor by which simulated delays are shorter than real ones.
    #[must_use]
    pub fn speed(mut self, speed: f64) -> Self {
        self.speed = speed;
        self
    }

    /// The number of past events per resource that a watch can start from.
    #[must_use]
    pub fn history(mut self, events: usize) -> Self {
        self.history = events;
        self
    }

    /// Whether nodes run pods. Without nodes the pods of Deployments stay pending.
    #[must_use]
    pub fn workloads(mut self, workloads: bool) -> Self {
        self.workloads = workloads;
        self
    }

    /// Whether workload controllers (Deployments, Jobs, Services and others) run. Without them objects
    /// stay as they were written; the controllers of namespaces, service accounts, cluster roles and
    /// garbage collection run in any case.
    #[must_use]
    pub fn rollouts(mut self, rollouts: bool) -> Self {
        self.rollouts = rollouts;
        self
    }

    /// Takes the cluster's keys from the system's randomness instead of the seed. For clusters that
    /// others can reach: the administrator's token can be computed from the seed.
    #[must_use]
    pub fn private_keys(mut self) -> Self {
        self.private_keys = true;
        self
    }

    /// A bearer token and its user.
    #[must_use]
    pub fn token(mut self, token: &str, user: User) -> Self {
        self.tokens.push((token.to_owned(), user));
        self
    }

    /// Writes an audit event for each request; see [`audit`].
    #[must_use]
    pub fn audit(mut self, sink: Arc<dyn Sink>) -> Self {
        self.audit = Audit(Some(sink));
        self
    }

    /// Starts the cluster with the objects of a fresh one. Call it on the runtime that will serve it:
    /// its clock is that runtime's.
    pub fn build(self) -> Cluster {
        let state = Arc::new(State::new(&self));
        bootstrap::fill(&state);
        controllers::start(&state);
        Cluster { state }
    }
}

/// A running cluster; clones are handles to the same one.
#[derive(Clone)]
pub struct Cluster {
    state: Arc<State>,
}

impl Cluster {
    /// A cluster to be configured.
    pub fn builder() -> Builder {
        Builder {
            seed: 0,
            epoch: EPOCH,
            speed: 1.0,
            history: 10_000,
            workloads: true,
            rollouts: true,
            private_keys: false,
            tokens: Vec::new(),
            audit: Audit::default(),
        }
    }

    /// The API server for clients in this process. A request without credentials acts as the
    /// administrator.
    pub fn service(&self) -> ClusterService {
        ClusterService::new(self.state.clone(), Origin::InProcess)
    }

    /// The cluster's time, for everything that has to agree with it.
    pub fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(self.state.clock)
    }

    /// The seed of uids, generated names, delays and faults.
    pub fn seed(&self) -> u64 {
        self.state.seed
    }

    /// The faults that are injected between clients and this cluster.
    pub fn faults(&self) -> Faults {
        self.state.faults.clone()
    }

    /// Drops the history of all objects, as etcd's compaction does: older watches and continue tokens
    /// get 410.
    pub fn compact(&self) {
        self.state.store.compact();
    }

    /// Ends all open watches, as a restart of the server does.
    pub fn close_watches(&self) {
        self.state.store.close_watches();
    }
}
