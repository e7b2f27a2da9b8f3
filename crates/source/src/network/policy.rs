//! The egress policy: a pure function over purposes, hosts and addresses.

use std::fmt;
use std::net::IpAddr;

use super::address::AddressClass;
use super::hosts::HostPattern;

/// The purpose of a connection: where the name of its host comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// The spec of an object, or a Secret that it names: source, registry, bucket, proxy, cluster, vault.
    #[default]
    Spec,
    /// The content of a repository: remote bases, submodules on other hosts.
    Content,
    /// The artifact of a source.
    Artifact,
    /// A request to a cloud's service. A tenant may have influenced its host.
    Cloud,
    /// A request to the metadata service of this machine. No tenant influences its host.
    Metadata,
    /// A flag of the operator, or the user of a command.
    Operator,
}

impl Purpose {
    /// The purpose in logs and metrics.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Spec => "spec",
            Self::Content => "content",
            Self::Artifact => "artifact",
            Self::Cloud => "cloud",
            Self::Metadata => "metadata",
            Self::Operator => "operator",
        }
    }
}

/// The rule that denies a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Link-local addresses and metadata services are for the controllers' own cloud identity only.
    Metadata,
    /// Content may name public addresses only, unless the operator lists the host.
    ContentPrivate,
    /// The operator lists the host for content, but with another port.
    ContentPort,
    /// Content must not name the artifact server or the API server.
    ContentProtected,
    /// The operator lists the hosts for specs, and this is not one of them.
    SpecNotListed,
    /// The operator denies private addresses in specs.
    SpecPrivate,
    /// The artifact server is not a source.
    SpecProtected,
    /// Artifacts are fetched from the installation's servers only.
    ArtifactNotListed,
    /// Multicast addresses have no servers.
    Multicast,
    /// A redirect from HTTPS to plain HTTP.
    Downgrade,
    /// An unexpected scheme.
    Scheme,
}

impl Rule {
    /// The rule in logs and metrics.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Metadata => "metadata-address",
            Self::ContentPrivate => "content-private",
            Self::ContentPort => "content-port",
            Self::ContentProtected => "content-protected",
            Self::SpecNotListed => "spec-not-listed",
            Self::SpecPrivate => "spec-private",
            Self::SpecProtected => "spec-protected",
            Self::ArtifactNotListed => "artifact-not-listed",
            Self::Multicast => "multicast",
            Self::Downgrade => "https-downgrade",
            Self::Scheme => "scheme",
        }
    }
}

/// A denied connection: the host, the address if it was resolved, and the rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The purpose.
    pub purpose: Purpose,
    /// The host, as it was given.
    pub host: String,
    /// The address of the host.
    pub address: Option<IpAddr>,
    /// The rule.
    pub rule: Rule,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = &self.host;
        write!(formatter, "network policy: host '{host}'")?;
        let class = match self.address {
            Some(address) => {
                if address.to_string() != host.trim_matches(['[', ']']) {
                    write!(formatter, " ({address})")?;
                }
                AddressClass::of(address).description()
            }
            None => "an internal name",
        };
        match self.rule {
            Rule::Metadata => write!(
                formatter,
                " has {class}, which only the controllers' own cloud identity may reach"
            ),
            Rule::ContentPrivate => write!(
                formatter,
                " has {class}, which the content of a repository may not name; --allow-content-hosts={host} allows it"
            ),
            Rule::ContentPort => write!(
                formatter,
                " is allowed to the content of a repository at another port only (--allow-content-hosts)"
            ),
            Rule::ContentProtected => write!(
                formatter,
                " is the artifact server or the API server, which the content of a repository may not name; --allow-content-hosts={host} allows it"
            ),
            Rule::SpecNotListed => {
                write!(formatter, " is not among the hosts that --allow-hosts lists")
            }
            Rule::SpecPrivate => write!(
                formatter,
                " has {class}, which --deny-private-addresses forbids; --allow-hosts={host} allows it"
            ),
            Rule::SpecProtected => {
                write!(formatter, " is the artifact server, which is not a source")
            }
            Rule::ArtifactNotListed => write!(
                formatter,
                " is no artifact server of this installation; --artifact-hosts={host} makes it one"
            ),
            Rule::Multicast => write!(formatter, " has {class}"),
            Rule::Downgrade => {
                write!(
                    formatter,
                    " is redirected to from HTTPS to plain HTTP, which is not followed"
                )
            }
            Rule::Scheme => write!(formatter, " is not reached by HTTP or HTTPS"),
        }
    }
}

impl std::error::Error for Refusal {}

impl Refusal {
    /// The refusal in the source chain of an error, if there is one.
    pub fn below<'e>(error: &'e (dyn std::error::Error + 'static)) -> Option<&'e Self> {
        std::iter::successors(Some(error), |error| error.source()).find_map(|it| it.downcast_ref())
    }
}

/// The operator's network policy.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// `--allow-content-hosts`: hosts that content may name although they are private or protected.
    pub content_hosts: Vec<HostPattern>,
    /// `--allow-hosts`: if not empty, the only hosts that specs may name.
    pub spec_hosts: Vec<HostPattern>,
    /// `--deny-private-addresses`: specs may not name private hosts that `spec_hosts` does not list.
    pub deny_private: bool,
    /// The only hosts that artifacts are fetched from; any if absent.
    pub artifact_hosts: Option<Vec<HostPattern>>,
    /// The addresses of the artifact server.
    pub artifact_server: Vec<HostPattern>,
    /// The addresses of the API server.
    pub api_server: Vec<HostPattern>,
}

/// Names of metadata services. Behind a proxy only names can be checked.
const METADATA_NAMES: [&str; 5] = [
    "metadata.google.internal",
    "metadata.goog",
    "metadata",
    "instance-data",
    "instance-data.ec2.internal",
];

impl Policy {
    /// Checks a host before its name is resolved. `host` is a name or an address, without brackets.
    pub fn host(&self, purpose: Purpose, host: &str, port: u16) -> Result<(), Refusal> {
        if matches!(purpose, Purpose::Operator | Purpose::Metadata) {
            return Ok(());
        }
        let refused = |rule| Err(Refusal { purpose, host: host.to_owned(), address: None, rule });
        let matches = |patterns: &[HostPattern]| patterns.iter().any(|it| it.matches(host, port));
        let literal: Option<IpAddr> = host.parse().ok();
        let name = host.trim_end_matches('.').to_ascii_lowercase();
        if METADATA_NAMES.contains(&name.as_str()) {
            return refused(Rule::Metadata);
        }
        match purpose {
            Purpose::Content => {
                if matches(&self.content_hosts) {
                    return Ok(());
                }
                if self.content_hosts.iter().any(|it| it.matches_host(host)) {
                    return refused(Rule::ContentPort);
                }
                if matches(&self.artifact_server) || matches(&self.api_server) {
                    return refused(Rule::ContentProtected);
                }
                let is_internal = |name: &str| {
                    name == "localhost"
                        || [".localhost", ".svc", ".svc.cluster.local"]
                            .iter()
                            .any(|end| name.ends_with(end))
                };
                if literal.is_none() && is_internal(&name) {
                    return refused(Rule::ContentPrivate);
                }
            }
            Purpose::Spec => {
                if matches(&self.artifact_server) {
                    return refused(Rule::SpecProtected);
                }
                if !self.spec_hosts.is_empty() && !matches(&self.spec_hosts) {
                    return refused(Rule::SpecNotListed);
                }
            }
            Purpose::Artifact
                if self.artifact_hosts.as_ref().is_some_and(|hosts| !matches(hosts)) =>
            {
                return refused(Rule::ArtifactNotListed);
            }
            _ => {}
        }
        literal.map_or(Ok(()), |address| self.address(purpose, host, address))
    }

    /// Checks a resolved address of a host.
    pub fn address(&self, purpose: Purpose, host: &str, address: IpAddr) -> Result<(), Refusal> {
        let class = AddressClass::of(address);
        let refused =
            |rule| Err(Refusal { purpose, host: host.to_owned(), address: Some(address), rule });
        let by_address = |it: &HostPattern| it.holds(address);
        match purpose {
            Purpose::Operator | Purpose::Metadata => return Ok(()),
            // The operator has listed this very address.
            Purpose::Content if self.content_hosts.iter().any(by_address) => return Ok(()),
            _ => {}
        }
        match (purpose, class) {
            (_, AddressClass::Metadata) => refused(Rule::Metadata),
            (_, AddressClass::Multicast) => refused(Rule::Multicast),
            (Purpose::Content, _) => {
                if self.content_hosts.iter().any(|it| it.matches_host(host)) {
                    return Ok(());
                }
                if class != AddressClass::Public {
                    return refused(Rule::ContentPrivate);
                }
                let mut protected = self.artifact_server.iter().chain(&self.api_server);
                if protected.any(by_address) {
                    return refused(Rule::ContentProtected);
                }
                Ok(())
            }
            (Purpose::Spec, AddressClass::Public) => Ok(()),
            (Purpose::Spec, _) if self.deny_private => {
                let is_listed = |it: &HostPattern| it.matches_host(host) || it.holds(address);
                if self.spec_hosts.iter().any(is_listed) {
                    return Ok(());
                }
                refused(Rule::SpecPrivate)
            }
            _ => Ok(()),
        }
    }

    /// The names with addresses that content may not reach.
    pub(super) fn protected_names(&self) -> impl Iterator<Item = &str> {
        self.artifact_server.iter().chain(&self.api_server).filter_map(HostPattern::name)
    }
}

#[cfg(test)]
#[path = "policy/tests.rs"]
mod tests;
