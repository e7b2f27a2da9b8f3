//! Token realms: the token servers that a registry may name.
//!
//! A registry names its token server in `WWW-Authenticate`, and the credentials are sent there. Allowed are the
//! registry's own host, known pairs of registry and token server, and pairs that the operator lists.

use std::net::IpAddr;

use reqwest::Url;

/// Registries with a token server on another host. A `*` matches one label.
const KNOWN: [(&str, &str); 13] = [
    ("docker.io", "auth.docker.io"),
    ("index.docker.io", "auth.docker.io"),
    ("registry-1.docker.io", "auth.docker.io"),
    ("registry.hub.docker.com", "auth.docker.io"),
    ("registry.gitlab.com", "gitlab.com"),
    ("registry.digitalocean.com", "api.digitalocean.com"),
    ("registry.connect.redhat.com", "sso.redhat.com"),
    ("docker.elastic.co", "docker-auth.elastic.co"),
    ("rg.*.scw.cloud", "api.scaleway.com"),
    ("registry.*.aliyuncs.com", "dockerauth.*.aliyuncs.com"),
    ("registry-vpc.*.aliyuncs.com", "dockerauth.*.aliyuncs.com"),
    ("registry-intl.*.aliyuncs.com", "dockerauth.*.aliyuncs.com"),
    ("*.*.cr.aliyuncs.com", "dockerauth.*.aliyuncs.com"),
];

/// The pairs of registries and token servers that an operator allows beside the known ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenRealms {
    allowed: Vec<(String, String)>,
}

/// An invalid pair.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no pair of a registry and a token realm, such as registry.example.com=auth.example.com"
)]
pub struct TokenRealmError(String);

impl TokenRealms {
    /// Parses pairs such as `registry.example.com=auth.example.com`. A `*` matches one label, or alone every host;
    /// a port is needed if it is not the default one.
    pub fn parse(pairs: &[String]) -> Result<Self, TokenRealmError> {
        let read = |pair: &String| {
            let bad = || TokenRealmError(pair.clone());
            let (registry, realm) = pair.split_once('=').ok_or_else(bad)?;
            let (registry, realm) = (registry.trim(), realm.trim());
            let is_host = |host: &str| {
                !host.is_empty()
                    && !host.contains(|sign: char| "/=@?#,".contains(sign) || sign.is_whitespace())
            };
            if !is_host(registry) || !is_host(realm) {
                return Err(bad());
            }
            Ok((registry.to_ascii_lowercase(), realm.to_ascii_lowercase()))
        };
        Ok(Self { allowed: pairs.iter().map(read).collect::<Result<_, _>>()? })
    }

    /// Fails if a registry's credentials may not be sent to a token server.
    pub(super) fn check(&self, registry: &str, realm: &Url) -> Result<(), String> {
        let registry = registry.to_ascii_lowercase();
        let host = realm.host_str().unwrap_or_default().to_ascii_lowercase();
        let at = realm.port().map_or_else(|| host.clone(), |port| format!("{host}:{port}"));
        if is_same(&registry, &at, realm.scheme()) || is_other_port(&registry, &host, realm) {
            return Ok(());
        }
        let allows = |(left, right): (&str, &str)| fits(left, &registry) && fits(right, &at);
        let listed = self.allowed.iter().map(|(left, right)| (left.as_str(), right.as_str()));
        if is_inside(&host) {
            // A registry must not direct us to internal addresses that it cannot reach itself; only the exact
            // address is accepted, no pattern.
            let is_named = |(_, right): &(&str, &str)| *right == at;
            if listed.filter(is_named).any(allows) {
                return Ok(());
            }
            return Err(format!("realm host {host:?} is a private or link-local address"));
        }
        if listed.chain(KNOWN).any(allows) {
            return Ok(());
        }
        Err(format!(
            "realm host {at:?} is not the registry's own and not known to issue tokens for {registry:?}; allow it with --registry-token-realms={registry}={at}"
        ))
    }
}

/// Whether host and port are the same, with or without the default port.
fn is_same(registry: &str, at: &str, scheme: &str) -> bool {
    let usual = if scheme == "http" { ":80" } else { ":443" };
    let bare = |text: &str| text.strip_suffix(usual).unwrap_or(text).to_owned();
    bare(registry) == bare(at)
}

/// Whether it is another port of the registry's own host, which must be a name that TLS verifies.
fn is_other_port(registry: &str, host: &str, realm: &Url) -> bool {
    let own = registry.rsplit_once(':').map_or(registry, |(own, _)| own);
    realm.scheme() == "https" && own == host && host.contains('.') && !is_address(host)
}

fn address(host: &str) -> Option<IpAddr> {
    host.trim_matches(['[', ']']).parse().ok()
}

fn is_address(host: &str) -> bool {
    address(host).is_some()
}

/// Whether it is an internal address.
fn is_inside(host: &str) -> bool {
    match address(host).map(|ip| ip.to_canonical()) {
        Some(IpAddr::V4(ip)) => {
            ip.is_loopback() || ip.is_link_local() || ip.is_private() || ip.is_unspecified()
        }
        Some(IpAddr::V6(ip)) => {
            ip.is_loopback()
                || ip.is_unicast_link_local()
                || ip.is_unique_local()
                || ip.is_unspecified()
        }
        None => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// Whether a pattern matches a host.
fn fits(pattern: &str, host: &str) -> bool {
    if pattern == "*" {
        return true;
    }
    let (mut wanted, mut given) = (pattern.split('.'), host.split('.'));
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return true,
            (Some(wanted), Some(given)) if wanted == given => {}
            (Some("*"), Some(given)) if !given.is_empty() && !given.contains(':') => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_asked_for_at_home_or_where_they_are_known_to_be() {
        let listed = [
            "registry.example.com=auth.example.com",
            "r.test:5000=10.0.0.7:5001",
            "*.corp.test=sso.corp.test:8443",
        ];
        let realms = TokenRealms::parse(&listed.map(str::to_owned)).expect("pairs");
        for (registry, realm, expected) in [
            ("ghcr.io", "https://ghcr.io/token", true),
            ("GHCR.io", "https://ghcr.io/token", true),
            ("org.jfrog.io", "https://org.jfrog.io:443/v2/token", true),
            ("index.docker.io", "https://auth.docker.io/token", true),
            ("registry.gitlab.com", "https://gitlab.com/jwt/auth", true),
            ("rg.fr-par.scw.cloud", "https://api.scaleway.com/registry-internal/v1/tokens", true),
            (
                "registry.cn-hangzhou.aliyuncs.com",
                "https://dockerauth.cn-hangzhou.aliyuncs.com/auth",
                true,
            ),
            ("registry.example.com", "https://auth.example.com/token", true),
            ("a.corp.test", "https://sso.corp.test:8443/token", true),
            ("r.test:5000", "http://10.0.0.7:5001/token", true),
            ("registry.test:5000", "https://registry.test:5001/auth", true),
            ("127.0.0.1:5000", "http://127.0.0.1:5000/token", true),
            ("evil.test", "https://auth.docker.io/token", false),
            ("ghcr.io", "https://ghcr.io.evil.test/token", false),
            ("ghcr.io", "https://evil.test/ghcr.io", false),
            ("ghcr.io", "https://ghcr.io@evil.test/token", false),
            ("index.docker.io", "https://auth.docker.io:8443/token", false),
            ("index.docker.io", "https://auth.docker.io.evil.test/token", false),
            ("registry.gitlab.com.evil.test", "https://gitlab.com/jwt/auth", false),
            ("rg.a.b.scw.cloud", "https://api.scaleway.com/tokens", false),
            ("registry.example.com", "https://auth.example.com:8443/token", false),
            ("a.b.corp.test", "https://sso.corp.test:8443/token", false),
            ("r.test", "https://10.0.0.7:5001/token", false),
            ("r.test:5000", "https://10.0.0.8:5001/token", false),
            ("127.0.0.1:5000", "http://127.0.0.1:5001/token", false),
            ("r.test", "https://169.254.169.254/latest", false),
            ("r.test", "https://[::ffff:169.254.169.254]/latest", false),
            ("r.test", "https://localhost/token", false),
            ("r.test", "https://[::1]/token", false),
        ] {
            let url = Url::parse(realm).expect("an address");
            let outcome = realms.check(registry, &url);
            assert_eq!(outcome.is_ok(), expected, "{registry} {realm}: {outcome:?}");
        }
        let error = realms.check("r.test", &Url::parse("https://auth.test/t").expect("one"));
        assert_eq!(
            error,
            Err("realm host \"auth.test\" is not the registry's own and not known to issue tokens for \"r.test\"; allow it with --registry-token-realms=r.test=auth.test".to_owned())
        );
    }

    #[test]
    fn every_host_is_allowed_only_by_its_own_word_and_no_pattern_means_an_address() {
        let realms = TokenRealms::parse(&["*=*".to_owned()]).expect("a pair");
        let check = |realm: &str| realms.check("r.test", &Url::parse(realm).expect("an address"));
        assert_eq!(check("https://auth.test/token"), Ok(()));
        assert!(check("https://10.0.0.7/token").is_err());
    }

    #[test]
    fn what_is_no_pair_is_refused() {
        for pair in ["", "a", "a=", "=b", "a=https://b/", "a=b=c", "a b=c", "a=b@c"] {
            let error = TokenRealms::parse(&[pair.to_owned()]).expect_err("no pair").to_string();
            assert!(error.starts_with(&format!("'{pair}' is no pair")), "{error}");
        }
    }
}
