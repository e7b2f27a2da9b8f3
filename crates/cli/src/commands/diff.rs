//! `sluice diff`: what is different between here and there.

mod kustomization;
mod report;

use clap::Subcommand;

use super::artifact;
use crate::globals::Globals;
use crate::outcome::{Failure, Outcome};

/// Compares things with what is in the cluster. 0: nothing differs, 1: something does, 2: it failed.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Compares files with those of an artifact in a registry; 1 also means that it failed, as Flux has it.
    Artifact(artifact::diff::Arguments),
    /// Compares a Kustomization, built from local files, with the cluster.
    #[command(alias = "ks")]
    Kustomization(kustomization::Arguments),
}

/// Runs `sluice diff`.
pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    match &arguments.what {
        What::Artifact(wanted) => artifact::diff::run(wanted, globals),
        What::Kustomization(wanted) => kustomization::run(wanted, globals),
    }
}
