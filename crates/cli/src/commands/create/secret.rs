//! `sluice create secret`: credentials in the format of sources.

mod contents;

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::{Map, Value, json};

use super::made::{Maker, secrets};
use super::ssh::KeyFlags;
use crate::outcome::Failure;
use crate::tell;
pub(super) use contents::{
    GitCredentials, HelmCredentials, file, git_secret, helm_secret, ssh_secret,
};

#[derive(Debug, Subcommand)]
pub(super) enum Secret {
    /// For Git: user and password, a bearer token, or a new SSH key.
    Git(Git),
    /// For a Helm repository.
    Helm(Helm),
    /// For a registry.
    Oci(Oci),
    /// Certificates.
    Tls(Tls),
    /// For a proxy.
    Proxy(Proxy),
    /// For a GitHub App.
    Githubapp(GithubApp),
    /// For verifying notation signatures.
    Notation(Notation),
    /// For the webhook of a Receiver. --token is the webhook's; random by default.
    Receiver(Receiver),
}

#[derive(Debug, clap::Args)]
pub(super) struct Git {
    /// The name.
    name: Option<String>,
    /// The URL of the repository.
    #[arg(long)]
    url: Option<String>,
    /// The user.
    #[arg(short, long)]
    username: Option<String>,
    /// The password.
    #[arg(short, long)]
    password: Option<String>,
    /// The token, in place of user and password.
    #[arg(long)]
    bearer_token: Option<String>,
    /// The certificate authority of the server.
    #[arg(long)]
    ca_crt_file: Option<PathBuf>,
    #[command(flatten)]
    key: KeyFlags,
}

#[derive(Debug, clap::Args)]
pub(super) struct Helm {
    /// The name.
    name: Option<String>,
    /// The user.
    #[arg(short, long)]
    username: Option<String>,
    /// The password.
    #[arg(short, long)]
    password: Option<String>,
    #[command(flatten)]
    files: Files,
}

#[derive(Debug, clap::Args)]
pub(super) struct Files {
    /// The client certificate.
    #[arg(long = "tls-crt-file", value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// The key of the client certificate.
    #[arg(long = "tls-key-file", value_name = "FILE")]
    key: Option<PathBuf>,
    /// The certificate authority of the server.
    #[arg(long = "ca-crt-file", value_name = "FILE")]
    authority: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(super) struct Tls {
    /// The name.
    name: Option<String>,
    #[command(flatten)]
    files: Files,
}

#[derive(Debug, clap::Args)]
pub(super) struct Oci {
    /// The name.
    name: Option<String>,
    /// The registry, or a repository in it.
    #[arg(long)]
    url: Option<String>,
    /// The user.
    #[arg(short, long)]
    username: Option<String>,
    /// The password.
    #[arg(short, long)]
    password: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct Proxy {
    /// The name.
    name: Option<String>,
    /// The URL of the proxy.
    #[arg(long)]
    address: Option<String>,
    /// The user.
    #[arg(short, long)]
    username: Option<String>,
    /// The password.
    #[arg(short, long)]
    password: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct GithubApp {
    /// The name.
    name: Option<String>,
    /// The id of the App.
    #[arg(long)]
    app_id: Option<String>,
    /// The owner of the installation.
    #[arg(long)]
    app_installation_owner: Option<String>,
    /// The id of the installation.
    #[arg(long)]
    app_installation_id: Option<String>,
    /// The file with the private key.
    #[arg(long)]
    app_private_key: Option<PathBuf>,
    /// The URL of GitHub's API.
    #[arg(long)]
    app_base_url: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct Notation {
    /// The name.
    name: Option<String>,
    /// The trust policy.
    #[arg(long)]
    trust_policy_file: Option<PathBuf>,
    /// Trusted certificate authorities.
    #[arg(long, value_delimiter = ',')]
    ca_cert_file: Vec<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(super) struct Receiver {
    /// The name.
    name: Option<String>,
    /// The type of the Receiver.
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// The host name of the webhook.
    #[arg(long)]
    hostname: Option<String>,
    /// The account in Google's tokens.
    #[arg(long)]
    email_claim: Option<String>,
    /// The audience of Google's tokens.
    #[arg(long)]
    audience_claim: Option<String>,
}

/// Runs `sluice create secret`.
pub(super) fn run(wanted: &Secret, maker: &Maker<'_>) -> Result<(), Failure> {
    let (word, ending, secret) = match wanted {
        Secret::Git(wanted) => ("git", "\n", contents::git(wanted, maker)?),
        Secret::Helm(wanted) => ("helm", "\n", contents::helm(wanted, maker)?),
        Secret::Oci(wanted) => ("oci", "\n", contents::oci(wanted, maker)?),
        Secret::Tls(wanted) => ("tls", "", contents::tls(wanted, maker)?),
        Secret::Proxy(wanted) => ("proxy", "\n", contents::proxy(wanted, maker)?),
        Secret::Githubapp(wanted) => ("githubapp", "\n", contents::github_app(wanted, maker)?),
        Secret::Notation(wanted) => {
            ("notation configuration", "\n", contents::notation(wanted, maker)?)
        }
        Secret::Receiver(wanted) => ("receiver", "\n", contents::receiver(wanted, maker)?),
    };
    if maker.export {
        // Flux ends most of these documents with an empty line.
        return tell::data(&format!("---\n{}{ending}", sluice_yaml::from_json(&secret)));
    }
    if let Some(public) = secret.pointer("/stringData/identity.pub").and_then(Value::as_str) {
        tell::generated(&format!("deploy key: {public}"));
    }
    let name = crate::kinds::text_at(&secret, "/metadata/name").to_owned();
    let mut globals = maker.globals.clone();
    if matches!(wanted, Secret::Receiver(_)) {
        globals.take_token();
    }
    let writer = Maker { globals: &globals, namespace: maker.namespace.clone(), ..*maker };
    writer.write_all(&[(None, secrets(), secret)])?;
    let namespace = &maker.namespace;
    tell::action(&format!("{word} secret '{name}' created in '{namespace}' namespace"));
    Ok(())
}

/// A Secret with texts in it.
fn secret(
    maker: &Maker<'_>,
    name: &str,
    kind: Option<&str>,
    values: Map<String, Value>,
    labelled: bool,
) -> Result<Value, Failure> {
    let mut secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": maker.namespace},
    });
    let labels = if labelled { maker.labels()? } else { Map::new() };
    if !labels.is_empty() {
        secret["metadata"]["labels"] = Value::Object(labels);
    }
    if !values.is_empty() {
        secret["stringData"] = Value::Object(values);
    }
    if let Some(kind) = kind {
        secret["type"] = kind.into();
    }
    Ok(secret)
}
