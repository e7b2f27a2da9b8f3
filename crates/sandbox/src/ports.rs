//! Loopback ports for everything in a sandbox, for programs outside of this process.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _, join_all};
use serde_json::Value;
use sluice_cluster::{ServeError, Served};
use sluice_source::git::GitServer;
use sluice_source::server::ArtifactServer;

use crate::{Hosts, Sandbox};

/// Any free port of this machine.
const FREE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Why ports could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The cluster's.
    #[error("cannot serve the cluster")]
    Cluster(#[from] ServeError),
    /// Another one.
    #[error("cannot open a loopback port")]
    Port(#[from] std::io::Error),
}

/// Open ports. Nothing answers there until [`Ports::run`] is polled, so they can be named in objects while time
/// is still virtual.
pub struct Ports {
    cluster: Served,
    servers: Vec<BoxFuture<'static, ()>>,
}

impl Sandbox {
    /// Opens a loopback port for the cluster and each server but the buckets, which speak no protocol. URLs that the
    /// sandbox gives out from here on name the ports.
    pub async fn listen(&mut self) -> Result<Ports, ListenError> {
        let (git, git_server) = GitServer::new(self.git.clone()).listen(FREE).await?;
        let artifacts = ArtifactServer::new(Arc::clone(&self.artifacts) as _);
        let (artifacts, artifact_server) = artifacts.listen(FREE).await?;
        let (registries, registry) = self.registries.clone().listen(FREE).await?;
        let (endpoints, endpoint_server) = self.endpoints.clone().listen(FREE).await?;
        let cluster = self.cluster.listen(FREE).await?;
        self.hosts = Hosts {
            git: git.to_string(),
            artifacts: artifacts.to_string(),
            registries: registries.to_string(),
            endpoints: endpoints.to_string(),
        };
        let servers = vec![
            git_server.boxed(),
            artifact_server.boxed(),
            registry.boxed(),
            endpoint_server.boxed(),
        ];
        Ok(Ports { cluster, servers })
    }
}

impl Ports {
    /// A kubeconfig that reaches the cluster as administrator.
    pub fn kubeconfig(&self) -> &Value {
        self.cluster.kubeconfig()
    }

    /// Serves until the future is dropped; open connections end with it.
    pub async fn run(self) {
        futures::join!(self.cluster.run(), join_all(self.servers));
    }
}
