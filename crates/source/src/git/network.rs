//! Git over the network: the scheme of the URL selects the transport.

use std::sync::Arc;

use reqwest::Url;

use super::auth::GitAuth;
use super::error::Cause;
use super::http::HttpRemote;
use super::pack::GitLimits;
use super::remote::{GitRemote, GitTransport};
use super::ssh::{SshOptions, SshRemote};
use crate::network::Network;

/// Repositories behind `http://`, `https://` and `ssh://`.
#[derive(Clone)]
pub struct GitOverNetwork {
    network: Network,
    ssh: SshOptions,
    limits: GitLimits,
}

impl GitOverNetwork {
    /// With the allowed SSH algorithms, and the limits of what a remote may send.
    pub fn new(network: Network, ssh: SshOptions, limits: GitLimits) -> Self {
        Self { network, ssh, limits }
    }
}

impl GitTransport for GitOverNetwork {
    fn open(&self, url: &str, auth: &GitAuth) -> Result<Arc<dyn GitRemote>, Cause> {
        let url = Url::parse(url).map_err(|error| Cause::Url(error.to_string()))?;
        match url.scheme() {
            "http" | "https" => {
                Ok(Arc::new(HttpRemote::open(&self.network, url, auth, self.limits)?))
            }
            "ssh" => {
                let network = self.network.clone();
                Ok(Arc::new(SshRemote::open(network, &url, auth, &self.ssh, self.limits)?))
            }
            other => Err(Cause::Url(format!("unsupported scheme {other:?}"))),
        }
    }
}
