//! The flags of the network policy: which hosts the controllers connect to for tenants, and how that is counted.

use std::net::SocketAddr;
use std::sync::Arc;

use sluice_runtime::metrics::Metrics;
use sluice_runtime::metrics::names::NETWORK_DECISIONS;
use sluice_source::network::{HostPattern, Network, Observe, Policy, Purpose, Rule, SystemLookup};

use crate::outcome::Failure;

/// The flags.
#[derive(Debug, clap::Args)]
pub(super) struct Outward {
    /// Hosts that remote bases and submodules may name although they are private: a name, *.domain, an address or
    /// a block of addresses, with :port if need be.
    #[arg(long, value_delimiter = ',', value_name = "HOSTS")]
    allow_content_hosts: Vec<HostPattern>,
    /// The only hosts that objects may name as sources, registries, buckets, proxies and clusters; any host but
    /// metadata services where it is not given.
    #[arg(long, value_delimiter = ',', value_name = "HOSTS")]
    allow_hosts: Vec<HostPattern>,
    /// Whether objects may not name hosts with private or loopback addresses, unless --allow-hosts lists them.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = clap::ArgAction::Set)]
    deny_private_addresses: bool,
    /// Hosts that artifacts of sources are fetched from, besides our own storage, the Services of the controllers'
    /// namespace and --external-artifact-hosts.
    #[arg(long, value_delimiter = ',', value_name = "HOSTS")]
    artifact_hosts: Vec<HostPattern>,
}

/// What the policy has to know besides the flags.
pub(super) struct Around<'a> {
    /// What addresses of artifacts name.
    pub(super) advertised: &'a str,
    /// Where artifacts are served.
    pub(super) bound: SocketAddr,
    /// The address of the API server.
    pub(super) cluster: &'a str,
    /// The namespace of the controllers.
    pub(super) namespace: &'a str,
    /// `--external-artifact-hosts`
    pub(super) external: &'a [String],
    /// Whether this process runs in a pod.
    pub(super) in_cluster: bool,
}

impl Outward {
    /// The network as the flags have it. Repositories may not name the artifact server nor the API server.
    pub(super) fn network(
        &self,
        around: &Around<'_>,
        metrics: Arc<Metrics>,
    ) -> Result<Network, Failure> {
        let mut artifact_server = vec![pattern(around.advertised)?];
        if !around.bound.ip().is_unspecified() {
            artifact_server.push(pattern(&around.bound.to_string())?);
        }
        let mut api_server = vec![pattern(around.cluster)?];
        if let Some(host) = super::environment("KUBERNETES_SERVICE_HOST") {
            api_server.push(pattern(&host)?);
        }
        let mut artifact_hosts = self.artifact_hosts.clone();
        artifact_hosts.extend(artifact_server.iter().cloned());
        for host in around.external {
            artifact_hosts.push(pattern(host)?);
        }
        // Services of the controllers' namespace, as Flux advertises them; and other processes of a developer.
        let namespace = around.namespace;
        let near = [format!("*.{namespace}.svc"), format!("*.{namespace}.svc.cluster.local")];
        let here = ["127.0.0.0/8", "[::1]", "localhost"].map(str::to_owned);
        for host in near.iter().chain(here.iter().filter(|_| !around.in_cluster)) {
            artifact_hosts.push(pattern_of(host)?);
        }
        let policy = Policy {
            content_hosts: self.allow_content_hosts.clone(),
            spec_hosts: self.allow_hosts.clone(),
            deny_private: self.deny_private_addresses,
            artifact_hosts: Some(artifact_hosts),
            artifact_server,
            api_server,
        };
        Ok(Network::of(policy, Arc::new(SystemLookup), Arc::new(Counted(metrics))))
    }
}

/// The host of an address that may be a URL.
fn pattern(address: &str) -> Result<HostPattern, Failure> {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    pattern_of(rest.split('/').next().unwrap_or_default())
}

fn pattern_of(host: &str) -> Result<HostPattern, Failure> {
    host.parse().map_err(|error| Failure::caused(format!("cannot read {host:?}"), error))
}

/// Counts what the policy decides.
struct Counted(Arc<Metrics>);

impl Observe for Counted {
    fn decided(&self, purpose: Purpose, refused_by: Option<Rule>) {
        let decision = if refused_by.is_some() { "refused" } else { "allowed" };
        let rule = refused_by.map(Rule::label).unwrap_or_default();
        self.0.add(&NETWORK_DECISIONS, &[decision, purpose.label(), rule], 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::pattern;

    #[test]
    fn hosts_are_read_out_of_addresses() {
        for (address, expected) in [
            ("https://10.0.0.1:6443/", "10.0.0.1/32:6443"),
            ("http://[::1]:9090/x", "::1/128:9090"),
            (
                "source-controller.flux-system.svc.cluster.local.",
                "source-controller.flux-system.svc.cluster.local",
            ),
            ("127.0.0.1:8080", "127.0.0.1/32:8080"),
        ] {
            assert_eq!(pattern(address).unwrap().to_string(), expected);
        }
    }
}
