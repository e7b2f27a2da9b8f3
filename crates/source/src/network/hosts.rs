//! Host patterns of operators: names, wildcards below a domain, addresses and networks, with an optional port.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A host pattern: `git.corp`, `*.corp`, `10.0.0.0/8`, `[::1]:8080`, `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    host: Host,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    /// Every name. Does not match addresses that must be listed as addresses.
    Any,
    Name(String),
    /// The names below a domain.
    Below(String),
    Block(IpAddr, u8),
}

/// An invalid pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no host; write a name, *.domain, an address or a block of addresses, with :port if need be"
)]
pub struct HostPatternError(String);

impl FromStr for HostPattern {
    type Err = HostPatternError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || HostPatternError(text.to_owned());
        let (host, port) = split(text).ok_or_else(wrong)?;
        let host = match host.split_once('/') {
            Some((address, bits)) => {
                let address: IpAddr = address.parse().map_err(|_| wrong())?;
                let bits: u8 = bits.parse().map_err(|_| wrong())?;
                let most = if address.is_ipv4() { 32 } else { 128 };
                if bits > most {
                    return Err(wrong());
                }
                Host::Block(address, bits)
            }
            None => match host.parse::<IpAddr>() {
                Ok(address) => Host::Block(address, if address.is_ipv4() { 32 } else { 128 }),
                Err(_) => named(host).ok_or_else(wrong)?,
            },
        };
        Ok(Self { host, port })
    }
}

/// Host and port; an IPv6 address with a port is in brackets.
fn split(text: &str) -> Option<(&str, Option<u16>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, port) = rest.split_once(']')?;
        return match port.strip_prefix(':') {
            Some(port) => Some((host, Some(port.parse().ok()?))),
            None => port.is_empty().then_some((host, None)),
        };
    }
    match text.rsplit_once(':') {
        // More than one colon is an address without a port.
        Some((host, _)) if host.contains(':') => Some((text, None)),
        Some((host, port)) => Some((host, Some(port.parse().ok()?))),
        None => Some((text, None)),
    }
}

fn named(host: &str) -> Option<Host> {
    if host == "*" {
        return Some(Host::Any);
    }
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let is_name = |name: &str| {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        !name.is_empty() && name.bytes().all(is_letter)
    };
    if let Some(domain) = host.strip_prefix("*.") {
        return is_name(domain).then(|| Host::Below(domain.to_owned()));
    }
    is_name(&host).then_some(Host::Name(host))
}

impl HostPattern {
    /// Whether it matches a host and a port. `host` is a name or an address, without brackets.
    pub fn matches(&self, host: &str, port: u16) -> bool {
        self.port.is_none_or(|own| own == port) && self.matches_host(host)
    }

    /// Whether it matches a host at any port.
    pub(super) fn matches_host(&self, host: &str) -> bool {
        if let Ok(address) = host.parse() {
            return self.host == Host::Any || self.holds(address);
        }
        let name = host.trim_end_matches('.').to_ascii_lowercase();
        match &self.host {
            Host::Any => true,
            Host::Name(own) => *own == name,
            Host::Below(domain) => {
                name.strip_suffix(domain.as_str()).is_some_and(|rest| rest.ends_with('.'))
            }
            Host::Block(..) => false,
        }
    }

    /// Whether it lists an address as an address.
    pub(super) fn holds(&self, address: IpAddr) -> bool {
        let Host::Block(block, bits) = &self.host else { return false };
        match (*block, address.to_canonical()) {
            (IpAddr::V4(block), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(*bits)).unwrap_or(0);
                Ipv4Addr::to_bits(block) & mask == Ipv4Addr::to_bits(address) & mask
            }
            (IpAddr::V6(block), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(*bits)).unwrap_or(0);
                Ipv6Addr::to_bits(block) & mask == Ipv6Addr::to_bits(address) & mask
            }
            _ => false,
        }
    }

    /// The name, if it is one.
    pub(super) fn name(&self) -> Option<&str> {
        match &self.host {
            Host::Name(name) => Some(name),
            _ => None,
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Any => formatter.write_str("*")?,
            Host::Name(name) => formatter.write_str(name)?,
            Host::Below(domain) => write!(formatter, "*.{domain}")?,
            Host::Block(address, bits) => write!(formatter, "{address}/{bits}")?,
        }
        self.port.map_or(Ok(()), |port| write!(formatter, ":{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::HostPattern;

    #[test]
    fn lists_mean_what_they_say() {
        for (pattern, host, port, expected) in [
            ("git.corp", "git.corp", 443, true),
            ("git.corp", "GIT.corp.", 443, true),
            ("git.corp", "evil-git.corp", 443, false),
            ("git.corp:22", "git.corp", 443, false),
            ("git.corp:22", "git.corp", 22, true),
            ("*.corp", "git.corp", 1, true),
            ("*.corp", "a.git.corp", 1, true),
            ("*.corp", "corp", 1, false),
            ("*.corp", "gitcorp", 1, false),
            ("*", "any.test", 1, true),
            ("10.0.0.0/8", "10.1.2.3", 1, true),
            ("10.0.0.0/8", "11.1.2.3", 1, false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", 1, true),
            ("0.0.0.0/0", "8.8.8.8", 1, true),
            ("127.0.0.1:80", "127.0.0.1", 80, true),
            ("127.0.0.1:80", "127.0.0.1", 81, false),
            ("[::1]:80", "::1", 80, true),
            ("fd00::/8", "fd12::1", 80, true),
            ("::1", "::1", 80, true),
        ] {
            let read: HostPattern = pattern.parse().expect(pattern);
            assert_eq!(read.matches(host, port), expected, "{pattern} {host}:{port}");
        }
        for wrong in ["", "a b", "http://a", "a/b", "10.0.0.0/33", "a:x", "[::1", "*.", "a*b"] {
            assert!(wrong.parse::<HostPattern>().is_err(), "{wrong}");
        }
    }
}
