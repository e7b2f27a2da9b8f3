//! Loopback ports for everything in a sandbox, for programs outside of this process.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _, join_all};
use serde_json::Value;
use sluice_cluster::{ServeError, Served};
use sluice_source::git::GitServer;
use sluice_source::server::ArtifactServer;

use crate::Sandbox;

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
    registries: SocketAddr,
    servers: Vec<BoxFuture<'static, ()>>,
}

impl Sandbox {
    /// Opens a loopback port for the cluster and each server. URLs that the sandbox gives out from here on name them.
    pub async fn listen(&mut self) -> Result<Ports, ListenError> {
        let (git, git_server) = GitServer::new(self.git.clone()).listen(FREE).await?;
        let artifacts = ArtifactServer::new(Arc::clone(&self.artifacts) as _);
        let (artifacts, artifact_server) = artifacts.listen(FREE).await?;
        let (registries, registry) = self.registries.clone().listen(FREE).await?;
        let cluster = self.cluster.listen(FREE).await?;
        self.git_host = git.to_string();
        self.artifact_host = artifacts.to_string();
        let servers = vec![git_server.boxed(), artifact_server.boxed(), registry.boxed()];
        Ok(Ports { cluster, registries, servers })
    }
}

impl Ports {
    /// A kubeconfig that reaches the cluster as administrator.
    pub fn kubeconfig(&self) -> &Value {
        self.cluster.kubeconfig()
    }

    /// Where registries listen.
    pub fn registries(&self) -> SocketAddr {
        self.registries
    }

    /// Serves until the future is dropped; open connections end with it.
    pub async fn run(self) {
        futures::join!(self.cluster.run(), join_all(self.servers));
    }
}
