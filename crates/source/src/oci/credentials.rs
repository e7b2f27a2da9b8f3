//! Registry credentials: docker configurations, in Secrets and in files.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD};
use serde::Deserialize;
use sluice_base::redacted::Redacted;

use super::name::Repository;

/// Credentials of a registry. Empty means anonymous.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// Name.
    pub username: String,
    /// Password.
    pub password: Redacted<String>,
    /// An identity token, which is exchanged for access tokens.
    pub identity_token: Redacted<String>,
    /// An access token for the registry itself.
    pub registry_token: Redacted<String>,
}

/// Why a docker configuration is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    /// Invalid JSON. The message does not contain the content.
    #[error("{0}")]
    Json(String),
    /// An invalid `auth` field.
    #[error("unable to decode auth field: {0}")]
    Auth(String),
    /// An invalid registry.
    #[error("Entry {0:?} in dockercfg invalid")]
    Entry(String),
    /// An empty value.
    #[error("credentials cannot be empty")]
    Empty,
}

impl Credentials {
    /// Whether they are anonymous.
    pub fn is_anonymous(&self) -> bool {
        *self == Self::default()
    }

    /// Parses `<username>:<password>`, or a token, as command lines accept them.
    pub fn of_argument(text: &str) -> Result<Self, CredentialsError> {
        match text.split_once(':') {
            None if text.is_empty() => Err(CredentialsError::Empty),
            None => Ok(Self { registry_token: text.into(), ..Self::default() }),
            Some((username, password)) => Ok(Self {
                username: username.to_owned(),
                password: password.into(),
                ..Self::default()
            }),
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Credentials").finish_non_exhaustive()
    }
}

/// An entry of a docker configuration.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Entry {
    username: String,
    password: String,
    auth: String,
    identitytoken: String,
    registrytoken: String,
}

#[derive(Deserialize)]
struct Configuration {
    #[serde(default)]
    auths: Option<BTreeMap<String, Entry>>,
}

impl Entry {
    fn credentials(self) -> Result<Credentials, CredentialsError> {
        let (mut username, mut password) = (self.username, self.password);
        if !self.auth.is_empty() {
            let bad = |message: &str| CredentialsError::Auth(message.to_owned());
            let field = self.auth.trim();
            let engine =
                if field.ends_with('=') { BASE64_STANDARD } else { BASE64_STANDARD_NO_PAD };
            let decoded = engine.decode(field).map_err(|_| {
                let is_odd = |byte: u8| !byte.is_ascii_alphanumeric() && !b"+/=".contains(&byte);
                let at = field.bytes().position(is_odd).unwrap_or(field.len());
                CredentialsError::Auth(format!("illegal base64 data at input byte {at}"))
            })?;
            let decoded = String::from_utf8_lossy(&decoded).into_owned();
            let (name, secret) = decoded
                .split_once(':')
                .ok_or_else(|| bad("must be formatted as base64(username:password)"))?;
            (username, password) = (name.to_owned(), secret.to_owned());
        }
        Ok(Credentials {
            username,
            password: password.into(),
            identity_token: self.identitytoken.into(),
            registry_token: self.registrytoken.into(),
        })
    }
}

/// The credentials of pull secrets, by image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keyring {
    /// By registry and path, the more specific ones first.
    entries: Vec<(String, Credentials)>,
}

impl Keyring {
    /// Adds a Secret of type `kubernetes.io/dockerconfigjson`.
    pub fn add_config(&mut self, json: &[u8]) -> Result<(), CredentialsError> {
        let read: Configuration =
            serde_json::from_slice(json).map_err(|error| unreadable(&error))?;
        self.add(read.auths.unwrap_or_default())
    }

    /// Adds a Secret of type `kubernetes.io/dockercfg`.
    pub fn add_legacy(&mut self, json: &[u8]) -> Result<(), CredentialsError> {
        self.add(serde_json::from_slice(json).map_err(|error| unreadable(&error))?)
    }

    fn add(&mut self, entries: BTreeMap<String, Entry>) -> Result<(), CredentialsError> {
        for (registry, entry) in entries {
            let key = key_of(&registry)?;
            self.entries.push((key, entry.credentials()?));
        }
        // Stable: of two for the same images, the first one counts.
        self.entries.sort_by(|one, other| other.0.cmp(&one.0));
        Ok(())
    }

    /// The credentials of a repository.
    pub fn resolve(&self, repository: &Repository) -> Credentials {
        let image = repository.to_string();
        let found = self.entries.iter().find(|(key, _)| is_good_for(key, &image));
        found.map(|(_, credentials)| credentials.clone()).unwrap_or_default()
    }
}

/// Host and path of an entry; `/v1/` and `/v2/` mean the host alone.
fn key_of(registry: &str) -> Result<String, CredentialsError> {
    let rest = registry.strip_prefix("https://").or_else(|| registry.strip_prefix("http://"));
    let rest = rest.unwrap_or(registry);
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    if host.is_empty() || host.contains([' ', '\t', '\\']) {
        return Err(CredentialsError::Entry(registry.to_owned()));
    }
    let path = match path.get(..4) {
        Some("/v1/" | "/v2/") => path.get(3..).unwrap_or_default(),
        _ => path,
    };
    Ok(if path == "/" { host.to_owned() } else { format!("{host}{path}") })
}

/// Whether an entry matches an image: the same port, each label of the host equal or matched by a pattern, and
/// a path that is a prefix of the image's.
fn is_good_for(key: &str, image: &str) -> bool {
    let split = |text: &str| {
        let (host, path) = text.split_at(text.find('/').unwrap_or(text.len()));
        let (host, port) = match host.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() => (host.to_owned(), port.to_owned()),
            _ => (host.to_owned(), String::new()),
        };
        (host, port, path.to_owned())
    };
    let ((host, port, path), (image_host, image_port, image_path)) = (split(key), split(image));
    let (parts, image_parts): (Vec<&str>, Vec<&str>) =
        (host.split('.').collect(), image_host.split('.').collect());
    port == image_port
        && parts.len() == image_parts.len()
        && image_path.starts_with(&path)
        && parts.iter().zip(&image_parts).all(|(pattern, part)| is_match(pattern, part))
}

/// Matches `*` and `?`.
fn is_match(pattern: &str, text: &str) -> bool {
    let mut pattern_rest = pattern.chars();
    match pattern_rest.next() {
        None => text.is_empty(),
        Some('*') => {
            let rest = pattern_rest.as_str();
            text.char_indices()
                .map(|(at, _)| at)
                .chain([text.len()])
                .any(|at| text.get(at..).is_some_and(|text| is_match(rest, text)))
        }
        Some(sign) => {
            let mut text_rest = text.chars();
            text_rest.next().is_some_and(|first| sign == '?' || sign == first)
                && is_match(pattern_rest.as_str(), text_rest.as_str())
        }
    }
}

/// Docker's own configuration file. Credential helpers are programs, and no program is run.
#[derive(Debug, Clone, Default)]
pub struct DockerConfig {
    entries: BTreeMap<String, Credentials>,
}

impl DockerConfig {
    /// Parses a file.
    pub fn parse(json: &[u8]) -> Result<Self, CredentialsError> {
        let read: Configuration =
            serde_json::from_slice(json).map_err(|error| unreadable(&error))?;
        let entries = read.auths.unwrap_or_default().into_iter();
        let entries = entries.map(|(name, entry)| Ok((name, entry.credentials()?)));
        Ok(Self { entries: entries.collect::<Result<_, _>>()? })
    }

    /// The credentials of a repository: of an entry with its name, its registry, or a URL on its registry.
    pub fn resolve(&self, repository: &Repository) -> Credentials {
        for key in [repository.to_string(), repository.registry().to_owned()] {
            let key = match key.as_str() {
                "index.docker.io" => "https://index.docker.io/v1/".to_owned(),
                _ => key,
            };
            let by_host = || {
                let is_host = |name: &str| key_of(name).is_ok_and(|host| host == key);
                self.entries.iter().find(|(name, _)| is_host(name)).map(|(_, it)| it)
            };
            let found = self.entries.get(&key).or_else(by_host);
            if let Some(found) = found.filter(|found| !found.is_anonymous()) {
                return found.clone();
            }
        }
        Credentials::default()
    }
}

fn unreadable(error: &serde_json::Error) -> CredentialsError {
    CredentialsError::Json(format!("not a docker configuration: line {}", error.line()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(keyring: &Keyring, image: &str) -> String {
        keyring.resolve(&Repository::parse(image).expect("a name")).username
    }

    #[test]
    fn the_most_special_entry_that_fits_is_taken() {
        let mut keyring = Keyring::default();
        let config = r#"{"auths": {
            "https://index.docker.io/v1/": {"auth": "aHViOnA="},
            "ghcr.io": {"username": "whole", "password": "p"},
            "ghcr.io/org": {"username": "org", "password": "p"},
            "*.azurecr.io": {"username": "azure", "password": "p"},
            "http://localhost:5000": {"username": "local", "password": "p"}
        }}"#;
        keyring.add_config(config.as_bytes()).expect("a configuration");
        keyring
            .add_config(br#"{"auths": {"ghcr.io": {"username": "later", "password": "p"}}}"#)
            .expect("a configuration");
        for (image, expected) in [
            ("ghcr.io/org/app", "org"),
            ("ghcr.io/other/app", "whole"),
            ("docker.io/org/app", "hub"),
            ("one.azurecr.io/app", "azure"),
            ("one.two.azurecr.io/app", ""),
            ("localhost:5000/app", "local"),
            ("localhost:5001/app", ""),
            ("quay.io/org/app", ""),
        ] {
            assert_eq!(user(&keyring, image), expected, "{image}");
        }
    }

    #[test]
    fn old_configurations_have_no_auths_around_them() {
        let mut keyring = Keyring::default();
        keyring
            .add_legacy(br#"{"quay.io": {"auth": "bmFtZTpzZWNyZXQ"}}"#)
            .expect("a configuration");
        assert_eq!(user(&keyring, "quay.io/org/app"), "name");
    }

    #[test]
    fn errors_do_not_show_the_content() {
        let mut keyring = Keyring::default();
        for (config, message) in [
            (
                r#"{"auths": {"a.b": {"auth": "c2VjcmV0"}}}"#,
                "unable to decode auth field: must be formatted as base64(username:password)",
            ),
            (
                r#"{"auths": {"a.b": {"auth": "!secret"}}}"#,
                "unable to decode auth field: illegal base64 data at input byte 0",
            ),
            ("secret", "not a docker configuration: line 1"),
        ] {
            let error = keyring.add_config(config.as_bytes()).expect_err("broken");
            assert_eq!(error.to_string(), message);
        }
    }

    #[test]
    fn docker_looks_for_the_repository_and_then_for_its_registry() {
        let config = DockerConfig::parse(
            br#"{"auths": {"https://index.docker.io/v1/": {"auth": "aHViOnA="},
                "ghcr.io/org/app": {"auth": "YXBwOnA="}, "https://ghcr.io": {"auth": "YWxsOnA="}}}"#,
        )
        .expect("a configuration");
        for (image, expected) in [
            ("ghcr.io/org/app", "app"),
            ("ghcr.io/x/y", "all"),
            ("nginx", "hub"),
            ("quay.io/x/y", ""),
        ] {
            let repository = Repository::parse(image).expect("a name");
            assert_eq!(config.resolve(&repository).username, expected, "{image}");
        }
    }
}
