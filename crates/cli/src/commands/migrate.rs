//! `sluice migrate`: old API versions of Flux's kinds, in files or in the cluster's storage.

mod files;
mod stored;

use std::path::PathBuf;

use crate::globals::Globals;
use crate::outcome::{Failure, Outcome};
use crate::session;

/// Moves objects to the API versions of today: in files with -f, in the cluster's storage without.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The directory, or the file, with the manifests.
    #[arg(short = 'f', long, value_name = "PATH")]
    path: Option<PathBuf>,
    /// The endings of files that are looked at.
    #[arg(
        short,
        long,
        value_delimiter = ',',
        default_value = ".yaml,.yml",
        value_name = "ENDINGS"
    )]
    extensions: Vec<String>,
    /// The minor version of Flux to move to; the newest if it is not given.
    #[arg(short = 'v', long, value_name = "VERSION")]
    version: Option<String>,
    /// Does not ask.
    #[arg(short, long)]
    yes: bool,
    /// Says what would change, and changes nothing.
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
