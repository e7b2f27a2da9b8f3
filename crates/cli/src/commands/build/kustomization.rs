//! `sluice build kustomization`.

use std::path::PathBuf;

use super::local::{Build, LocalSource, local_sources};
use crate::globals::Globals;
use crate::outcome::{Failure, Outcome};
use crate::session;
use crate::tell;

/// Prints the objects that a Kustomization would apply, with the files of this machine as its source.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The Kustomization.
    name: Option<String>,
    /// The directory that stands for the Kustomization's path.
    #[arg(long, value_name = "DIRECTORY")]
    path: Option<PathBuf>,
    /// A file with the Kustomization, in place of the cluster's.
    #[arg(long, value_name = "FILE")]
    kustomization_file: Option<PathBuf>,
    /// Files to leave out, in the form of .gitignore.
    #[arg(long, value_delimiter = ',', value_name = "PATTERNS")]
    ignore_paths: Vec<String>,
    /// Asks no cluster; variables from ConfigMaps and Secrets are missing.
    #[arg(long)]
    dry_run: bool,
    /// Refuses variables that have neither value nor default.
    #[arg(long)]
    strict_substitute: bool,
    /// Builds the Kustomizations that are found as well.
    #[arg(short, long)]
    recursive: bool,
    /// Where sources lie on this machine, as Kind/namespace/name=path.
    #[arg(long, value_delimiter = ',', value_name = "SOURCE=PATH")]
    local_sources: Vec<LocalSource>,
    /// Taken for Flux's sake: nothing is ever written into the directory.
    #[arg(long)]
    _in_memory_build: bool,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    let name = arguments.name.as_deref();
    let name = name.ok_or_else(|| Failure::flux("kustomization name is required"))?;
    let given = arguments.path.clone().unwrap_or_default();
    let path = std::path::absolute(&given).ok().filter(|path| path.is_dir());
    let path = path.ok_or_else(|| {
        let shown = std::path::absolute(&given).unwrap_or_else(|_| given.clone());
        Failure::flux(format!("invalid resource path {:?}", shown.display().to_string()))
    })?;
    if arguments.dry_run && arguments.kustomization_file.is_none() {
        return Err(Failure::flux("dry-run mode requires a kustomization file"));
    }
    if let Some(file) = arguments.kustomization_file.as_ref().filter(|file| !file.is_file()) {
        let file = file.display().to_string();
        return Err(Failure::flux(format!("invalid kustomization file {file:?}")));
    }
    let build = Build {
        name: name.to_owned(),
        namespace: globals.namespace()?,
        path,
        file: arguments.kustomization_file.clone(),
        ignore: arguments.ignore_paths.clone(),
        strict: arguments.strict_substitute,
        recursive: arguments.recursive,
        local_sources: local_sources(&arguments.local_sources),
        ignore_not_found: false,
        given: None,
    };
    let objects = if arguments.dry_run {
        session::without_cluster(build.run(None))?
    } else {
        session::with(globals, async |session| build.run(Some(session)).await)?
    };
    let texts = objects.objects.iter().map(sluice_yaml::from_json);
    tell::data(&texts.map(|text| text + "---\n").collect::<Vec<_>>().concat())?;
    Ok(Outcome::Fine)
}
