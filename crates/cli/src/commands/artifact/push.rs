//! `sluice push artifact`: packs files and pushes them to a registry.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde_json::json;
use sluice_source::oci::{Access, Identifier, NewArtifact};

use super::local::{Files, IGNORED, Trouble, no_path};
use super::registry::Target;
use super::{Login, registry};
use crate::globals::Globals;
use crate::outcome::{Failure, Outcome};
use crate::tell;

/// Pushes artifacts.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Packs files and pushes them to a registry.
    Artifact(Box<Push>),
}

#[derive(Debug, Args)]
struct Push {
    /// The address: `oci://<registry>/<repository>:<tag>`.
    url: Option<String>,
    /// The directory or file; `-` is standard input.
    #[arg(short = 'f', long, value_name = "PATH")]
    path: Option<PathBuf>,
    /// The source of the files, such as a Git URL.
    #[arg(long, default_value = "", hide_default_value = true)]
    source: String,
    /// The revision of the source: `<branch|tag>@sha1:<commit-sha>`.
    #[arg(long, default_value = "", hide_default_value = true)]
    revision: String,
    #[command(flatten)]
    login: Login,
    /// Patterns to exclude, in the form of `.gitignore`.
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',', default_value = IGNORED)]
    ignore_paths: Vec<String>,
    /// Annotations of the artifact: `<key>=<value>`.
    #[arg(short, long, value_name = "ANNOTATION")]
    annotations: Vec<String>,
    /// The output format of the artifact's digest.
    #[arg(short, long, value_name = "FORMAT", value_parser = ["json", "yaml"])]
    output: Option<String>,
    /// Accepted for compatibility with Flux.
    #[arg(long, hide = true)]
    debug: bool,
    /// Makes the digest reproducible: the creation time is 1970-01-01T00:00:00Z.
    #[arg(long)]
    reproducible: bool,
    /// Allows plain HTTP.
    #[arg(long)]
    insecure_registry: bool,
    /// Follows symbolic links; by default they are skipped.
    #[arg(long)]
    resolve_symlinks: bool,
}

/// Runs `sluice push artifact`.
pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    let Command::Artifact(wanted) = &arguments.command;
    let missing = |what: &str| Failure::flux(what.to_owned());
    let url = wanted.url.as_deref().ok_or_else(|| missing("artifact URL is required"))?;
    if wanted.source.is_empty() {
        return Err(missing("--source is required"));
    }
    if wanted.revision.is_empty() {
        return Err(missing("--revision is required"));
    }
    let path = wanted.path.as_deref().ok_or_else(no_path)?;
    let (reference, text) = registry::parse(url)?;
    let files = Files::read(path, wanted.resolve_symlinks).map_err(|trouble| match trouble {
        Trouble::Missing(error) => Failure::flux(format!(
            "invalid path '{shown}', must point to an existing directory or file: stat {shown}: {}",
            message(&error),
            shown = path.display()
        )),
        Trouble::Unreadable(error) => {
            Failure::flux(format!("pushing artifact failed: error creating layer: {error}"))
        }
    })?;
    let artifact = NewArtifact {
        content: files.pack(&wanted.ignore_paths)?,
        source: wanted.source.clone(),
        revision: wanted.revision.clone(),
        created: created(wanted.reproducible),
        annotations: annotations(&wanted.annotations)?,
    };
    let target = Target {
        repository: reference.repository(),
        login: &wanted.login,
        insecure: wanted.insecure_registry,
        access: Access::Push,
    };
    let tag = match reference.identifier() {
        Identifier::Tag(tag) => tag.as_str(),
        Identifier::Digest(_) => "latest",
    };
    let digest = registry::with(&target, globals.timeout(), async |remote| {
        if wanted.output.is_none() {
            tell::action(&format!("pushing artifact to {text}"));
        }
        artifact.push(remote, tag).await.map_err(|error| {
            Failure::flux(format!("pushing artifact failed: pushing artifact failed: {error}"))
        })
    })?;
    let repository = reference.repository();
    let pushed = format!("{repository}@{digest}");
    let output = json!({
        "url": format!("oci://{pushed}"),
        "repository": repository.to_string(),
        "tag": tag,
        "digest": digest.to_string(),
    });
    match wanted.output.as_deref() {
        // In Flux's order, which is not alphabetical.
        Some("json") => tell::data(&format!(
            "{{\n  \"url\": {},\n  \"repository\": {},\n  \"tag\": {},\n  \"digest\": {}\n}}\n",
            output["url"], output["repository"], output["tag"], output["digest"]
        ))?,
        Some(_) => tell::data(&sluice_yaml::from_json(&output))?,
        None => tell::success(&format!("artifact successfully pushed to {pushed}")),
    }
    Ok(Outcome::Fine)
}

/// The creation time.
fn created(reproducible: bool) -> String {
    if reproducible {
        return "1970-01-01T00:00:00Z".to_owned();
    }
    let now = Timestamp::now();
    let whole = now.round(jiff::Unit::Second).unwrap_or(now);
    whole.to_string()
}

fn annotations(given: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let mut annotations = BTreeMap::new();
    for annotation in given {
        let parts: Vec<&str> = annotation.split('=').collect();
        let [key, value] = parts.as_slice() else {
            return Err(Failure::flux(format!(
                "invalid annotation {annotation}, must be in the format key=value"
            )));
        };
        annotations.insert((*key).to_owned(), (*value).to_owned());
    }
    Ok(annotations)
}

/// The message without the error number.
fn message(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}
