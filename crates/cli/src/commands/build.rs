//! `sluice build`: what would be applied, or packed, without doing it.

mod inputs;
mod kustomization;
mod local;
mod mask;

use clap::Subcommand;

use super::artifact;
use crate::globals::Globals;
use crate::outcome::{Failure, Outcome};
pub(crate) use inputs::{Inputs, invalid_path};
pub(crate) use local::{Build, is_kustomization, is_same};
pub(crate) use mask::MASK;

/// Builds things locally.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Packs files as `push artifact` does, into a file.
    Artifact(artifact::build::Arguments),
    /// Prints the objects of a Kustomization, built from local files.
    #[command(alias = "ks")]
    Kustomization(kustomization::Arguments),
}

/// Runs `sluice build`.
pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    match &arguments.what {
        What::Artifact(wanted) => artifact::build::run(wanted),
        What::Kustomization(wanted) => kustomization::run(wanted, globals),
    }
}
