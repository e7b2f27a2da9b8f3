//! `sluice debug`: what a controller works with, laid open.

mod variables;

use clap::Subcommand;
use serde_json::{Value, json};

use crate::globals::Globals;
use crate::kinds;
use crate::outcome::{Failure, Outcome};
use crate::session::{self, Session};
use crate::tell;

/// Shows what a controller works with. Values of Secrets are shown as they are.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Of a Kustomization. With --show-vars, values of Secrets are shown as they are.
    #[command(alias = "ks")]
    Kustomization(OfKustomization),
}

#[derive(Debug, clap::Args)]
struct OfKustomization {
    /// The Kustomization.
    name: Vec<String>,
    /// Its status.
    #[arg(long)]
    show_status: bool,
    /// Its variables, as NAME=VALUE.
    #[arg(long)]
    show_vars: bool,
    /// Its history.
    #[arg(long)]
    show_history: bool,
}

const PAGE: &str = "https://fluxcd.io/flux/components/kustomize/kustomizations/";

/// Runs `sluice debug`.
pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    let What::Kustomization(wanted) = &arguments.what;
    let [name] = wanted.name.as_slice() else {
        let count = wanted.name.len();
        return Err(Failure::flux(format!("accepts 1 arg(s), received {count}")));
    };
    let set = [wanted.show_status, wanted.show_vars, wanted.show_history];
    if set.iter().filter(|set| **set).count() != 1 {
        return Err(Failure::flux(
            "exactly one of --show-status, --show-vars, or --show-history must be set",
        ));
    }
    session::with(globals, async |session| show(session, name, wanted).await)?;
    Ok(Outcome::Fine)
}

async fn show(session: &Session, name: &str, wanted: &OfKustomization) -> Result<(), Failure> {
    let kind = kinds::named("Kustomization")
        .ok_or_else(|| Failure::flux("Kustomization is no kind of Flux"))?;
    let object = session.get(kind, &session.namespace, name).await?;
    if wanted.show_vars {
        return variables::show(session, &object).await;
    }
    let retyped = (kind.retype)(&object).map_err(|error| Failure::flux(error.to_string()))?;
    let status = retyped.get("status").cloned().unwrap_or_else(|| json!({}));
    if wanted.show_status {
        return tell::data(&format!(
            "# Status documentation: {PAGE}#kustomization-status\n{}",
            sluice_yaml::from_json(&status)
        ));
    }
    let history = status.get("history").cloned().unwrap_or_else(|| Value::Array(Vec::new()));
    tell::data(&format!(
        "# History documentation: {PAGE}#history\n{}",
        sluice_yaml::from_json(&history)
    ))
}
