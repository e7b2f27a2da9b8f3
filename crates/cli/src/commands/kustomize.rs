//! `sluice kustomize build`: prints the objects of a kustomization, like kustomize.

mod disk;
mod report;

use std::io::{ErrorKind, Write as _};
use std::num::NonZero;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use sluice_kustomize::{Answers, Build, LoadRestrictor, Options, Reorder, step};
use sluice_source::network::HostPattern;

use crate::egress::with_remote_bases;
use crate::outcome::{Failure, Outcome};
use crate::session;
pub(crate) use disk::Disk;

/// Builds kustomizations, exactly as kustomize 5.8.1 does.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Prints the objects of the kustomization in a directory.
    Build(BuildArguments),
}

#[derive(Debug, Args)]
struct BuildArguments {
    /// The directory with the kustomization file.
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// The output: a file, an existing directory (one file for each object), or `-`.
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// The files that a kustomization may refer to.
    #[arg(long, value_enum, default_value_t = Restrictor::RootOnly, value_name = "WHICH")]
    load_restrictor: Restrictor,
    /// The order of the objects, unless the kustomization has `sortOptions`.
    #[arg(long, value_enum, value_name = "ORDER")]
    reorder: Option<Order>,
    /// Adds the label app.kubernetes.io/managed-by; prefer `buildMetadata`.
    #[arg(long)]
    enable_managedby_label: bool,
    /// Merges lists of custom resources by the keys in their CRDs of the build; kustomize replaces such
    /// lists.
    #[arg(long)]
    crd_merge_keys: bool,
    /// Private hosts that remote bases may use: a name, *.domain, an address or a network, with an optional
    /// :port.
    #[arg(long, value_delimiter = ',', value_name = "HOSTS")]
    allow_content_hosts: Vec<HostPattern>,
    #[command(flatten)]
    refused: Refused,
    #[command(flatten)]
    ignored: Ignored,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Restrictor {
    /// Files in and below its own directory.
    #[value(name = "LoadRestrictionsRootOnly")]
    RootOnly,
    /// All files.
    #[value(name = "LoadRestrictionsNone")]
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Order {
    /// By kind and name: namespaces first, webhooks last.
    Legacy,
    /// In the order of accumulation.
    None,
}

/// Flags of kustomize that would run other programs.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
struct Refused {
    #[arg(long, hide = true)]
    enable_alpha_plugins: bool,
    #[arg(long, hide = true)]
    enable_exec: bool,
    #[arg(long, hide = true)]
    enable_helm: bool,
    #[arg(long, hide = true)]
    network: bool,
}

/// Flags of kustomize that are only for plugins; scripts pass them.
#[derive(Debug, Args)]
struct Ignored {
    #[arg(long, hide = true)]
    as_current_user: bool,
    #[arg(short, long, hide = true)]
    env: Vec<String>,
    #[arg(long, hide = true)]
    mount: Vec<String>,
    #[arg(long, hide = true)]
    network_name: Option<String>,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    match &arguments.command {
        Command::Build(arguments) => build(arguments),
    }
}

fn build(arguments: &BuildArguments) -> Result<Outcome, Failure> {
    arguments.refused.check()?;
    let here = std::env::current_dir()
        .map_err(|error| Failure::caused("cannot tell the current directory", error))?;
    let options = Options {
        reorder: match arguments.reorder {
            None => Reorder::Unspecified,
            Some(Order::Legacy) => Reorder::Legacy,
            Some(Order::None) => Reorder::None,
        },
        load_restrictor: match arguments.load_restrictor {
            Restrictor::RootOnly => LoadRestrictor::RootOnly,
            Restrictor::None => LoadRestrictor::None,
        },
        managed_by_label: arguments.enable_managedby_label
            || std::env::var_os("KUSTOMIZE_ENABLE_MANAGEDBY_LABEL").is_some_and(|is| is == "on"),
        crd_merge_keys: arguments.crd_merge_keys,
        threads: std::thread::available_parallelism().map_or(1, NonZero::get),
        ..Options::default()
    };
    let root = root(&here, &arguments.dir);
    let disk = Disk::default();
    let build = |answers: &Answers| step(&disk, &root, &options, answers);
    match session::without_cluster(with_remote_bases(&arguments.allow_content_hosts, build))? {
        Ok(build) => {
            report::warnings(build.warnings(), &here);
            write(&build, arguments.output.as_deref())?;
            // The process ends: freeing thousands of small allocations would be waste.
            std::mem::forget(build);
            Ok(Outcome::Fine)
        }
        Err(failure) => {
            report::failure(&failure, &here);
            Ok(Outcome::Findings)
        }
    }
}

/// The directory as the engine names it; a possible URL is unchanged.
fn root(here: &Path, dir: &Path) -> String {
    let written = dir.to_string_lossy();
    let is_elsewhere = written.contains("://") || written.contains('@');
    if (is_elsewhere || written.starts_with("github.com")) && !dir.exists() {
        return written.into_owned();
    }
    here.join(dir).to_string_lossy().into_owned()
}

impl Refused {
    fn check(&self) -> Result<(), Failure> {
        let flags = [
            (self.enable_alpha_plugins, "--enable-alpha-plugins"),
            (self.enable_exec, "--enable-exec"),
            (self.enable_helm, "--enable-helm"),
            (self.network, "--network"),
        ];
        match flags.into_iter().find(|(is_set, _)| *is_set) {
            None => Ok(()),
            Some((_, flag)) => Err(Failure::new(format!(
                "{flag} is not supported: no plugin, container or chart is run"
            ))
            .hint("generators and transformers with `apiVersion: builtin` work without it")),
        }
    }
}

fn write(build: &Build, output: Option<&Path>) -> Result<(), Failure> {
    let cannot =
        |path: &Path, error| Failure::caused(format!("cannot write {}", path.display()), error);
    match output.filter(|path| *path != Path::new("-")) {
        Some(directory) if directory.is_dir() => {
            for (name, text) in build.to_files() {
                let path = directory.join(name);
                std::fs::write(&path, text).map_err(|error| cannot(&path, error))?;
            }
            Ok(())
        }
        Some(file) => std::fs::write(file, build.to_yaml()).map_err(|error| cannot(file, error)),
        None => {
            let mut stdout = std::io::stdout().lock();
            let written =
                stdout.write_all(build.to_yaml().as_bytes()).and_then(|()| stdout.flush());
            match written {
                // The reader closed the pipe.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
                written => {
                    written.map_err(|error| Failure::caused("cannot write the objects", error))
                }
            }
        }
    }
}
