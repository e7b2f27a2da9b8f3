//! `sluice build kustomization`.

use super::inputs::{Inputs, invalid_path};
use crate::globals::Globals;
use crate::outcome::{Failure, Outcome};
use crate::session;
use crate::tell;

/// Prints the objects that a Kustomization would apply, with the files of this machine as its source.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    inputs: Inputs,
    /// Asks no cluster; variables from ConfigMaps and Secrets are missing.
    #[arg(long)]
    dry_run: bool,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    let inputs = &arguments.inputs;
    inputs.name()?;
    let path = inputs.directory().ok_or_else(|| {
        let shown = std::path::absolute(inputs.typed());
        invalid_path(shown.as_deref().unwrap_or(inputs.typed()))
    })?;
    if arguments.dry_run && inputs.kustomization_file.is_none() {
        return Err(Failure::flux("dry-run mode requires a kustomization file"));
    }
    inputs.check_file()?;
    let build = inputs.build(path, globals)?;
    let objects = if arguments.dry_run {
        session::without_cluster(build.run(None))?
    } else {
        session::with(globals, async |session| build.run(Some(session)).await)?
    };
    let texts = objects.objects.iter().map(|object| sluice_yaml::from_json(&object.value));
    tell::data(&texts.map(|text| text + "---\n").collect::<Vec<_>>().concat())?;
    Ok(Outcome::Fine)
}
