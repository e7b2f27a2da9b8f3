//! `sluice pull artifact`: pulls an artifact from a registry and unpacks it.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use sluice_source::archive::{ArchiveLimits, unpack_over};
use sluice_source::oci::{Access, REVISION, SOURCE, SelectError, layer};

use super::registry::Target;
use super::{Login, registry};
use crate::globals::Globals;
use crate::outcome::{Failure, Outcome};
use crate::tell;

/// Pulls artifacts.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Pulls an artifact from a registry and unpacks it.
    Artifact(Pull),
}

#[derive(Debug, Args)]
struct Pull {
    /// The address: `oci://<registry>/<repository>:<tag>`.
    url: Option<String>,
    /// The output directory, which must exist.
    #[arg(short, long, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
    #[command(flatten)]
    login: Login,
    /// Allows plain HTTP.
    #[arg(long)]
    insecure_registry: bool,
}

/// Runs `sluice pull artifact`.
pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    let Command::Artifact(wanted) = &arguments.command;
    let missing = |what: &str| Failure::flux(what.to_owned());
    let url = wanted.url.as_deref().ok_or_else(|| missing("artifact URL is required"))?;
    let output = wanted.output.as_deref().filter(|path| !path.as_os_str().is_empty());
    let output = output.ok_or_else(|| missing("output path cannot be empty"))?;
    if !output.is_dir() {
        let reason = if output.exists() {
            "not a directory".to_owned()
        } else {
            format!("stat {}: no such file or directory", output.display())
        };
        let shown = output.display().to_string();
        return Err(Failure::flux(format!("invalid output path {shown:?}: {reason}")));
    }
    let (reference, text) = registry::parse(url)?;
    let repository = reference.repository();
    let insecure = wanted.insecure_registry;
    let target = Target { repository, login: &wanted.login, insecure, access: Access::Pull };
    let (image, content) = registry::with(&target, globals.timeout(), async |remote| {
        tell::action(&format!("pulling artifact from {text}"));
        let failed = |error: &dyn std::fmt::Display| Failure::flux(error.to_string());
        let image = remote.image(&reference).await.map_err(|error| failed(&error))?;
        let first = layer(&image, "").map_err(|error: SelectError| failed(&error))?;
        let content = remote.blob(first).await.map_err(|error| failed(&error))?;
        Ok((image, content))
    })?;
    if !content.starts_with(&[0x1f, 0x8b]) {
        return Err(Failure::flux(format!("open {}: is a directory", output.display())));
    }
    unpack_over(&content, ArchiveLimits::default(), output)
        .map_err(|error| Failure::caused("cannot unpack the artifact", error).in_flux_style())?;
    for (name, annotation) in [("source", SOURCE), ("revision", REVISION)] {
        let value = image.manifest.annotation(annotation);
        if !value.is_empty() {
            tell::success(&format!("{name} {value}"));
        }
    }
    tell::success(&format!("digest {repository}@{}", image.digest));
    tell::success(&format!("artifact content extracted to {}", output.display()));
    Ok(Outcome::Fine)
}
