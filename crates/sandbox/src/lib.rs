//! Everything a set of controllers runs against, in one value: a cluster, servers of sources, an artifact store,
//! a clock and a seed. The demo, the suites and the simulation are built on it; it knows no controllers.
//!
//! ```text
//!                 client()    ┌──────────┐
//!  controllers ──────────────▶│ cluster  │──┐
//!  (the caller's)             ├──────────┤  │
//!                 backends()  │ git      │  ├── one clock (the cluster's), one seed
//!              ──────────────▶│ OCI      │  │
//!                             │ buckets  │──┘
//!                 endpoints   │ HTTP     │
//!              ──────────────▶│ artifacts│
//!                             └──────────┘
//! ```
//!
//! Without [`Sandbox::listen`] there is no socket and no thread: on a paused current-thread runtime everything
//! happens in virtual time, and a seed repeats it. With it, each server has a loopback port of its own and time is
//! real.
//!
//! **Invariant:** time and chance of everything in a sandbox come from its cluster's clock and seed.

mod endpoints;
mod objects;
mod ports;

use std::sync::Arc;

use kube::Client;
use sluice_base::clock::Clock;
use sluice_base::fault::Faults;
use sluice_cluster::Cluster;
use sluice_source::artifact::DigestAlgorithm;
use sluice_source::backends::SourceBackends;
use sluice_source::bucket::MemoryBuckets;
use sluice_source::git::{Identity, MemoryTransport, NewCommit, Repository};
use sluice_source::network::Network;
use sluice_source::oci::MemoryRegistry;
use sluice_source::store::{MemoryStore, Retention};
use sluice_source::tree::SourceTree;

pub use endpoints::Endpoints;
pub use objects::{InstallError, Objects};
pub use ports::{ListenError, Ports};

/// The branch of all repositories.
pub const BRANCH: &str = "main";

/// A cluster and what lies around it. Clones share everything.
#[derive(Clone)]
pub struct Sandbox {
    /// The embedded Kubernetes API server.
    pub cluster: Cluster,
    /// Repositories by their address, or by the path of it.
    pub git: MemoryTransport,
    /// Registries, the same contents under every host.
    pub registries: MemoryRegistry,
    /// Buckets by name.
    pub buckets: MemoryBuckets,
    /// Everything else that answers to HTTP.
    pub endpoints: Endpoints,
    /// Artifacts. They outlive the controllers, as on a volume.
    pub artifacts: Arc<MemoryStore>,
    hosts: Hosts,
}

/// The host of each server in the URLs that a sandbox gives out.
#[derive(Debug, Clone)]
struct Hosts {
    git: String,
    artifacts: String,
    registries: String,
    endpoints: String,
}

impl Hosts {
    /// Names that lead nowhere, for clients in this process.
    fn in_process() -> Self {
        let [git, artifacts, registries, endpoints] =
            ["git.test", "source.test", "registry.test", "endpoint.test"].map(str::to_owned);
        Self { git, artifacts, registries, endpoints }
    }
}

impl Sandbox {
    /// A sandbox whose uids, names, delays and faults come from a seed.
    pub fn new(seed: u64) -> Self {
        Self::on(Cluster::builder().seed(seed).build())
    }

    /// A sandbox around a cluster; its clock and its seed are the sandbox's.
    pub fn on(cluster: Cluster) -> Self {
        let artifacts = Arc::new(MemoryStore::new(cluster.clock()));
        let sandbox = Self {
            cluster,
            git: MemoryTransport::default(),
            registries: MemoryRegistry::new(),
            buckets: MemoryBuckets::default(),
            endpoints: Endpoints::default(),
            artifacts,
            hosts: Hosts::in_process(),
        };
        for faults in sandbox.faults() {
            faults.seed(sandbox.seed());
        }
        sandbox
    }

    /// The faults of the cluster and of each server.
    pub fn faults(&self) -> [Faults; 5] {
        [
            self.cluster.faults(),
            self.git.faults().clone(),
            self.registries.faults().clone(),
            self.buckets.faults().clone(),
            self.endpoints.faults().clone(),
        ]
    }

    /// Takes all rules of faults away.
    pub fn clear_faults(&self) {
        for faults in self.faults() {
            faults.clear();
        }
    }

    /// The time of everything in here.
    pub fn clock(&self) -> Arc<dyn Clock> {
        self.cluster.clock()
    }

    /// The seed of all chance.
    pub fn seed(&self) -> u64 {
        self.cluster.seed()
    }

    /// A client of the cluster, as administrator.
    pub fn client(&self) -> Client {
        Client::new(self.cluster.service(), "default")
    }

    /// The cluster's objects as a field manager reads and writes them.
    pub fn objects(&self, manager: &str) -> Objects {
        Objects::new(self.client(), manager)
    }

    /// Where controllers get sources from and keep artifacts.
    pub fn backends(&self) -> SourceBackends {
        SourceBackends {
            artifacts: Arc::clone(&self.artifacts) as _,
            advertised: self.hosts.artifacts.clone(),
            retention: Retention::default(),
            digests: DigestAlgorithm::default(),
            transport: Arc::new(self.git.clone()),
            buckets: Arc::new(self.buckets.clone()),
            network: Network::new(),
            registries: Arc::new(self.registries.clone()),
        }
    }

    /// The URL under which the git server has a path.
    pub fn git_url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.hosts.git)
    }

    /// The URL of an OCI repository.
    pub fn oci_url(&self, repository: &str) -> String {
        format!("oci://{}/{repository}", self.hosts.registries)
    }

    /// The URL of an endpoint that was put at a path.
    pub fn endpoint_url(&self, path: &str) -> String {
        format!("http://{}{path}", self.hosts.endpoints)
    }

    /// Commits these files, and nothing else, to [`BRANCH`] of a repository, which is made if need be. Gives the
    /// revision as Flux writes it.
    pub fn commit(&self, repository: &str, message: &str, files: &SourceTree) -> String {
        let by = Identity::new("Platform Team", "platform@example.com", self.clock().now());
        let new = NewCommit { branch: BRANCH, message, files, by };
        let id = self.git.change_or_insert(
            repository,
            || Repository::new(BRANCH),
            |repository| repository.commit(&new),
        );
        format!("{BRANCH}@sha1:{id}")
    }
}

#[cfg(test)]
mod tests;
