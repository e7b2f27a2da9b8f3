//! Resolves names and returns only addresses that the policy allows.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::policy::{Purpose, Refusal, Rule};
use super::{Network, Shared};

/// The addresses of a host, or an error.
pub type Resolved<'a> = BoxFuture<'a, io::Result<Vec<SocketAddr>>>;

/// Resolves hosts.
pub trait Lookup: Send + Sync {
    /// The addresses of a name, or the address itself, with the port.
    fn lookup<'a>(&'a self, host: &'a str, port: u16) -> Resolved<'a>;
}

/// The resolver of the system.
pub struct SystemLookup;

impl Lookup for SystemLookup {
    #[expect(clippy::disallowed_methods, reason = "the caller checks the result")]
    fn lookup<'a>(&'a self, host: &'a str, port: u16) -> Resolved<'a> {
        async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) }.boxed()
    }
}

impl Shared {
    /// The addresses of a host that are allowed for a purpose. Denied ones are left out; if all are denied, the
    /// first refusal is the error.
    pub(super) async fn resolve(
        &self,
        purpose: Purpose,
        host: &str,
        port: u16,
    ) -> Result<Vec<SocketAddr>, ResolveError> {
        let found = self.lookup.lookup(host, port).await.map_err(ResolveError::Lookup)?;
        let (mut allowed, mut refused) = (Vec::new(), None);
        for address in found {
            match self.policy.address(purpose, host, address.ip()) {
                Ok(()) => allowed.push(address),
                Err(refusal) => refused = refused.or(Some(refusal)),
            }
        }
        if purpose == Purpose::Content && !allowed.is_empty() {
            self.leave_out_protected(host, &mut allowed, &mut refused).await;
        }
        match refused {
            Some(refusal) if allowed.is_empty() => Err(ResolveError::Refused(refusal)),
            _ if allowed.is_empty() => {
                Err(ResolveError::Lookup(io::Error::other("failed to lookup address information")))
            }
            _ => Ok(allowed),
        }
    }

    /// Leaves out addresses of the artifact server and the API server, which may have other names too.
    async fn leave_out_protected(
        &self,
        host: &str,
        allowed: &mut Vec<SocketAddr>,
        refused: &mut Option<Refusal>,
    ) {
        let is_listed = self.policy.host(Purpose::Content, host, 0).is_ok()
            && self.policy.content_hosts.iter().any(|it| it.matches_host(host));
        if is_listed {
            return;
        }
        for name in self.policy.protected_names() {
            let theirs = self.lookup.lookup(name, 0).await.unwrap_or_default();
            allowed.retain(|address| {
                let is_protected = theirs.iter().any(|it| it.ip() == address.ip());
                if is_protected && refused.is_none() {
                    *refused = Some(Refusal {
                        purpose: Purpose::Content,
                        host: host.to_owned(),
                        address: Some(address.ip()),
                        rule: Rule::ContentProtected,
                    });
                }
                !is_protected
            });
        }
    }
}

/// Why a name was not resolved.
#[derive(Debug, thiserror::Error)]
pub(super) enum ResolveError {
    /// It has no address.
    #[error(transparent)]
    Lookup(io::Error),
    /// All of its addresses are denied.
    #[error("{0}")]
    Refused(#[source] Refusal),
}

/// The resolver of a client.
pub(super) struct Resolver {
    pub(super) network: Network,
    pub(super) purpose: Purpose,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (shared, purpose) = (Arc::clone(&self.network.shared), self.purpose);
        Box::pin(async move {
            let found = shared.resolve(purpose, name.as_str(), 0).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}
