//! Credentials of a repository, read from a Secret as Flux does.

use std::collections::BTreeMap;
use std::fmt;

use reqwest::Url;
use sluice_base::redacted::Redacted;

use crate::http::{Proxy, TlsOptions};
use crate::network::Purpose;

/// Credentials and trust for a repository.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct GitAuth {
    /// The user name for HTTP or SSH.
    pub username: String,
    /// Password for HTTP, or the passphrase of the SSH key.
    pub password: Redacted<String>,
    /// Token for HTTP.
    pub bearer_token: Redacted<String>,
    /// Private SSH key in PEM.
    pub identity: Redacted<Vec<u8>>,
    /// Lines of `known_hosts`.
    pub known_hosts: Vec<u8>,
    /// Trust and client certificate for HTTPS.
    pub tls: TlsOptions,
    /// Proxy for HTTP and HTTPS.
    pub proxy: Option<Proxy>,
    /// The purpose of connections: whether a spec or the content of a repository names the address.
    pub purpose: Purpose,
}

/// Invalid credentials, with Flux's messages.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// A required field is missing for the transport.
    #[error("invalid '{transport}' auth option: {problem}")]
    Invalid {
        /// `http`, `https` or `ssh`.
        transport: String,
        /// The missing field.
        problem: &'static str,
    },
    /// A scheme other than http, https and ssh.
    #[error("unknown transport '{0}'")]
    UnknownTransport(String),
    /// No scheme at all.
    #[error("no transport type set")]
    NoTransport,
    /// Two authentication methods.
    #[error("basic auth and bearer token cannot be set at the same time")]
    Ambiguous,
    /// The key is encrypted, and there is no passphrase.
    #[error("SSH identity key is encrypted but no 'password' field was provided")]
    EncryptedIdentity,
}

impl GitAuth {
    /// Reads credentials for a URL from the data of a Secret, which may be empty.
    pub fn from_secret(url: &Url, data: &BTreeMap<String, Vec<u8>>) -> Result<Self, AuthError> {
        let bytes = |key: &str| data.get(key).cloned().unwrap_or_default();
        let text = |key: &str| String::from_utf8_lossy(&bytes(key)).into_owned();
        let first = |keys: [&str; 2]| {
            keys.into_iter().map(bytes).find(|value| !value.is_empty()).unwrap_or_default()
        };
        let mut auth = Self::default();
        let is_ssh = url.scheme() == "ssh";
        if is_ssh && !data.is_empty() {
            auth.identity = bytes("identity").into();
            auth.known_hosts = bytes("known_hosts");
            auth.password = text("password").into();
            auth.username = percent_decoded(url.username());
            if auth.username.is_empty() {
                "git".clone_into(&mut auth.username);
            }
        } else if !data.is_empty() {
            auth.tls.certificate = bytes("tls.crt");
            auth.tls.key = bytes("tls.key").into();
            auth.tls.authorities = first(["ca.crt", "caFile"]);
            if data.contains_key("bearerToken") {
                auth.bearer_token = text("bearerToken").into();
            } else {
                auth.username = text("username");
                auth.password = text("password").into();
            }
        }
        if !is_ssh && auth.username.is_empty() {
            auth.username = percent_decoded(url.username());
        }
        if !is_ssh && auth.password.expose().is_empty() {
            auth.password = percent_decoded(url.password().unwrap_or_default()).into();
        }
        auth.validate(url)?;
        Ok(auth)
    }

    /// Whether the credentials are complete for the transport of a URL.
    pub fn validate(&self, url: &Url) -> Result<(), AuthError> {
        let invalid =
            |problem| Err(AuthError::Invalid { transport: url.scheme().to_owned(), problem });
        match url.scheme() {
            "http" | "https" if self.username.is_empty() && !self.password.expose().is_empty() => {
                invalid("'password' requires 'username' to be set")
            }
            "http" | "https"
                if !self.bearer_token.expose().is_empty() && !self.username.is_empty() =>
            {
                Err(AuthError::Ambiguous)
            }
            "ssh" if url.host_str().is_none_or(str::is_empty) => invalid("'host' is required"),
            "ssh" if self.identity.expose().is_empty() => invalid("'identity' is required"),
            "ssh" if self.known_hosts.is_empty() => invalid("'known_hosts' is required"),
            "ssh"
                if self.password.expose().is_empty()
                    && super::ssh::is_encrypted(self.identity.expose()) =>
            {
                Err(AuthError::EncryptedIdentity)
            }
            "http" | "https" | "ssh" => Ok(()),
            "" => Err(AuthError::NoTransport),
            other => Err(AuthError::UnknownTransport(other.to_owned())),
        }
    }

    /// The credentials for a submodule on another host. Flux sends everything to every host; here
    /// passwords, tokens and client keys, which that host could read, are left out.
    #[must_use]
    pub fn for_submodule(&self, parent: &Url, child: &Url) -> Self {
        let is_same = (parent.scheme(), parent.host_str(), parent.port_or_known_default())
            == (child.scheme(), child.host_str(), child.port_or_known_default());
        if is_same {
            return self.clone();
        }
        // The host is named by the content of the parent, not by a spec.
        let purpose = match self.purpose {
            Purpose::Spec => Purpose::Content,
            other => other,
        };
        if child.scheme() == "ssh" {
            return Self { purpose, ..self.clone() };
        }
        let tls = TlsOptions { authorities: self.tls.authorities.clone(), ..TlsOptions::default() };
        Self { tls, proxy: self.proxy.clone(), purpose, ..Self::default() }
    }
}

pub(crate) fn percent_decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = (*first == b'%')
            .then(|| after.get(..2))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(code.unwrap_or(*first));
        rest = if code.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Shows which fields are set, never their values.
impl fmt::Debug for GitAuth {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has = |is_empty: bool| if is_empty { "" } else { "***" };
        formatter
            .debug_struct("GitAuth")
            .field("username", &self.username)
            .field("password", &has(self.password.expose().is_empty()))
            .field("bearer_token", &has(self.bearer_token.expose().is_empty()))
            .field("identity", &has(self.identity.expose().is_empty()))
            .field("known_hosts", &self.known_hosts.len())
            .field("tls", &self.tls)
            .field("proxy", &self.proxy)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str, data: &[(&str, &str)]) -> Result<GitAuth, String> {
        let data = data
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()))
            .collect();
        let url = Url::parse(url).expect("an address");
        GitAuth::from_secret(&url, &data).map_err(|error| error.to_string())
    }

    #[test]
    fn keys_of_a_secret_are_read_as_flux_reads_them() {
        let basic =
            read("https://a.test/r", &[("username", "u"), ("password", "p")]).expect("basic");
        assert_eq!((basic.username.as_str(), basic.password.expose().as_str()), ("u", "p"));
        let both = [("bearerToken", "t"), ("username", "u"), ("password", "p")];
        let bearer = read("https://a.test/r", &both).expect("bearer wins");
        assert_eq!((bearer.bearer_token.expose().as_str(), bearer.username.as_str()), ("t", ""));
        let from_url = read("https://me:s%40cret@a.test/r", &[]).expect("from the address");
        assert_eq!(
            (from_url.username.as_str(), from_url.password.expose().as_str()),
            ("me", "s@cret")
        );
        let ca = read("https://a.test/r", &[("caFile", "old"), ("ca.crt", "new")]).expect("trust");
        assert_eq!(ca.tls.authorities, b"new");
        let ssh = read("ssh://a.test/r", &[("identity", "k"), ("known_hosts", "h")]).expect("ssh");
        assert_eq!(ssh.username, "git");
        let ssh =
            read("ssh://me@a.test/r", &[("identity", "k"), ("known_hosts", "h")]).expect("ssh");
        assert_eq!(ssh.username, "me");
    }

    #[test]
    fn what_is_missing_is_said_in_flux_words() {
        type Data<'a> = &'a [(&'a str, &'a str)];
        let cases: [(&str, Data<'_>, &str); 4] = [
            (
                "https://a.test/r",
                &[("password", "p")],
                "invalid 'https' auth option: 'password' requires 'username' to be set",
            ),
            ("ssh://a.test/r", &[], "invalid 'ssh' auth option: 'identity' is required"),
            (
                "ssh://a.test/r",
                &[("identity", "k")],
                "invalid 'ssh' auth option: 'known_hosts' is required",
            ),
            ("ftp://a.test/r", &[], "unknown transport 'ftp'"),
        ];
        for (url, data, message) in cases {
            assert_eq!(read(url, data).expect_err("refused"), message);
        }
    }

    #[test]
    fn secrets_are_not_printed() {
        let auth = read("https://me:hidden@a.test/r", &[]).expect("basic");
        assert!(!format!("{auth:?}").contains("hidden"));
    }

    #[test]
    fn a_submodule_on_another_host_gets_no_password() {
        let url = |text: &str| Url::parse(text).expect("an address");
        let auth = read("https://u:p@a.test/r", &[]).expect("basic");
        let parent = url("https://a.test/r");
        assert_eq!(
            auth.for_submodule(&parent, &url("https://a.test/other")).password.expose(),
            "p"
        );
        assert_eq!(auth.for_submodule(&parent, &url("https://evil.test/r")).password.expose(), "");
        assert_eq!(auth.for_submodule(&parent, &url("http://a.test/r")).password.expose(), "");
    }
}
