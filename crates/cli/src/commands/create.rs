//! `sluice create`: creates objects of Flux from flags, or prints them with --export.

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

/// Creates or updates objects of Flux.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
    #[command(flatten)]
    how: How,
}

/// The flags of all kinds.
#[derive(Debug, clap::Args)]
struct How {
    /// The interval of reconciliations.
    #[arg(long, global = true, default_value = "1m", value_name = "DURATION")]
    interval: GoDuration,
    /// Prints the object as YAML, without a cluster.
    #[arg(long, global = true)]
    export: bool,
    /// Labels, as NAME=VALUE.
    #[arg(long, global = true, value_delimiter = ',', value_name = "NAME=VALUE")]
    label: Vec<String>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Creates a source.
    #[command(subcommand)]
    Source(source::Source),
    /// Creates a Kustomization.
    #[command(alias = "ks")]
    Kustomization(kustomization::Arguments),
    /// Creates a tenant: namespaces, a service account and its rights in them.
    Tenant(tenant::Arguments),
    /// Creates a secret for a source.
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
