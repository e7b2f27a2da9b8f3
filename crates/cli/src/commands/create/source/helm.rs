//! `sluice create source helm`.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::super::made::{Maker, Words, kind};
use super::super::secret::{HelmCredentials, helm_secret};
use super::{Fetching, local, scheme};
use crate::outcome::Failure;
use crate::tell;

/// Creates a HelmRepository.
#[derive(Debug, clap::Args)]
pub(in super::super) struct Arguments {
    /// The name.
    name: Option<String>,
    /// The URL of the repository.
    #[arg(long)]
    url: Option<String>,
    /// The user, for basic authentication.
    #[arg(short, long)]
    username: Option<String>,
    /// The password, for basic authentication.
    #[arg(short, long)]
    password: Option<String>,
    /// The client certificate.
    #[arg(long)]
    cert_file: Option<PathBuf>,
    /// The key of the client certificate.
    #[arg(long)]
    key_file: Option<PathBuf>,
    /// The certificate authority of the server.
    #[arg(long)]
    ca_file: Option<PathBuf>,
    /// The secret with the credentials.
    #[arg(long)]
    secret_ref: Option<String>,
    /// The provider of a registry's credentials.
    #[arg(long)]
    oci_provider: Option<String>,
    /// Sends credentials to other hosts as well.
    #[arg(long)]
    pass_credentials: bool,
    #[command(flatten)]
    fetching: Fetching,
}

/// Runs the command.
pub(super) fn run(wanted: &Arguments, maker: &Maker<'_>) -> Result<(), Failure> {
    let name = Maker::name(wanted.name.as_deref())?;
    let url = wanted.url.as_deref().filter(|url| !url.is_empty());
    let url = url.ok_or_else(|| Failure::flux("url is required"))?;
    let scheme = scheme(url);
    if !["http", "https", "oci"].contains(&scheme) {
        return Err(Failure::flux(format!(
            "url scheme '{scheme}' not supported, can be: http, https and oci"
        )));
    }
    if url.split_once("://").is_none_or(|(_, rest)| rest.is_empty() || rest.starts_with('/')) {
        return Err(Failure::flux("url host is required"));
    }
    let is_registry = scheme == "oci";
    let has_secret = wanted.secret_ref.is_some();
    let spec = json!({
        "url": url,
        "interval": maker.interval.to_string(),
        "type": is_registry.then_some("oci"),
        "provider": wanted.oci_provider.as_ref().filter(|_| is_registry),
        "timeout": wanted.fetching.timeout(),
        "secretRef": local(wanted.secret_ref.as_ref()),
        "passCredentials": wanted.pass_credentials && has_secret,
    });
    let kind = kind("HelmRepository")?;
    let mut object = maker.object(kind, name, &spec)?;
    if maker.export {
        return Maker::print(&object);
    }
    tell::generated("generating HelmRepository source");
    let mut secret = None;
    if !has_secret {
        let credentials = HelmCredentials {
            username: wanted.username.as_deref(),
            password: wanted.password.as_deref(),
            certificate: wanted.cert_file.as_deref(),
            key: wanted.key_file.as_deref(),
            authority: wanted.ca_file.as_deref(),
        };
        let made = helm_secret(maker, &format!("helm-{name}"), &credentials)?;
        let values = made.get("stringData").and_then(Value::as_object);
        if values.is_some_and(|values| !values.is_empty()) {
            if wanted.pass_credentials {
                object["spec"]["passCredentials"] = true.into();
            }
            secret = Some((made, "applying secret with repository credentials"));
        }
    }
    let words = Words { object: "HelmRepository source", written: "source" };
    maker.apply_source(kind, object, &words, secret)
}
