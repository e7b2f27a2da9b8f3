//! `sluice tag artifact`: adds tags to an artifact.

use clap::{Args, Subcommand};
use sluice_source::oci::Access;

use super::registry::Target;
use super::{Login, registry};
use crate::globals::Globals;
use crate::outcome::{Failure, Outcome};
use crate::tell;

/// Tags artifacts.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Adds tags to an artifact.
    Artifact(Tag),
}

#[derive(Debug, Args)]
struct Tag {
    /// The address: `oci://<registry>/<repository>:<tag>`.
    url: Option<String>,
    /// The tags to add.
    #[arg(long = "tag", value_name = "TAG", value_delimiter = ',')]
    tags: Vec<String>,
    #[command(flatten)]
    login: Login,
}

/// Runs `sluice tag artifact`.
pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    let Command::Artifact(wanted) = &arguments.command;
    let url = wanted.url.as_deref();
    let url = url.ok_or_else(|| Failure::flux("artifact name is required"))?;
    if wanted.tags.is_empty() {
        return Err(Failure::flux("--tag is required"));
    }
    let (reference, text) = registry::parse(url)?;
    let repository = reference.repository();
    let login = &wanted.login;
    let target = Target { repository, login, insecure: false, access: Access::Push };
    registry::with(&target, globals.timeout(), async |remote| {
        tell::action("tagging artifact");
        let failed = |error: &dyn std::fmt::Display| {
            Failure::flux(format!("tagging artifact failed: {error}"))
        };
        let found = remote.manifest(&reference).await;
        let found = found.map_err(|error| failed(&format!("fetching {text:?}: {error}")))?;
        for tag in &wanted.tags {
            let tagged = remote.push_manifest(tag, &found.media_type, &found.content).await;
            tagged.map_err(|error| failed(&error))?;
            tell::success(&format!("artifact tagged as {}", repository.tag(tag)));
        }
        Ok(())
    })?;
    Ok(Outcome::Fine)
}
