//! `sluice migrate`: migrates old API versions of Flux's kinds, in files or in the cluster's storage.

mod files;
mod stored;

use std::path::PathBuf;

use crate::globals::Globals;
use crate::outcome::{Failure, Outcome};
use crate::session;

/// Migrates objects to the current API versions: in files with -f, in the cluster's storage without.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The directory or file with the manifests.
    #[arg(short = 'f', long, value_name = "PATH")]
    path: Option<PathBuf>,
    /// The extensions of files to migrate.
    #[arg(
        short,
        long,
        value_delimiter = ',',
        default_value = ".yaml,.yml",
        value_name = "ENDINGS"
    )]
    extensions: Vec<String>,
    /// The minor version of Flux to migrate to; the latest by default.
    #[arg(short = 'v', long, value_name = "VERSION")]
    version: Option<String>,
    /// Does not ask for confirmation.
    #[arg(short, long)]
    yes: bool,
    /// Prints what would change, and changes nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Runs `sluice migrate`.
pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    match &arguments.path {
        Some(path) => files::run(path, arguments)?,
        None => session::with(globals, async |session| stored::run(session).await)?,
    }
    Ok(Outcome::Fine)
}
