//! `sluice build artifact`: packs files as `push` does, into a file.

use std::path::PathBuf;

use clap::Args;

use super::local::{Files, IGNORED, Trouble, no_path};
use crate::outcome::{Failure, Outcome};
use crate::tell;

/// What to pack.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The directory or file; `-` is standard input.
    #[arg(short, long, value_name = "PATH")]
    path: Option<PathBuf>,
    /// The output file.
    #[arg(short, long, value_name = "FILE", default_value = "artifact.tgz")]
    output: PathBuf,
    /// Patterns to exclude, in the form of `.gitignore`.
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',', default_value = IGNORED)]
    ignore_paths: Vec<String>,
    /// Follows symbolic links; by default they are skipped.
    #[arg(long)]
    resolve_symlinks: bool,
}

/// Runs `sluice build artifact`.
pub(crate) fn run(wanted: &Arguments) -> Result<Outcome, Failure> {
    let path = wanted.path.as_deref().ok_or_else(no_path)?;
    let files = Files::read(path, wanted.resolve_symlinks).map_err(|trouble| {
        Failure::flux(match trouble {
            Trouble::Missing(_) => format!(
                "invalid path '{}', must point to an existing directory or file",
                path.display()
            ),
            Trouble::Unreadable(error) => format!("building artifact failed, error: {error}"),
        })
    })?;
    tell::action(&format!("building artifact from {}", files.shown));
    let packed = files.pack(&wanted.ignore_paths)?;
    std::fs::write(&wanted.output, packed).map_err(|error| {
        Failure::caused("building artifact failed, error", error).in_flux_style()
    })?;
    tell::success(&format!("artifact created at {}", wanted.output.display()));
    Ok(Outcome::Fine)
}
