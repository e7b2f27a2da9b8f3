//! The way outwards: every connection that is made for somebody passes through [`Network`].
//!
//! ```text
//! purpose, host, port ── Policy::host ──▶ name resolved ── Policy::address ──▶ connected to what was judged
//!        (literal addresses are judged here)          (each address; those refused are left out)
//! ```
//!
//! It owns the policy, the resolver and the HTTP clients. [`Network::client`] gives a client for a purpose,
//! [`Network::dial`] a TCP connection (SSH), [`Network::connector`] what a client of a cluster connects with.
//! Redirects are judged like first requests. Connections of different purposes are never shared, so that what
//! one purpose may reach is not reached by another through an open connection. See ADR 0010.
//!
//! **Invariants:** the address that was judged is the one that is connected to; nothing else in the product
//! opens a connection (clippy's `disallowed-methods`). Behind a proxy only names can be judged.

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

/// As many different clients are kept; beyond, all are made anew.
const CLIENTS_KEPT: usize = 256;

/// Notes what was decided. The object that asks is that of the pass, which logs name by their span.
pub trait Observe: Send + Sync {
    /// A connection or a request for a purpose was allowed, or refused by a rule.
    fn decided(&self, purpose: Purpose, refused_by: Option<Rule>);
}

/// Notes nothing.
struct Unobserved;

impl Observe for Unobserved {
    fn decided(&self, _: Purpose, _: Option<Rule>) {}
}

/// The way outwards. Clones share everything.
#[derive(Clone)]
pub struct Network {
    shared: Arc<Shared>,
}

struct Shared {
    policy: Policy,
    lookup: Arc<dyn Lookup>,
    observer: Arc<dyn Observe>,
    /// What the system trusts, read when it is first needed.
    roots: OnceLock<RootCertStore>,
    clients: Mutex<BTreeMap<(Purpose, HttpOptions), reqwest::Client>>,
}

impl Network {
    /// A network with the rules that hold where an operator says nothing, which trusts what the system trusts.
    pub fn new() -> Self {
        Self::with(Policy::default())
    }

    /// A network with an operator's policy.
    pub fn with(policy: Policy) -> Self {
        Self::of(policy, Arc::new(SystemLookup), Arc::new(Unobserved))
    }

    /// A network with a policy, a resolver of names, and somebody who counts.
    pub fn of(policy: Policy, lookup: Arc<dyn Lookup>, observer: Arc<dyn Observe>) -> Self {
        let (roots, clients) = (OnceLock::new(), Mutex::default());
        Self { shared: Arc::new(Shared { policy, lookup, observer, roots, clients }) }
    }

    /// The client for a purpose and options. Redirects are followed where the policy allows it; answers are not
    /// decompressed. A proxy is named by a spec, whatever the purpose.
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

    /// Trust and client certificate for options, on top of the system's roots.
    fn tls(&self) -> Tls<'_> {
        Tls { roots: self.shared.roots.get_or_init(crate::http::system_roots) }
    }

    /// Counts and logs a decision. Who asks is in the span of the pass.
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

/// The host of a URL as the policy takes it: without brackets.
fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}
