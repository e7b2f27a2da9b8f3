//! Reaching repositories over the network: the scheme of the address decides how.

use std::sync::Arc;

use reqwest::Url;

use super::auth::GitAuth;
use super::error::Cause;
use super::http::HttpRemote;
use super::pack::GitLimits;
use super::remote::{GitRemote, GitTransport};
use super::ssh::{SshOptions, SshRemote};
use crate::http::HttpClients;

/// Repositories behind `http://`, `https://` and `ssh://`.
#[derive(Clone)]
pub struct Network {
    clients: HttpClients,
    ssh: SshOptions,
    limits: GitLimits,
}

impl Network {
    /// With the algorithms of SSH that are allowed, and how much a remote may send.
    pub fn new(clients: HttpClients, ssh: SshOptions, limits: GitLimits) -> Self {
        Self { clients, ssh, limits }
    }
}

impl GitTransport for Network {
    fn open(&self, url: &str, auth: &GitAuth) -> Result<Arc<dyn GitRemote>, Cause> {
        let url = Url::parse(url).map_err(|error| Cause::Url(error.to_string()))?;
        match url.scheme() {
            "http" | "https" => {
                Ok(Arc::new(HttpRemote::open(&self.clients, url, auth, self.limits)?))
            }
            "ssh" => Ok(Arc::new(SshRemote::open(&url, auth, &self.ssh, self.limits)?)),
            other => Err(Cause::Url(format!("unsupported scheme {other:?}"))),
        }
    }
}
