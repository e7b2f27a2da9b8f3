//! `sluice delete`: deletes objects of Flux, one at a time, after a confirmation.

use crate::ask::confirmed;
use crate::globals::Globals;
use crate::kinds::{Delete, Target, What};
use crate::outcome::{Failure, Outcome};
use crate::session;
use crate::tell;

/// Deletes an object.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    target: Target<Delete>,
    /// Does not ask for confirmation.
    #[arg(short, long, global = true)]
    silent: bool,
}

/// Runs `sluice delete`.
pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    let What::One(kind) = arguments.target.what else { return Ok(Outcome::Fine) };
    let Some(name) = arguments.target.names.first() else {
        return Err(Failure::flux(format!("{} name is required", kind.human)));
    };
    session::with(globals, async |session| {
        let namespace = &session.namespace;
        session.get(kind, namespace, name).await?;
        if !arguments.silent && !confirmed(&format!("delete this {}", kind.human)) {
            return Err(Failure::flux("aborting").hint("--silent does it without asking"));
        }
        tell::action(&format!("deleting {} {name} in {namespace} namespace", kind.human));
        session.delete(kind, name).await?;
        tell::success(&format!("{} deleted", kind.human));
        Ok(())
    })?;
    Ok(Outcome::Fine)
}
