//! What lies outside of the cluster: repositories, other machines by HTTP, other clusters, and what the
//! process was started with. All of it is handed in, so that a simulation reaches nothing.

use std::sync::Arc;

use sluice_cloud::{Environment, Http, Nowhere};
use sluice_source::git::GitTransport;

/// What lies outside.
#[derive(Clone)]
pub struct Outside {
    /// Repositories.
    pub git: Arc<dyn GitTransport>,
    /// Everything else: clouds, vaults, bases.
    pub web: Arc<dyn Http>,
    /// What clouds look at in the process: variables and files.
    pub environment: Environment,
    /// Other clusters.
    pub clusters: Arc<dyn Clusters>,
}

impl Outside {
    /// Repositories, and nothing else.
    pub fn sealed(git: Arc<dyn GitTransport>) -> Self {
        let environment = Environment::default();
        Self { git, web: Arc::new(Nowhere), environment, clusters: Arc::new(Sealed) }
    }
}

/// A world with one cluster.
struct Sealed;

impl Clusters for Sealed {
    fn connect(&self, config: kube::Config) -> Result<kube::Client, String> {
        Err(format!("{} is out of reach", config.cluster_url))
    }
}

/// Connects to clusters.
pub trait Clusters: Send + Sync {
    /// A client of a cluster, or why there is none.
    fn connect(&self, config: kube::Config) -> Result<kube::Client, String>;
}

/// Clusters that the network leads to.
pub struct Reachable;

impl Clusters for Reachable {
    fn connect(&self, config: kube::Config) -> Result<kube::Client, String> {
        kube::Client::try_from(config).map_err(|error| error.to_string())
    }
}
