//! `sluice create source oci`.

use serde_json::{Value, json};

use super::super::made::{Maker, Words, kind};
use super::{Fetching, Verification, ignore, local};
use crate::outcome::Failure;

/// Creates an OCIRepository.
#[derive(Debug, clap::Args)]
pub(in super::super) struct Arguments {
    /// The name.
    name: Option<String>,
    /// The provider of credentials: generic, aws, azure or gcp.
    #[arg(long, default_value = "generic", value_parser = ["generic", "aws", "azure", "gcp"])]
    provider: String,
    /// The URL of the repository.
    #[arg(long)]
    url: Option<String>,
    /// The tag.
    #[arg(long)]
    tag: Option<String>,
    /// The range of versions; the newest tag in it is used.
    #[arg(long)]
    tag_semver: Option<String>,
    /// The digest.
    #[arg(long)]
    digest: Option<String>,
    /// The secret with the credentials.
    #[arg(long)]
    secret_ref: Option<String>,
    /// The secret with the address of a proxy.
    #[arg(long)]
    proxy_secret_ref: Option<String>,
    /// The service account with the image pull secrets.
    #[arg(long)]
    service_account: Option<String>,
    /// The secret with certificates.
    #[arg(long)]
    cert_ref: Option<String>,
    /// Paths to ignore.
    #[arg(long, value_delimiter = ',')]
    ignore_paths: Vec<String>,
    /// Uses plain HTTP.
    #[arg(long)]
    insecure: bool,
    /// The layer to use, as MEDIA-TYPE:OPERATION.
    #[arg(long)]
    layer_selector: Option<String>,
    #[command(flatten)]
    verification: Verification,
    #[command(flatten)]
    fetching: Fetching,
}

/// Runs the command.
pub(super) fn run(wanted: &Arguments, maker: &Maker<'_>) -> Result<(), Failure> {
    let name = Maker::name(wanted.name.as_deref())?;
    let url = wanted.url.as_deref().filter(|url| !url.is_empty());
    let url = url.ok_or_else(|| Failure::flux("url is required"))?;
    if wanted.tag.is_none() && wanted.tag_semver.is_none() && wanted.digest.is_none() {
        return Err(Failure::flux("--tag, --tag-semver or --digest is required"));
    }
    let layer = layer(wanted.layer_selector.as_deref().unwrap_or_default())?;
    let spec = json!({
        "provider": wanted.provider,
        "url": url,
        "insecure": wanted.insecure,
        "interval": maker.interval.to_string(),
        "ref": {"digest": wanted.digest, "semver": wanted.tag_semver, "tag": wanted.tag},
        "ignore": ignore(&wanted.ignore_paths),
        "layerSelector": layer,
        "timeout": wanted.fetching.timeout(),
        "serviceAccountName": wanted.service_account,
        "secretRef": local(wanted.secret_ref.as_ref()),
        "proxySecretRef": local(wanted.proxy_secret_ref.as_ref()),
        "certSecretRef": local(wanted.cert_ref.as_ref()),
        "verify": wanted.verification.spec()?,
    });
    let kind = kind("OCIRepository")?;
    let object = maker.object(kind, name, &spec)?;
    if maker.export {
        return Maker::print(&object);
    }
    let words = Words { object: "OCIRepository", written: "OCIRepository" };
    maker.apply_source(kind, object, &words, None)
}

fn layer(text: &str) -> Result<Value, Failure> {
    if text.is_empty() {
        return Ok(Value::Null);
    }
    let parts = text
        .split_once(':')
        .filter(|(media, operation)| !media.is_empty() && !operation.is_empty());
    let (media_type, operation) = parts.ok_or_else(|| {
        Failure::flux(format!(
            "invalid --layer-selector {text:?}: must be in the format '<media-type>:<operation>'"
        ))
    })?;
    if !["extract", "copy"].contains(&operation) {
        return Err(Failure::flux(format!(
            "invalid --layer-selector {text:?}: operation must be \"extract\" or \"copy\""
        )));
    }
    Ok(json!({"mediaType": media_type, "operation": operation}))
}
