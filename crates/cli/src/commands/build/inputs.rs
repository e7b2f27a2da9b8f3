//! What `build kustomization` and `diff kustomization` are given alike.

use std::path::{Path, PathBuf};

use sluice_source::network::HostPattern;

use super::local::{Build, LocalSource, local_sources};
use crate::globals::Globals;
use crate::outcome::Failure;

/// A Kustomization, and the files of this machine that stand for its source.
#[derive(Debug, clap::Args)]
pub(crate) struct Inputs {
    /// The Kustomization.
    pub(crate) name: Option<String>,
    /// The directory that stands for the Kustomization's path.
    #[arg(long, value_name = "DIRECTORY")]
    path: Option<PathBuf>,
    /// A file with the Kustomization, in place of the cluster's.
    #[arg(long, value_name = "FILE")]
    pub(crate) kustomization_file: Option<PathBuf>,
    /// Files to leave out, in the form of .gitignore.
    #[arg(long, value_delimiter = ',', value_name = "PATTERNS")]
    ignore_paths: Vec<String>,
    /// Refuses variables that have neither value nor default.
    #[arg(long)]
    strict_substitute: bool,
    /// Goes into the Kustomizations that are found as well.
    #[arg(short, long)]
    pub(crate) recursive: bool,
    /// Where sources lie on this machine, as Kind/namespace/name=path.
    #[arg(long, value_delimiter = ',', value_name = "SOURCE=PATH")]
    local_sources: Vec<LocalSource>,
    /// Private hosts that remote bases may name: a name, *.domain, an address or a block of addresses, with :port
    /// if need be.
    #[arg(long, value_delimiter = ',', value_name = "HOSTS")]
    allow_content_hosts: Vec<HostPattern>,
    /// Taken for Flux's sake: nothing is ever written into the directory.
    #[arg(long)]
    _in_memory_build: bool,
}

impl Inputs {
    /// The name of the Kustomization.
    pub(crate) fn name(&self) -> Result<&str, Failure> {
        self.name.as_deref().ok_or_else(|| Failure::flux("kustomization name is required"))
    }

    /// The directory, as it was typed.
    pub(crate) fn typed(&self) -> &Path {
        self.path.as_deref().unwrap_or(Path::new(""))
    }

    /// The directory, if it is one.
    pub(crate) fn directory(&self) -> Option<PathBuf> {
        std::path::absolute(self.typed()).ok().filter(|path| path.is_dir())
    }

    /// Refuses a file with the Kustomization that is none.
    pub(crate) fn check_file(&self) -> Result<(), Failure> {
        match self.kustomization_file.as_ref().filter(|file| !file.is_file()) {
            None => Ok(()),
            Some(file) => {
                let file = file.display().to_string();
                Err(Failure::flux(format!("invalid kustomization file {file:?}")))
            }
        }
    }

    /// What is built from a directory.
    pub(crate) fn build(&self, path: PathBuf, globals: &Globals) -> Result<Build, Failure> {
        Ok(Build {
            name: self.name()?.to_owned(),
            namespace: globals.namespace()?,
            path,
            file: self.kustomization_file.clone(),
            ignore: self.ignore_paths.clone(),
            strict: self.strict_substitute,
            recursive: self.recursive,
            local_sources: local_sources(&self.local_sources),
            content_hosts: self.allow_content_hosts.clone(),
            ignore_not_found: false,
            given: None,
        })
    }
}

/// Why a directory is refused.
pub(crate) fn invalid_path(shown: &Path) -> Failure {
    let shown = shown.display().to_string();
    let failure = Failure::flux(format!("invalid resource path {shown:?}"));
    if shown.is_empty() {
        return failure.hint("--path names the directory that stands for the Kustomization's path");
    }
    failure
}
