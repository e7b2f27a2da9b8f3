//! `sluice create source`, one file per kind.

mod bucket;
mod chart;
mod git;
mod helm;
mod oci;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use sluice_base::duration::GoDuration;

use super::made::Maker;
use crate::outcome::Failure;

#[derive(Debug, Subcommand)]
pub(super) enum Source {
    /// Creates a GitRepository.
    Git(git::Arguments),
    /// Creates an OCIRepository.
    Oci(oci::Arguments),
    /// Creates a Bucket.
    Bucket(bucket::Arguments),
    /// Creates a HelmRepository.
    Helm(helm::Arguments),
    /// Creates a HelmChart.
    Chart(chart::Arguments),
}

/// Runs `sluice create source`.
pub(super) fn run(wanted: &Source, maker: &Maker<'_>) -> Result<(), Failure> {
    match wanted {
        Source::Git(wanted) => git::run(wanted, maker),
        Source::Oci(wanted) => oci::run(wanted, maker),
        Source::Bucket(wanted) => bucket::run(wanted, maker),
        Source::Helm(wanted) => helm::run(wanted, maker),
        Source::Chart(wanted) => chart::run(wanted, maker),
    }
}

/// The timeout of a fetch.
#[derive(Debug, Args)]
struct Fetching {
    /// The timeout of a fetch.
    #[arg(long, value_name = "DURATION")]
    fetch_timeout: Option<GoDuration>,
}

impl Fetching {
    fn timeout(&self) -> Option<String> {
        let given = self.fetch_timeout.filter(|timeout| !timeout.to_std().is_zero());
        given.map(|timeout| timeout.to_string())
    }
}

/// Signature verification.
#[derive(Debug, Args)]
struct Verification {
    /// The verification provider: cosign or notation.
    #[arg(long = "verify-provider", id = "verify-provider", value_name = "NAME")]
    provider: Option<String>,
    /// The secret with the trusted keys.
    #[arg(long = "verify-secret-ref", id = "verify-secret-ref", value_name = "NAME")]
    secret_ref: Option<String>,
    /// A regular expression for the subject of the identity.
    #[arg(long = "verify-subject", id = "verify-subject", value_name = "REGEX")]
    subject: Option<String>,
    /// A regular expression for the issuer of the identity.
    #[arg(long = "verify-issuer", id = "verify-issuer", value_name = "REGEX")]
    issuer: Option<String>,
}

impl Verification {
    fn spec(&self) -> Result<Option<Value>, Failure> {
        let identity = self.issuer.is_some() || self.subject.is_some();
        let Some(provider) = &self.provider else {
            let lacks = "a verification provider must be specified when";
            return match (&self.secret_ref, identity) {
                (Some(_), _) => Err(Failure::flux(format!("{lacks} a secret is specified"))),
                (None, true) => {
                    Err(Failure::flux(format!("{lacks} OIDC issuer/subject is specified")))
                }
                (None, false) => Ok(None),
            };
        };
        if !["cosign", "notation"].contains(&provider.as_str()) {
            return Err(Failure::flux(format!(
                "invalid argument \"{provider}\" for \"--verify-provider\" flag: source OCI verify \
                 provider '{provider}' is not supported, must be one of: cosign"
            )));
        }
        let mut spec = json!({"provider": provider});
        if let Some(secret) = &self.secret_ref {
            spec["secretRef"] = json!({"name": secret});
        }
        if identity {
            spec["matchOIDCIdentity"] = json!([{
                "issuer": self.issuer.as_deref().unwrap_or_default(),
                "subject": self.subject.as_deref().unwrap_or_default(),
            }]);
        }
        Ok(Some(spec))
    }
}

/// A reference to an object of the same namespace, if it is named.
fn local(name: Option<&String>) -> Value {
    name.map_or(Value::Null, |name| json!({"name": name}))
}

/// Patterns as the text of an ignore file.
fn ignore(patterns: &[String]) -> Value {
    if patterns.is_empty() { Value::Null } else { patterns.join("\n").into() }
}

/// The scheme of an address.
fn scheme(url: &str) -> &str {
    url.split_once("://").map_or("", |(scheme, _)| scheme)
}
