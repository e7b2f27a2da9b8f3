//! The commands, one file each.

mod artifact;
mod build;
mod check;
mod cluster;
mod completion;
mod crds;
mod create;
mod debug;
mod delete;
mod demo;
mod diff;
mod envsubst;
mod events;
mod evidence;
mod export;
mod get;
mod install;
mod kustomize;
mod logs;
mod migrate;
mod moving;
mod reconcile;
mod resume;
mod serve;
mod stats;
pub(crate) mod suspend;
mod trace;
mod tree;
mod uninstall;
mod version;

use clap::{Parser, Subcommand};

use crate::globals::Globals;
use crate::outcome::{Failure, Outcome};

/// GitOps for Kubernetes in one binary.
#[derive(Debug, Parser)]
#[command(name = "sluice", version, about, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    globals: Globals,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Checks the cluster and the installed controllers.
    Check(check::Arguments),
    /// Builds a Kustomization from local files.
    Build(build::Arguments),
    /// An embedded Kubernetes cluster for tests, demonstrations and rehearsals.
    Cluster(cluster::Arguments),
    /// Creates objects of Flux from flags, or prints them.
    Create(Box<create::Arguments>),
    /// Prints a completion script for a shell.
    Completion(completion::Arguments),
    /// Prints the CustomResourceDefinitions of Flux and Flux Operator.
    Crds,
    /// Shows the inputs of a controller for an object.
    Debug(debug::Arguments),
    /// Deletes objects of Flux.
    Delete(delete::Arguments),
    /// Shows a demo on an embedded cluster, live on the terminal.
    Demo(demo::Arguments),
    /// Compares a Kustomization, built from local files, with the cluster.
    Diff(diff::Arguments),
    /// Substitutes variables in standard input.
    Envsubst(envsubst::Arguments),
    /// Prints the events of Flux's objects.
    Events(events::Arguments),
    /// Prints the evidence of what a Kustomization applied, as one JSON document.
    Evidence(evidence::Arguments),
    /// Prints objects of Flux as YAML manifests.
    Export(export::Arguments),
    /// Prints objects of Flux and their state.
    Get(get::Arguments),
    /// Installs the controllers.
    Install(install::Arguments),
    /// Builds kustomizations.
    Kustomize(kustomize::Arguments),
    /// Lists artifacts.
    List(artifact::list::Arguments),
    /// Prints the logs of the controllers.
    Logs(logs::Arguments),
    /// Moves an object from one Kustomization to another without deleting it.
    Move(moving::Arguments),
    /// Migrates objects to the current API versions, in files or in the cluster.
    Migrate(migrate::Arguments),
    /// Pulls artifacts.
    Pull(artifact::pull::Arguments),
    /// Pushes artifacts.
    Push(artifact::push::Arguments),
    /// Reconciles an object now and waits for the result.
    Reconcile(reconcile::Arguments),
    /// Resumes the reconciliation of objects.
    Resume(resume::Arguments),
    /// Runs the controllers until it is stopped.
    ///
    /// It installs no CRDs; a kind is served as soon as its CRD exists.
    Serve(Box<serve::Arguments>),
    /// Counts objects of Flux and names the bottleneck.
    Stats(stats::Arguments),
    /// Suspends the reconciliation of objects.
    Suspend(suspend::Arguments),
    /// Tags artifacts.
    Tag(artifact::tag::Arguments),
    /// Traces objects back to their sources.
    Trace(trace::Arguments),
    /// Prints the inventory of a Kustomization or an artifact generator as a tree.
    Tree(tree::Arguments),
    /// Removes the controllers and Flux's CRDs; applied objects stay.
    Uninstall(uninstall::Arguments),
    /// Prints the versions of this program and of the installed controllers.
    Version(version::Arguments),
}

/// Runs the command that was typed.
pub(crate) fn run(arguments: Arguments) -> Result<Outcome, Failure> {
    let globals = &arguments.globals;
    match arguments.command {
        Command::Check(arguments) => check::run(&arguments, globals),
        Command::Build(arguments) => build::run(&arguments, globals),
        Command::Cluster(arguments) => cluster::run(arguments),
        Command::Create(arguments) => create::run(&arguments, globals),
        Command::Completion(arguments) => completion::run(&arguments),
        Command::Crds => crds::run(),
        Command::Debug(arguments) => debug::run(&arguments, globals),
        Command::Delete(arguments) => delete::run(&arguments, globals),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments, globals),
        Command::Envsubst(arguments) => envsubst::run(&arguments),
        Command::Events(arguments) => events::run(&arguments, globals),
        Command::Evidence(arguments) => evidence::run(&arguments, globals),
        Command::Export(arguments) => export::run(&arguments, globals),
        Command::Get(arguments) => get::run(&arguments, globals),
        Command::Install(arguments) => install::run(&arguments, globals),
        Command::Kustomize(arguments) => kustomize::run(&arguments),
        Command::List(arguments) => artifact::list::run(&arguments, globals),
        Command::Logs(arguments) => logs::run(&arguments, globals),
        Command::Move(arguments) => moving::run(&arguments, globals),
        Command::Migrate(arguments) => migrate::run(&arguments, globals),
        Command::Pull(arguments) => artifact::pull::run(&arguments, globals),
        Command::Push(arguments) => artifact::push::run(&arguments, globals),
        Command::Reconcile(arguments) => reconcile::run(&arguments, globals),
        Command::Resume(arguments) => resume::run(&arguments, globals),
        Command::Serve(arguments) => serve::run(*arguments),
        Command::Stats(arguments) => stats::run(&arguments, globals),
        Command::Suspend(arguments) => suspend::run(&arguments, globals),
        Command::Tag(arguments) => artifact::tag::run(&arguments, globals),
        Command::Trace(arguments) => trace::run(&arguments, globals),
        Command::Tree(arguments) => tree::run(&arguments, globals),
        Command::Uninstall(arguments) => uninstall::run(&arguments, globals),
        Command::Version(arguments) => version::run(&arguments, globals),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn no_two_flags_of_a_command_are_typed_alike() {
        super::Arguments::command().debug_assert();
    }
}
