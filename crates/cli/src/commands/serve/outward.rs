//! The flags of the network policy, and its metrics.

use std::net::SocketAddr;
use std::sync::Arc;

use sluice_runtime::metrics::Metrics;
use sluice_runtime::metrics::names::NETWORK_DECISIONS;
use sluice_source::network::{HostPattern, Network, Observe, Policy, Purpose, Rule, SystemLookup};

/// The flags.
#[derive(Debug, clap::Args)]
pub(super) struct Outward {
    /// Private hosts that remote bases and submodules may use: a name, *.domain, an address or a network, with an
    /// optional :port.
    #[arg(long, value_delimiter = ',', value_name = "HOSTS")]
    allow_content_hosts: Vec<HostPattern>,
    /// The only hosts that objects may use for sources, registries, buckets, proxies and clusters; by default any but
    /// metadata services.
    #[arg(long, value_delimiter = ',', value_name = "HOSTS")]
    allow_hosts: Vec<HostPattern>,
    /// Denies hosts with private or loopback addresses in objects, unless --allow-hosts lists them.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = clap::ArgAction::Set)]
    deny_private_addresses: bool,
    /// Hosts that artifacts of sources are fetched from, besides our own storage, the Services of the controllers'
    /// namespace and --external-artifact-hosts.
    #[arg(long, value_delimiter = ',', value_name = "HOSTS")]
    artifact_hosts: Vec<HostPattern>,
}

/// The inputs of the policy besides the flags.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    /// The advertised address of artifacts.
    pub(super) advertised: &'a str,
    /// The address of the artifact server.
    pub(super) bound: SocketAddr,
    /// The address of the API server.
    pub(super) cluster: &'a str,
    /// The namespace of the controllers.
    pub(super) namespace: &'a str,
    /// The notification receiver, which has the cluster's domain in its address.
    pub(super) events: Option<&'a str>,
    /// `--external-artifact-hosts`
    pub(super) external: &'a [String],
    /// Whether this process runs in a pod.
    pub(super) in_cluster: bool,
}

impl Outward {
    /// The network with the policy of the flags. Repositories may refer to neither the artifact server nor the API server.
    pub(super) fn network(&self, around: &Around<'_>, metrics: Arc<Metrics>) -> Network {
        let mut artifact_server = hosts([around.advertised], Some(80));
        if !around.bound.ip().is_unspecified() {
            artifact_server.extend(hosts([around.bound.to_string().as_str()], None));
        }
        let mut api_server = hosts([around.cluster], Some(443));
        api_server.extend(hosts(super::environment("KUBERNETES_SERVICE_HOST").as_deref(), None));
        let policy = Policy {
            content_hosts: self.allow_content_hosts.clone(),
            spec_hosts: self.allow_hosts.clone(),
            deny_private: self.deny_private_addresses,
            artifact_hosts: Some(self.artifact_hosts(around, &artifact_server)),
            artifact_server,
            api_server,
        };
        Network::of(policy, Arc::new(SystemLookup), Arc::new(Counted(metrics)))
    }

    /// The hosts of artifacts: our own storage, Services of the controllers' namespace as Flux advertises them, hosts that the
    /// operator lists, and other processes of a developer.
    fn artifact_hosts(&self, around: &Around<'_>, own: &[HostPattern]) -> Vec<HostPattern> {
        let services = format!("{}.svc", around.namespace);
        let mut near = vec![format!("*.{services}"), format!("*.{services}.cluster.local")];
        // A domain other than cluster.local is in the addresses that the operator gives.
        for address in std::iter::once(around.advertised).chain(around.events) {
            let (host, _) = split(address);
            if let Some((_, rest)) = host.split_once('.').filter(|(_, rest)| {
                rest.strip_prefix(services.as_str()).is_some_and(|rest| rest.starts_with('.'))
            }) {
                near.push(format!("*.{rest}"));
            }
        }
        let here = ["127.0.0.0/8", "[::1]", "localhost"];
        let mut all = self.artifact_hosts.clone();
        all.extend(own.iter().cloned());
        all.extend(hosts(near.iter().map(String::as_str), None));
        all.extend(hosts(around.external.iter().map(String::as_str), None));
        all.extend(hosts(here.into_iter().filter(|_| !around.in_cluster), None));
        all
    }
}

/// The host of an address or URL, and whether it has no port.
fn split(address: &str) -> (&str, bool) {
    let (scheme, rest) = address.split_once("://").unwrap_or(("http", address));
    let is_block = scheme == "http" && rest.parse::<HostPattern>().is_ok();
    let host = if is_block { rest } else { rest.split('/').next().unwrap_or_default() };
    let after = host.rsplit_once(']').map_or(host, |(_, after)| after);
    (host, !after.contains(':'))
}

/// The hosts of addresses. Without a port, the default one of the scheme is meant.
fn hosts<'a>(
    addresses: impl IntoIterator<Item = &'a str>,
    usual_port: Option<u16>,
) -> Vec<HostPattern> {
    let read = |address: &str| {
        let (host, has_no_port) = split(address);
        let text = match usual_port.filter(|_| has_no_port) {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let read = text.parse();
        read.inspect_err(|error| tracing::warn!(%error, "not known to the network policy")).ok()
    };
    addresses.into_iter().filter_map(read).collect()
}

/// Counts the decisions of the policy.
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
    use clap::Parser as _;

    use super::{Around, Outward, hosts};

    #[derive(Debug, clap::Parser)]
    struct Command {
        #[command(flatten)]
        outward: Outward,
    }

    #[test]
    fn hosts_are_read_out_of_addresses() {
        for (address, usual_port, expected) in [
            ("https://10.0.0.1:6443/", Some(443), "10.0.0.1/32:6443"),
            ("https://api.test/", Some(443), "api.test:443"),
            ("http://[::1]:9090/x", Some(80), "::1/128:9090"),
            (
                "source.flux-system.svc.cluster.local.",
                Some(80),
                "source.flux-system.svc.cluster.local:80",
            ),
            ("127.0.0.1:8080", Some(80), "127.0.0.1/32:8080"),
            ("127.0.0.0/8", None, "127.0.0.0/8"),
        ] {
            let read = hosts([address], usual_port);
            assert_eq!(read.first().map(ToString::to_string).as_deref(), Some(expected));
        }
        assert!(hosts(["no host"], None).is_empty());
    }

    #[test]
    fn artifacts_come_from_servers_of_the_installation() {
        let flags = ["serve", "--artifact-hosts=mirror.test"];
        let outward = Command::parse_from(flags).outward;
        let around = Around {
            advertised: "source-controller.flux-system.svc.corp.test.",
            bound: "0.0.0.0:9090".parse().unwrap(),
            cluster: "https://10.0.0.1/",
            namespace: "flux-system",
            events: Some("http://notification-controller.flux-system.svc.other.test./"),
            external: &["made.test:81".to_owned()],
            in_cluster: true,
        };
        for (host, port, in_cluster, expected) in [
            ("source-controller.flux-system.svc.cluster.local", 80, true, true),
            ("source-watcher.flux-system.svc.corp.test", 80, true, true),
            ("source-controller.flux-system.svc.other.test", 80, true, true),
            ("mirror.test", 443, true, true),
            ("made.test", 81, true, true),
            ("made.test", 82, true, false),
            ("source-controller.tenant.svc.cluster.local", 80, true, false),
            ("source-controller.flux-system.svc.evil.test", 80, true, false),
            ("127.0.0.1", 80, true, false),
            ("127.0.0.1", 80, false, true),
        ] {
            let around = Around { in_cluster, ..around };
            let all = outward.artifact_hosts(&around, &[]);
            assert_eq!(all.iter().any(|it| it.matches(host, port)), expected, "{host}:{port}");
        }
    }
}
