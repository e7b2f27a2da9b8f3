//! Names of registries, repositories and artifacts, parsed as in `go-containerregistry`.

use std::fmt;
use std::net::IpAddr;

use reqwest::Url;

use crate::artifact::{Digest, DigestAlgorithm};

const DEFAULT_REGISTRY: &str = "index.docker.io";
const DEFAULT_TAG: &str = "latest";
const REPOSITORY_CHARACTERS: &str = "abcdefghijklmnopqrstuvwxyz0123456789_-./";
const TAG_CHARACTERS: &str = "abcdefghijklmnopqrstuvwxyz0123456789_-.ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// The scheme of OCI URLs.
pub const SCHEME: &str = "oci://";

/// An invalid name, with the library's messages.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NameError(String);

/// A repository of a registry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Repository {
    registry: String,
    path: String,
    insecure: bool,
}

/// An artifact of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    repository: Repository,
    identifier: Identifier,
}

/// A tag or a digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identifier {
    /// A tag, which can move.
    Tag(String),
    /// A digest as it was written; not validated.
    Digest(String),
}

impl Repository {
    /// Parses `<registry>/<path>`. The first segment is a registry only if it contains a dot or a colon.
    pub fn parse(name: &str) -> Result<Self, NameError> {
        if name.is_empty() {
            return Err(NameError("a repository name must be specified".to_owned()));
        }
        let (registry, path) = match name.split_once('/') {
            Some((first, rest)) if first.contains(['.', ':']) => (first, rest),
            _ => ("", name),
        };
        check("repository", path, REPOSITORY_CHARACTERS, 2, 255)?;
        let is_authority = registry.is_empty()
            || (Url::parse(&format!("http://{registry}/")).is_ok()
                && !registry
                    .contains(|sign: char| "@?#\\%;".contains(sign) || sign.is_whitespace()));
        if !is_authority {
            return Err(NameError(format!(
                "registries must be valid RFC 3986 URI authorities: {registry}"
            )));
        }
        let registry =
            if matches!(registry, "" | "docker.io") { DEFAULT_REGISTRY } else { registry };
        Ok(Self { registry: registry.to_owned(), path: path.to_owned(), insecure: false })
    }

    /// Parses the URL of a repository: `oci://<registry>/<path>`, without a tag.
    pub fn of_url(url: &str) -> Result<Self, NameError> {
        let Some(name) = url.strip_prefix(SCHEME) else { return Err(not_an_address()) };
        Self::parse(name)
    }

    /// The same, with plain HTTP allowed.
    #[must_use]
    pub fn insecure(self, insecure: bool) -> Self {
        Self { insecure, ..self }
    }

    /// The host of the registry, with its port.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The path below the registry; single names at Docker Hub get the prefix `library/`.
    pub fn path(&self) -> String {
        if self.registry == DEFAULT_REGISTRY && !self.path.contains('/') {
            format!("library/{}", self.path)
        } else {
            self.path.clone()
        }
    }

    /// The scope of tokens.
    pub fn scope(&self, actions: &str) -> String {
        format!("repository:{}:{actions}", self.path())
    }

    /// Whether plain HTTP may be tried: if requested, or for a registry of this machine or network.
    pub fn allows_http(&self) -> bool {
        let host = self.registry.split(':').next().unwrap_or_default();
        let is_private = matches!(host.parse(), Ok(IpAddr::V4(ip)) if ip.is_private());
        self.insecure
            || is_private
            || self.registry.starts_with("localhost:")
            || host.ends_with(".localhost")
            || self.registry.contains("127.0.0.1")
            || self.registry.contains("::1")
    }

    /// An artifact by its tag.
    pub fn tag(&self, tag: &str) -> Reference {
        let identifier = Identifier::Tag(tag.to_owned());
        Reference { repository: self.clone(), identifier }
    }

    /// An artifact by its digest.
    pub fn digest(&self, digest: &str) -> Reference {
        let identifier = Identifier::Digest(digest.to_owned());
        Reference { repository: self.clone(), identifier }
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.registry, self.path())
    }
}

impl Reference {
    /// Parses `<repository>[:<tag>]`, or `<repository>[:<tag>]@<digest>`.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        Self::parse_tag(text)
            .or_else(|_| Self::parse_digest(text))
            .map_err(|_| NameError(format!("could not parse reference: {text}")))
    }

    /// Parses the URL of an artifact: `oci://` and a reference as in [`Self::parse`]. Also returns the text
    /// after the scheme, for messages.
    pub fn of_url(url: &str) -> Result<(Self, &str), NameError> {
        let Some(text) = url.strip_prefix(SCHEME) else { return Err(not_an_address()) };
        let reference = Self::parse(text)
            .map_err(|error| NameError(format!("'{url}' invalid URL: {error}")))?;
        Ok((reference, text))
    }

    /// Parses `<repository>[:<tag>]`.
    pub fn parse_tag(text: &str) -> Result<Self, NameError> {
        let (base, tag) = match text.rsplit_once(':') {
            Some((base, tag)) if !tag.contains('/') => (base, Some(tag)),
            _ => (text, None),
        };
        match tag {
            Some("") => {
                return Err(NameError(format!("{text} must specify a tag name after the colon")));
            }
            Some(tag) => check("tag", tag, TAG_CHARACTERS, 1, 128)?,
            None => {}
        }
        Ok(Repository::parse(base)?.tag(tag.unwrap_or(DEFAULT_TAG)))
    }

    fn parse_digest(text: &str) -> Result<Self, NameError> {
        let bad = || NameError(format!("unsupported digest: {text}"));
        let (base, digest) = text.split_once('@').ok_or_else(bad)?;
        sha256(digest).map_err(|_| bad())?;
        let repository = match Self::parse_tag(base) {
            Ok(tagged) => tagged.repository,
            Err(_) => Repository::parse(base)?,
        };
        Ok(repository.digest(digest))
    }

    /// The repository it is in.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Its tag or digest.
    pub fn identifier(&self) -> &Identifier {
        &self.identifier
    }

    /// The last segment of its URL at the registry.
    pub fn path(&self) -> &str {
        match &self.identifier {
            Identifier::Tag(text) | Identifier::Digest(text) => text,
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.identifier {
            Identifier::Tag(tag) => write!(formatter, "{}:{tag}", self.repository),
            Identifier::Digest(digest) => write!(formatter, "{}@{digest}", self.repository),
        }
    }
}

/// Parses the digest of an artifact or a layer; only `sha256` is supported.
pub(crate) fn sha256(text: &str) -> Result<Digest, NameError> {
    let Some((algorithm, hex)) = text.split_once(':').filter(|it| !it.0.is_empty()) else {
        return Err(NameError(format!("cannot parse hash: {text:?}")));
    };
    if hex.is_empty() {
        return Err(NameError(format!("cannot parse hash: {text:?}")));
    }
    if let Some(sign) = hex.chars().find(|sign| !matches!(sign, '0'..='9' | 'a'..='f')) {
        return Err(NameError(format!("found non-hex character in hash: {sign}")));
    }
    if algorithm != "sha256" {
        return Err(NameError(format!("unsupported hash: {algorithm:?}")));
    }
    text.parse()
        .map_err(|_| NameError(format!("wrong number of hex digits for {algorithm}: {hex}")))
}

/// Computes the digest of content.
pub(crate) fn digest_of(content: &[u8]) -> Digest {
    Digest::of(DigestAlgorithm::Sha256, content)
}

fn not_an_address() -> NameError {
    NameError("URL must be in format 'oci://<domain>/<org>/<repo>'".to_owned())
}

fn check(
    what: &str,
    text: &str,
    allowed: &str,
    least: usize,
    most: usize,
) -> Result<(), NameError> {
    let count = text.chars().count();
    if count < least || count > most {
        return Err(NameError(format!(
            "{what} must be between {least} and {most} characters in length: {text}"
        )));
    }
    if !text.chars().all(|sign| allowed.contains(sign)) {
        return Err(NameError(format!(
            "{what} can only contain the characters `{allowed}`: {text}"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_completed_as_docker_completes_them() {
        for (text, full) in [
            ("ghcr.io/org/app", "ghcr.io/org/app:latest"),
            ("localhost:5000/app:v1", "localhost:5000/app:v1"),
            ("nginx", "index.docker.io/library/nginx:latest"),
            ("docker.io/org/app:1.0_2", "index.docker.io/org/app:1.0_2"),
            ("org/app", "index.docker.io/org/app:latest"),
        ] {
            let reference = Reference::parse(text).expect("a name");
            assert_eq!(reference.to_string(), full);
        }
        let digest = format!("sha256:{}", "a".repeat(64));
        let text = format!("ghcr.io/org/app:v1@{digest}");
        let reference = Reference::parse(&text).expect("a name");
        assert_eq!(reference.to_string(), format!("ghcr.io/org/app@{digest}"));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for (text, message) in [
            (
                "oci://ghcr.io/org/app:v1",
                "repository can only contain the characters `abcdefghijklmnopqrstuvwxyz0123456789_-./`: org/app:v1",
            ),
            (
                "oci://ghcr.io/Org/app",
                "repository can only contain the characters `abcdefghijklmnopqrstuvwxyz0123456789_-./`: Org/app",
            ),
            ("oci://", "a repository name must be specified"),
            ("oci://ghcr.io/a", "repository must be between 2 and 255 characters in length: a"),
            ("https://ghcr.io/org/app", "URL must be in format 'oci://<domain>/<org>/<repo>'"),
        ] {
            let error = Repository::of_url(text).expect_err("no repository");
            assert_eq!(error.to_string(), message);
        }
        for text in ["ghcr.io/org/app:", "ghcr.io/org/app:a b", "ghcr.io/org/app@sha256:1"] {
            let error = Reference::parse(text).expect_err("no name");
            assert_eq!(error.to_string(), format!("could not parse reference: {text}"));
        }
    }

    #[test]
    fn only_registries_nearby_may_lack_tls() {
        for (name, expected) in [
            ("localhost:5000/app", true),
            ("127.0.0.1:5000/app", true),
            ("10.1.2.3/app", true),
            ("registry.localhost:80/app", true),
            ("8.8.8.8/app", false),
            ("ghcr.io/app", false),
        ] {
            assert_eq!(Repository::parse(name).expect("a name").allows_http(), expected, "{name}");
        }
        let ghcr = Repository::parse("ghcr.io/app").expect("a name");
        assert!(ghcr.insecure(true).allows_http());
    }

    #[test]
    fn digests_are_sha256() {
        for (text, message) in [
            ("latest", "cannot parse hash: \"latest\""),
            ("sha256:", "cannot parse hash: \"sha256:\""),
            ("sha256:xyz", "found non-hex character in hash: x"),
            ("sha512:ab", "unsupported hash: \"sha512\""),
            ("sha256:ab", "wrong number of hex digits for sha256: ab"),
        ] {
            assert_eq!(sha256(text).expect_err("no digest").to_string(), message);
        }
    }
}
