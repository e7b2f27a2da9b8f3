//! `sluice diff artifact`: compares the files of an artifact in a registry with local files.

use std::path::PathBuf;

use clap::Args;
use sluice_source::archive::{ArchiveLimits, unpack};
use sluice_source::oci::{Access, layer};

use super::local::{Files, IGNORED, Trouble, no_path};
use super::registry::Target;
use super::{Login, registry};
use crate::globals::Globals;
use crate::outcome::{Failure, Outcome};
use crate::tell;

/// What to compare.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The address: `oci://<registry>/<repository>:<tag>`.
    url: Option<String>,
    /// The directory or file.
    #[arg(long, value_name = "PATH")]
    path: Option<PathBuf>,
    #[command(flatten)]
    login: Login,
    /// Patterns to exclude, in the form of `.gitignore`.
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',', default_value = IGNORED)]
    ignore_paths: Vec<String>,
    /// Allows plain HTTP.
    #[arg(long)]
    insecure_registry: bool,
}

/// Runs `sluice diff artifact`. Flux compares the packed bytes; here the files are compared, because programs pack
/// differently.
pub(crate) fn run(wanted: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    let missing = |what: &str| Failure::flux(what.to_owned());
    let url = wanted.url.as_deref().ok_or_else(|| missing("artifact URL is required"))?;
    let path = wanted.path.as_deref().ok_or_else(no_path)?;
    let (reference, _) = registry::parse(url)?;
    let files = Files::read(path, false).map_err(|trouble| {
        Failure::flux(match trouble {
            Trouble::Missing(_) => format!(
                "invalid path '{}', must point to an existing directory or file",
                path.display()
            ),
            Trouble::Unreadable(error) => format!("building artifact failed: {error}"),
        })
    })?;
    let local = files.pack(&wanted.ignore_paths)?;
    let target = Target {
        repository: reference.repository(),
        login: &wanted.login,
        insecure: wanted.insecure_registry,
        access: Access::Pull,
    };
    let there = registry::with(&target, globals.timeout(), async |remote| {
        let failed = |error: &dyn std::fmt::Display| Failure::flux(error.to_string());
        let image = remote.image(&reference).await.map_err(|error| failed(&error))?;
        let first = layer(&image, "").map_err(|error| failed(&error))?;
        remote.blob(first).await.map_err(|error| failed(&error))
    })?;
    let unpacked = |content| unpack(content, ArchiveLimits::default()).ok();
    if local != there && unpacked(&local) != unpacked(&there) {
        return Err(Failure::flux("the remote artifact contents differs from the local one"));
    }
    tell::success("no changes detected");
    Ok(Outcome::Fine)
}
