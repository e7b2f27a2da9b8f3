//! The egress layer: all outgoing connections pass through [`Network`].
//!
//! ```text
//! purpose, host, port ── Policy::host ──▶ name resolved ── Policy::address ──▶ connects to a checked address
//!        (literal addresses are checked here)         (each address; denied ones are left out)
//! ```
//!
//! It owns the policy, the resolver and the HTTP clients. [`Network::client`] returns a client for a purpose,
//! [`Network::dial`] a TCP connection (SSH), [`Network::connector`] the connector of a cluster's client.
//! Redirects are checked like first requests. Connections of different purposes are never shared, so that one
//! purpose cannot use what another one may reach through an open connection. See ADR 0010.
//!
//! **Invariants:** the address that was checked is the one that is connected to; no other code opens
//! connections (clippy's `disallowed-methods`). Behind a proxy only names can be checked.

mod address;
mod client;
mod connect;
mod hosts;
mod policy;
mod resolve;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustls::RootCertStore;

use crate::http::{HttpError, HttpOptions, Tls};

pub use address::AddressClass;
pub use client::{Client, RequestError};
pub use connect::{Connector, DialError};
pub use hosts::{HostPattern, HostPatternError};
pub use policy::{Policy, Purpose, Refusal, Rule};
pub use resolve::{Lookup, Resolved, SystemLookup};

/// The number of cached clients; when it is exceeded the cache is cleared.
const CLIENTS_KEPT: usize = 256;

/// Observes decisions. The object that a connection is for is in the span of the pass.
pub trait Observe: Send + Sync {
    /// A connection or a request for a purpose was allowed, or denied by a rule.
    fn decided(&self, purpose: Purpose, refused_by: Option<Rule>);
}

/// Ignores decisions.
struct Unobserved;

impl Observe for Unobserved {
    fn decided(&self, _: Purpose, _: Option<Rule>) {}
}

/// The egress layer. Clones share everything.
#[derive(Clone)]
pub struct Network {
    shared: Arc<Shared>,
}

struct Shared {
    policy: Policy,
    lookup: Arc<dyn Lookup>,
    observer: Arc<dyn Observe>,
    /// The system's roots, loaded on first use.
    roots: OnceLock<RootCertStore>,
    clients: Mutex<BTreeMap<(Purpose, HttpOptions), reqwest::Client>>,
}

impl Network {
    /// A network with the default policy and the system's roots.
    pub fn new() -> Self {
        Self::with(Policy::default())
    }

    /// A network with an operator's policy.
    pub fn with(policy: Policy) -> Self {
        Self::of(policy, Arc::new(SystemLookup), Arc::new(Unobserved))
    }

    /// A network with a policy, a resolver of names, and an observer.
    pub fn of(policy: Policy, lookup: Arc<dyn Lookup>, observer: Arc<dyn Observe>) -> Self {
        let (roots, clients) = (OnceLock::new(), Mutex::default());
        Self { shared: Arc::new(Shared { policy, lookup, observer, roots, clients }) }
    }

    /// The client for a purpose and options. Redirects are followed if the policy allows them; responses are not
    /// decompressed. A proxy is checked as an address of a spec, whatever the purpose.
    pub fn client(&self, purpose: Purpose, options: &HttpOptions) -> Result<Client, HttpError> {
        if let Some(proxy) = &options.proxy {
            self.judge_proxy(proxy)?;
        }
        let key = (purpose, options.clone());
        let clients = || self.shared.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = clients().get(&key).cloned();
        let inner = if let Some(client) = kept {
            client
        } else {
            let client = self.build(purpose, options)?;
            let mut clients = clients();
            if clients.len() >= CLIENTS_KEPT {
                clients.clear();
            }
            clients.insert(key, client.clone());
            client
        };
        Ok(Client::new(inner, self.clone(), purpose))
    }

    /// TLS configurations on top of the system's roots.
    fn tls(&self) -> Tls<'_> {
        Tls { roots: self.shared.roots.get_or_init(crate::http::system_roots) }
    }

    /// Counts and logs a decision. The object is in the span of the pass.
    fn decided(&self, purpose: Purpose, host: &str, refusal: Option<&Refusal>) {
        self.shared.observer.decided(purpose, refusal.map(|refusal| refusal.rule));
        let purpose = purpose.label();
        match refusal {
            None => tracing::debug!(purpose, host, "connection allowed"),
            Some(refusal) => {
                let address = refusal.address.map(|address| address.to_string());
                let (address, rule) = (address.unwrap_or_default(), refusal.rule.label());
                tracing::warn!(purpose, host = refusal.host, address, rule, "connection refused");
            }
        }
    }
}

impl Default for Network {
    fn default() -> Self {
        Self::new()
    }
}

/// The host of a URL without brackets, as the policy expects it.
fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}
