//! The commands, one file each.

mod cluster;
mod crds;
mod demo;
mod kustomize;
mod serve;

use clap::{Parser, Subcommand};

use crate::outcome::{Failure, Outcome};

/// GitOps for Kubernetes in one binary.
#[derive(Debug, Parser)]
#[command(name = "sluice", version, about, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// An embedded Kubernetes cluster for tests, demonstrations and rehearsals.
    Cluster(cluster::Arguments),
    /// Prints the CustomResourceDefinitions of Flux and Flux Operator.
    Crds,
    /// A short story on an embedded cluster, told live on the terminal.
    Demo(demo::Arguments),
    /// Builds kustomizations.
    Kustomize(kustomize::Arguments),
    /// Runs the controllers until it is stopped.
    ///
    /// It installs no definitions; kinds that are not there are served once they appear.
    Serve(serve::Arguments),
}

/// Runs the command that was typed.
pub(crate) fn run(arguments: Arguments) -> Result<Outcome, Failure> {
    match arguments.command {
        Command::Cluster(arguments) => cluster::run(arguments),
        Command::Crds => crds::run(),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Kustomize(arguments) => kustomize::run(&arguments),
        Command::Serve(arguments) => serve::run(arguments),
    }
}
