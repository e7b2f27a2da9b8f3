//! `sluice create source git`.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::super::address::Address;
use super::super::made::{Maker, Words, kind};
use super::super::secret::{GitCredentials, git_secret, ssh_secret};
use super::super::ssh::KeyFlags;
use super::{Fetching, ignore, local};
use crate::ask::answered_yes;
use crate::outcome::Failure;
use crate::tell;

/// Creates a GitRepository.
#[derive(Debug, clap::Args)]
pub(in super::super) struct Arguments {
    /// The name.
    name: Option<String>,
    /// The URL of the repository.
    #[arg(long)]
    url: Option<String>,
    /// The branch.
    #[arg(long)]
    branch: Option<String>,
    /// The tag.
    #[arg(long)]
    tag: Option<String>,
    /// The range of versions; the newest tag in it is used.
    #[arg(long)]
    tag_semver: Option<String>,
    /// The full name of a reference.
    #[arg(long)]
    ref_name: Option<String>,
    /// The commit.
    #[arg(long)]
    commit: Option<String>,
    /// The user, for basic authentication.
    #[arg(short, long)]
    username: Option<String>,
    /// The password, for basic authentication.
    #[arg(short, long)]
    password: Option<String>,
    /// The secret with the credentials.
    #[arg(long)]
    secret_ref: Option<String>,
    /// The secret with the address of a proxy.
    #[arg(long)]
    proxy_secret_ref: Option<String>,
    /// The provider of credentials: generic, github, aws or azure.
    #[arg(long, value_parser = ["generic", "github", "aws", "azure"])]
    provider: Option<String>,
    /// The certificate authority of the server.
    #[arg(long)]
    ca_file: Option<PathBuf>,
    /// Fetches submodules too.
    #[arg(long)]
    recurse_submodules: bool,
    /// Does not ask whether the deploy key was added to the repository.
    #[arg(short, long)]
    silent: bool,
    /// Paths to ignore.
    #[arg(long, value_delimiter = ',')]
    ignore_paths: Vec<String>,
    /// The only directories to fetch.
    #[arg(long, value_delimiter = ',')]
    sparse_checkout_paths: Vec<String>,
    #[command(flatten)]
    key: KeyFlags,
    #[command(flatten)]
    fetching: Fetching,
}

/// Runs the command.
pub(super) fn run(wanted: &Arguments, maker: &Maker<'_>) -> Result<(), Failure> {
    wanted.key.algorithm()?;
    let name = Maker::name(wanted.name.as_deref())?;
    let url = wanted.url.as_deref().filter(|url| !url.is_empty());
    let url = url.ok_or_else(|| Failure::flux("url is required"))?;
    let address = Address::parse(url)?.of_git()?;
    let reference = reference(wanted).ok_or_else(|| {
        Failure::flux(
            "a Git ref is required, use one of the following: --branch, --tag, --commit, --ref-name or \
             --tag-semver",
        )
    })?;
    if wanted.ca_file.is_some() && address.scheme == "ssh" {
        return Err(Failure::flux("specifying a CA file is not supported for Git over SSH"));
    }
    let spec = json!({
        "url": url,
        "interval": maker.interval.to_string(),
        "recurseSubmodules": wanted.recurse_submodules,
        "ref": reference,
        "ignore": ignore(&wanted.ignore_paths),
        "sparseCheckout": wanted.sparse_checkout_paths,
        "timeout": wanted.fetching.timeout(),
        "secretRef": local(wanted.secret_ref.as_ref()),
        "proxySecretRef": local(wanted.proxy_secret_ref.as_ref()),
        "provider": wanted.provider,
    });
    let kind = kind("GitRepository")?;
    let object = maker.object(kind, name, &spec)?;
    if maker.export {
        return Maker::print(&object);
    }
    tell::generated("generating GitRepository source");
    let secret = if wanted.secret_ref.is_none() {
        credentials(wanted, maker, name, &address)?
    } else {
        None
    };
    let words = Words { object: "GitRepository source", written: "GitRepository source" };
    let before = "applying secret with repository credentials";
    maker.apply_source(kind, object, &words, secret.map(|secret| (secret, before)))
}

/// The reference; the first one that is given, in Flux's order.
fn reference(wanted: &Arguments) -> Option<Value> {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    if let Some(commit) = given(&wanted.commit) {
        return Some(json!({"commit": commit, "branch": wanted.branch}));
    }
    let forms = [
        ("name", &wanted.ref_name),
        ("semver", &wanted.tag_semver),
        ("tag", &wanted.tag),
        ("branch", &wanted.branch),
    ];
    forms.into_iter().find_map(|(field, text)| Some(json!({field: given(text)?})))
}

fn credentials(
    wanted: &Arguments,
    maker: &Maker<'_>,
    name: &str,
    address: &Address<'_>,
) -> Result<Option<Value>, Failure> {
    if address.scheme == "ssh" {
        let credentials = wanted.key.credentials(address.host, wanted.password.as_deref())?;
        let known_hosts = &credentials.known_hosts;
        tell::success(&format!("collected public key from SSH server:\n{known_hosts}"));
        tell::generated(&format!("deploy key: {}", credentials.identity_pub));
        let question = "Have you added the deploy key to your repository";
        if !wanted.silent && !answered_yes(question) {
            return Err(Failure::flux("aborting").hint(
                "--silent does not ask; --private-key-file takes a key that the repository knows",
            ));
        }
        return ssh_secret(maker, name, credentials, false).map(Some);
    }
    if address.scheme == "http" {
        tell::warning("insecure configuration: credentials configured for an HTTP URL");
    }
    let credentials = GitCredentials {
        username: wanted.username.as_deref(),
        password: wanted.password.as_deref(),
        bearer_token: None,
        authority: wanted.ca_file.as_deref(),
    };
    let secret = git_secret(maker, name, &credentials, false)?;
    let has_any =
        secret.get("stringData").and_then(Value::as_object).is_some_and(|d| !d.is_empty());
    Ok(has_any.then_some(secret))
}
