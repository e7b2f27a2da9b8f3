//! `sluice create source bucket`.

use serde_json::{Value, json};

use super::super::made::{Maker, Words, kind};
use super::{Fetching, ignore, local};
use crate::outcome::Failure;
use crate::tell;

/// Creates a Bucket.
#[derive(Debug, clap::Args)]
pub(in super::super) struct Arguments {
    /// The name.
    name: Option<String>,
    /// The provider of credentials: generic, aws, azure or gcp.
    #[arg(long, default_value = "generic", value_parser = ["generic", "aws", "azure", "gcp"])]
    provider: String,
    /// The name of the bucket at the server.
    #[arg(long)]
    bucket_name: Option<String>,
    /// The address of the server.
    #[arg(long)]
    endpoint: Option<String>,
    /// The access key.
    #[arg(long)]
    access_key: Option<String>,
    /// The secret key.
    #[arg(long)]
    secret_key: Option<String>,
    /// The region.
    #[arg(long)]
    region: Option<String>,
    /// Uses plain HTTP.
    #[arg(long)]
    insecure: bool,
    /// The secret with the credentials.
    #[arg(long)]
    secret_ref: Option<String>,
    /// The secret with the address of a proxy.
    #[arg(long)]
    proxy_secret_ref: Option<String>,
    /// Paths to ignore.
    #[arg(long, value_delimiter = ',')]
    ignore_paths: Vec<String>,
    #[command(flatten)]
    fetching: Fetching,
}

/// Runs the command.
pub(super) fn run(wanted: &Arguments, maker: &Maker<'_>) -> Result<(), Failure> {
    let name = Maker::name(wanted.name.as_deref())?;
    let bucket = wanted.bucket_name.as_deref().unwrap_or_default();
    let endpoint = wanted.endpoint.as_deref().unwrap_or_default();
    for (field, value) in [("bucket-name", bucket), ("endpoint", endpoint)] {
        if value.is_empty() {
            return Err(Failure::flux(format!("{field} is required")));
        }
    }
    let spec = json!({
        "bucketName": bucket,
        "provider": wanted.provider,
        "insecure": wanted.insecure,
        "endpoint": endpoint,
        "region": wanted.region,
        "interval": maker.interval.to_string(),
        "ignore": ignore(&wanted.ignore_paths),
        "timeout": wanted.fetching.timeout(),
        "secretRef": local(wanted.secret_ref.as_ref()),
        "proxySecretRef": local(wanted.proxy_secret_ref.as_ref()),
    });
    let kind = kind("Bucket")?;
    let object = maker.object(kind, name, &spec)?;
    if maker.export {
        return Maker::print(&object);
    }
    tell::generated("generating Bucket source");
    let words = Words { object: "Bucket source", written: "Bucket source" };
    let secret = credentials(wanted, maker, name).filter(|_| wanted.secret_ref.is_none());
    let before = "applying secret with the bucket credentials";
    maker.apply_source(kind, object, &words, secret.map(|secret| (secret, before)))
}

fn credentials(wanted: &Arguments, maker: &Maker<'_>, name: &str) -> Option<Value> {
    let (access, secret) = (wanted.access_key.as_ref()?, wanted.secret_key.as_ref()?);
    Some(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": format!("bucket-{name}"), "namespace": maker.namespace},
        "stringData": {"accesskey": access, "secretkey": secret},
    }))
}
