//! The content of each kind of secret.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use sluice_base::{go, gojson};
use sluice_source::artifact::{Digest, DigestAlgorithm};

use super::{Files, Git, GithubApp, Helm, Notation, Oci, Proxy, Receiver, Tls, secret};
use crate::commands::create::address::Address;
use crate::commands::create::made::Maker;
use crate::commands::create::ssh::SshCredentials;
use crate::outcome::Failure;

const OPAQUE: Option<&str> = Some("Opaque");

/// For git over HTTPS.
pub(in super::super) struct GitCredentials<'c> {
    pub(in super::super) username: Option<&'c str>,
    pub(in super::super) password: Option<&'c str>,
    pub(in super::super) bearer_token: Option<&'c str>,
    pub(in super::super) authority: Option<&'c Path>,
}

/// For a Helm repository.
pub(in super::super) struct HelmCredentials<'c> {
    pub(in super::super) username: Option<&'c str>,
    pub(in super::super) password: Option<&'c str>,
    pub(in super::super) certificate: Option<&'c Path>,
    pub(in super::super) key: Option<&'c Path>,
    pub(in super::super) authority: Option<&'c Path>,
}

/// The content of a file; `None` without a file.
pub(in super::super) fn file(path: Option<&Path>, what: &str) -> Result<String, Failure> {
    let Some(path) = path else { return Ok(String::new()) };
    let shown = path.display();
    let text = std::fs::read(path).map_err(|error| {
        let why = match error.kind() {
            std::io::ErrorKind::NotFound => "no such file or directory".to_owned(),
            _ => error.to_string(),
        };
        Failure::flux(format!("{what}: open {shown}: {why}"))
    })?;
    String::from_utf8(text).map_err(|_| Failure::flux(format!("{what}: {shown} is not text")))
}

/// The strings that are not empty, by name.
fn values<'v>(all: impl IntoIterator<Item = (&'v str, String)>) -> Map<String, Value> {
    let all = all.into_iter().filter(|(_, value)| !value.is_empty());
    all.map(|(name, value)| (name.to_owned(), Value::from(value))).collect()
}

fn text(given: Option<&str>) -> String {
    given.unwrap_or_default().to_owned()
}

fn required<'t>(given: Option<&'t String>, what: &str) -> Result<&'t str, Failure> {
    let given = given.map(String::as_str).filter(|text| !text.is_empty());
    given.ok_or_else(|| Failure::flux(format!("{what} is required")))
}

/// The secret of a git repository.
pub(in super::super) fn git_secret(
    maker: &Maker<'_>,
    name: &str,
    credentials: &GitCredentials<'_>,
    labelled: bool,
) -> Result<Value, Failure> {
    let (mut username, mut password) = (text(credentials.username), text(credentials.password));
    if username.is_empty() || password.is_empty() {
        (username, password) = (String::new(), String::new());
    }
    let values = values([
        ("username", username),
        ("password", password),
        ("bearerToken", text(credentials.bearer_token)),
        ("ca.crt", file(credentials.authority, "unable to read TLS CA file")?),
    ]);
    secret(maker, name, None, values, labelled)
}

/// The same over SSH.
pub(in super::super) fn ssh_secret(
    maker: &Maker<'_>,
    name: &str,
    credentials: SshCredentials,
    labelled: bool,
) -> Result<Value, Failure> {
    let values = values([
        ("identity", credentials.identity),
        ("identity.pub", credentials.identity_pub),
        ("known_hosts", credentials.known_hosts),
        ("password", credentials.password),
    ]);
    secret(maker, name, None, values, labelled)
}

pub(super) fn git(wanted: &Git, maker: &Maker<'_>) -> Result<Value, Failure> {
    wanted.key.algorithm()?;
    let name = Maker::name(wanted.name.as_deref())?;
    let address = Address::parse(required(wanted.url.as_ref(), "url")?)?.of_git()?;
    if address.scheme == "ssh" {
        let credentials = wanted.key.credentials(address.host, wanted.password.as_deref())?;
        return ssh_secret(maker, name, credentials, true);
    }
    let given = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    let (basic, bearer) =
        (given(&wanted.username) && given(&wanted.password), given(&wanted.bearer_token));
    if !basic && !bearer {
        return Err(Failure::flux(
            "for Git over HTTP/S the username and password, or a bearer token is required",
        ));
    }
    if basic && bearer {
        return Err(Failure::flux("user credentials and bearer token cannot be used together"));
    }
    let credentials = GitCredentials {
        username: wanted.username.as_deref(),
        password: wanted.password.as_deref(),
        bearer_token: wanted.bearer_token.as_deref(),
        authority: wanted.ca_crt_file.as_deref(),
    };
    git_secret(maker, name, &credentials, true)
}

/// The secret of a Helm repository: certificates take precedence over a password.
pub(in super::super) fn helm_secret(
    maker: &Maker<'_>,
    name: &str,
    credentials: &HelmCredentials<'_>,
) -> Result<Value, Failure> {
    let authority = file(credentials.authority, "unable to read TLS CA file")?;
    let certificate = file(credentials.certificate, "failed to read cert file")?;
    let key = file(credentials.key, "failed to read key file")?;
    let (username, password) = (text(credentials.username), text(credentials.password));
    if certificate.is_empty() && key.is_empty() && !(username.is_empty() && password.is_empty()) {
        for (field, value) in [("username", &username), ("password", &password)] {
            if value.is_empty() {
                return Err(Failure::flux(format!("{field} is required")));
            }
        }
        let values =
            values([("username", username), ("password", password), ("ca.crt", authority)]);
        return secret(maker, name, Some("kubernetes.io/basic-auth"), values, true);
    }
    if certificate.is_empty() && key.is_empty() && authority.is_empty() {
        return secret(maker, name, None, Map::new(), true);
    }
    certificates(maker, name, certificate, key, authority)
}

fn certificates(
    maker: &Maker<'_>,
    name: &str,
    certificate: String,
    key: String,
    authority: String,
) -> Result<Value, Failure> {
    let has_pair = !certificate.is_empty() && !key.is_empty();
    if certificate.is_empty() != key.is_empty() {
        let missing = if key.is_empty() { "tls.key" } else { "tls.crt" };
        let there = if key.is_empty() { "tls.crt" } else { "tls.key" };
        return Err(Failure::flux(format!("found '{there}' but missing '{missing}'")));
    }
    if !has_pair && authority.is_empty() {
        return Err(Failure::flux("no CA certificate or client certificate pair found"));
    }
    let kind = if has_pair { Some("kubernetes.io/tls") } else { OPAQUE };
    let values = values([("tls.crt", certificate), ("tls.key", key), ("ca.crt", authority)]);
    secret(maker, name, kind, values, true)
}

pub(super) fn helm(wanted: &Helm, maker: &Maker<'_>) -> Result<Value, Failure> {
    let name = Maker::name(wanted.name.as_deref())?;
    let credentials = HelmCredentials {
        username: wanted.username.as_deref(),
        password: wanted.password.as_deref(),
        certificate: wanted.files.certificate.as_deref(),
        key: wanted.files.key.as_deref(),
        authority: wanted.files.authority.as_deref(),
    };
    helm_secret(maker, name, &credentials)
}

pub(super) fn tls(wanted: &Tls, maker: &Maker<'_>) -> Result<Value, Failure> {
    let name = Maker::name(wanted.name.as_deref())?;
    let Files { certificate, key, authority } = &wanted.files;
    let authority = file(authority.as_deref(), "unable to read TLS CA file")?;
    let certificate = file(certificate.as_deref(), "failed to read cert file")?;
    let key = file(key.as_deref(), "failed to read key file")?;
    certificates(maker, name, certificate, key, authority)
}

pub(super) fn oci(wanted: &Oci, maker: &Maker<'_>) -> Result<Value, Failure> {
    let name = Maker::name(wanted.name.as_deref())?;
    let url = required(wanted.url.as_ref(), "--url")?;
    let username = required(wanted.username.as_ref(), "--username")?;
    let password = required(wanted.password.as_ref(), "--password")?;
    let auth = STANDARD.encode(format!("{username}:{password}"));
    // In the order of Go's types.
    let quote = go::quote;
    let config = gojson::indent(&format!(
        "{{\"auths\":{{{}:{{\"username\":{},\"password\":{},\"auth\":{}}}}}}}",
        quote(url),
        quote(username),
        quote(password),
        quote(&auth)
    ));
    let values = values([(".dockerconfigjson", config)]);
    secret(maker, name, Some("kubernetes.io/dockerconfigjson"), values, false)
}

pub(super) fn proxy(wanted: &Proxy, maker: &Maker<'_>) -> Result<Value, Failure> {
    let name = Maker::name(wanted.name.as_deref())?;
    let address = required(wanted.address.as_ref(), "address")?;
    let values = values([
        ("address", address.to_owned()),
        ("username", text(wanted.username.as_deref())),
        ("password", text(wanted.password.as_deref())),
    ]);
    secret(maker, name, OPAQUE, values, true)
}

pub(super) fn github_app(wanted: &GithubApp, maker: &Maker<'_>) -> Result<Value, Failure> {
    let name = Maker::name(wanted.name.as_deref())?;
    let path = wanted.app_private_key.clone().unwrap_or_default();
    let key = file(Some(&path), "unable to read private key file")?;
    let id = required(wanted.app_id.as_ref(), "githubAppID")?;
    if key.is_empty() {
        return Err(Failure::flux("githubAppPrivateKey is required"));
    }
    let (owner, installation) = (
        text(wanted.app_installation_owner.as_deref()),
        text(wanted.app_installation_id.as_deref()),
    );
    if owner.is_empty() == installation.is_empty() {
        return Err(Failure::flux(
            "exactly one of githubAppInstallationOwner or githubAppInstallationID must be provided",
        ));
    }
    let values = values([
        ("githubAppID", id.to_owned()),
        ("githubAppPrivateKey", key),
        ("githubAppInstallationOwner", owner),
        ("githubAppInstallationID", installation),
        ("githubAppBaseURL", text(wanted.app_base_url.as_deref())),
    ]);
    secret(maker, name, OPAQUE, values, false)
}

pub(super) fn notation(wanted: &Notation, maker: &Maker<'_>) -> Result<Value, Failure> {
    let name = Maker::name(wanted.name.as_deref())?;
    if wanted.ca_cert_file.is_empty() {
        return Err(Failure::flux("--ca-cert-file is required"));
    }
    let path = wanted.trust_policy_file.as_deref();
    let path = path.ok_or_else(|| Failure::flux("--trust-policy-file is required"))?;
    let policy = file(Some(path), "unable to read trust policy file")?;
    let shown = path.display();
    let parsed: Value = serde_json::from_str(&policy).map_err(|error| {
        Failure::flux(format!("failed to unmarshal trust policy {shown}: {error}"))
    })?;
    let has_version =
        parsed.get("version").and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    if !has_version {
        return Err(Failure::flux(
            "invalid trust policy: trust policy document has empty version, version must be specified",
        ));
    }
    let mut values = Map::new();
    let mut failures = Vec::new();
    for path in &wanted.ca_cert_file {
        let base = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let ending = path.extension().unwrap_or_default();
        if ending != "crt" && ending != "pem" {
            failures.push(format!("{base} must end with either .crt or .pem"));
            continue;
        }
        match file(Some(path), "unable to read TLS CA file") {
            Ok(text) => {
                values.insert(base, text.into());
            }
            Err(failure) => failures.push(failure.message().to_owned()),
        }
    }
    if !failures.is_empty() {
        return Err(Failure::flux(failures.join("\n")));
    }
    values.insert("trustpolicy.json".to_owned(), policy.into());
    secret(maker, name, None, values, true)
}

/// The types of Receivers.
const RECEIVERS: [&str; 12] = [
    "generic",
    "generic-hmac",
    "github",
    "gitlab",
    "bitbucket",
    "harbor",
    "dockerhub",
    "quay",
    "gcr",
    "nexus",
    "acr",
    "cdevents",
];

pub(super) fn receiver(wanted: &Receiver, maker: &Maker<'_>) -> Result<Value, Failure> {
    let name = Maker::name(wanted.name.as_deref())?;
    let kind = required(wanted.kind.as_ref(), "--type")?;
    if !RECEIVERS.contains(&kind) {
        return Err(Failure::flux(format!(
            "invalid argument {kind:?} for \"--type\" flag: receiver type '{kind}' is not supported, \
             must be one of: {}",
            RECEIVERS.join(", ")
        )));
    }
    let host = required(wanted.hostname.as_ref(), "--hostname")?;
    let email = text(wanted.email_claim.as_deref());
    if kind == "gcr" && email.is_empty() {
        return Err(Failure::flux("--email-claim is required for gcr receiver type"));
    }
    let token = match maker.globals.clone().take_token().filter(|token| !token.is_empty()) {
        Some(token) => token,
        None => random_token()?,
    };
    let seed = format!("{token}{name}{}", maker.namespace);
    let digest = Digest::of(DigestAlgorithm::Sha256, seed.as_bytes()).to_string();
    let digest = digest.rsplit(':').next().unwrap_or_default().to_owned();
    let address = format!("https://{host}/hook/{digest}");
    let mut contents = values([("token", token)]);
    if kind == "gcr" {
        let audience = match text(wanted.audience_claim.as_deref()) {
            given if given.is_empty() => address.clone(),
            given => given,
        };
        contents.extend(values([("email", email), ("audience", audience)]));
    }
    let mut secret = secret(maker, name, None, contents, true)?;
    secret["metadata"]["annotations"] =
        json!({sluice_api::names::annotations::RECEIVER_WEBHOOK: address});
    Ok(secret)
}

/// 32 random bytes, in hexadecimal.
fn random_token() -> Result<String, Failure> {
    use std::fmt::Write as _;
    let mut bytes = [0; 32];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut source| std::io::Read::read_exact(&mut source, &mut bytes))
        .map_err(|error| {
            Failure::caused("failed to generate random token", error).in_flux_style()
        })?;
    let mut token = String::new();
    for byte in bytes {
        let _ = write!(token, "{byte:02x}");
    }
    Ok(token)
}
