//! `sluice create`: objects of Flux from flags, applied, or printed with --export.

mod address;
mod kustomization;
mod made;
mod secret;
mod source;
mod ssh;
mod tenant;

use clap::Subcommand;
use sluice_base::duration::GoDuration;

use crate::globals::Globals;
use crate::outcome::{Failure, Outcome};
use made::Maker;

/// Makes objects of Flux, or changes them.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
    #[command(flatten)]
    how: How,
}

/// What all of them take.
#[derive(Debug, clap::Args)]
struct How {
    /// How often to reconcile.
    #[arg(long, global = true, default_value = "1m", value_name = "DURATION")]
    interval: GoDuration,
    /// Prints the object as YAML, and asks no cluster.
    #[arg(long, global = true)]
    export: bool,
    /// Labels, as NAME=VALUE.
    #[arg(long, global = true, value_delimiter = ',', value_name = "NAME=VALUE")]
    label: Vec<String>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Makes a source.
    #[command(subcommand)]
    Source(source::Source),
    /// Makes a Kustomization.
    #[command(alias = "ks")]
    Kustomization(kustomization::Arguments),
    /// Makes a tenant: namespaces, a service account and its rights in them.
    Tenant(tenant::Arguments),
    /// Makes a secret in the form that sources read.
    #[command(subcommand)]
    Secret(secret::Secret),
}

/// Runs `sluice create`.
pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    let How { interval, export, label } = &arguments.how;
    let maker = Maker {
        globals,
        namespace: globals.namespace()?,
        interval: *interval,
        export: *export,
        labels: label,
    };
    match &arguments.what {
        What::Source(wanted) => source::run(wanted, &maker)?,
        What::Kustomization(wanted) => kustomization::run(wanted, &maker)?,
        What::Tenant(wanted) => tenant::run(wanted, &maker)?,
        What::Secret(wanted) => secret::run(wanted, &maker)?,
    }
    Ok(Outcome::Fine)
}
