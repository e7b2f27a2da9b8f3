//! Builds a kustomization: a directory in, objects out.

mod output;

use std::sync::{Mutex, PoisonError};

use sluice_base::need::Step;

use crate::accumulate::{Accumulator, Session, Target};
use crate::config::Specs;
use crate::failure::{Diagnostic, Failure, Gathered, Result};
use crate::field_spec::FieldSpec;
use crate::kustomization::Kustomization;
use crate::loader::{Asked, LoadRestrictor, Loader, Remote, RemoteFiles};
use crate::place::EntryPlaces;
use crate::read;
use crate::references;
use crate::resource::annotation;
use crate::resources::Resources;
use crate::transformers::{Hash, Labels, LegacyOrder, SortOrder, Transformer as _};
use crate::tree::FileTree;
use crate::vars;
use output::Keeps;
pub(crate) use output::share;

pub use output::Build;

/// The value of the label of `buildMetadata: [managedByLabel]`: that of the kustomize version that this engine
/// matches, so that switching programs changes no object.
const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "kustomize-v5.8.1");

/// The order of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reorder {
    /// As the kustomization sets it, else as [`Reorder::Legacy`].
    #[default]
    Unspecified,
    /// In the order of accumulation, unless the kustomization sets another.
    None,
    /// By kind and name, namespaces first and webhooks last, unless the kustomization sets another.
    Legacy,
}

/// Options of a build.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// The order of the objects.
    pub reorder: Reorder,
    /// The files that a kustomization may refer to.
    pub load_restrictor: LoadRestrictor,
    /// Whether every object gets the label `app.kubernetes.io/managed-by`.
    pub managed_by_label: bool,
    /// The entries that may be URLs of files.
    pub remote_files: RemoteFiles,
    /// Whether lists in custom resources are merged by the keys in their CRDs of the build. kustomize replaces such
    /// lists.
    pub crd_merge_keys: bool,
    /// Whether a schema of the field `openapi` is added to the recorded one, as in Flux, which loads the recorded one before
    /// each build. In kustomize it replaces the recorded one.
    pub keep_recorded_schema: bool,
    /// Whether objects come with the places that they are written at, and where the entries of kustomization files
    /// are written that the source has in another form than the build reads.
    pub places: Option<&'a dyn EntryPlaces>,
    /// The number of threads for reading files and writing objects of a large build; the result does not depend on it. Zero
    /// and one are the same.
    pub threads: usize,
}

/// Builds the kustomization in the directory `root` of the tree, without files of other machines.
pub fn build(
    tree: &dyn FileTree,
    root: &str,
    options: &Options<'_>,
) -> std::result::Result<Build, Failure> {
    run(tree, root, options, None).map_err(Failure::without_repeats)
}

/// Builds the kustomization in the directory `root` of the tree with the files and repositories of other machines
/// that have been fetched; needs those that have not. A build that fails and needs something may not fail once that
/// is there, so it only needs.
pub fn step(
    tree: &dyn FileTree,
    root: &str,
    options: &Options<'_>,
    remote: &dyn Remote,
) -> std::result::Result<Step<Build>, Failure> {
    let missed = Mutex::default();
    let built = run(tree, root, options, Some(Asked { remote, missed: &missed }));
    let missed = missed.into_inner().unwrap_or_else(PoisonError::into_inner);
    match built {
        Ok(build) => Ok(Step::Done(build)),
        Err(_) if !missed.is_empty() => Ok(Step::Needs(missed)),
        Err(failure) => Err(failure.without_repeats()),
    }
}

fn run(
    tree: &dyn FileTree,
    root: &str,
    options: &Options<'_>,
    remote: Option<Asked<'_>>,
) -> Result<Build> {
    let mut session = Session::new(options);
    if options.keep_recorded_schema {
        session.schema.use_recorded();
    }
    let loader = Loader::start(tree, remote, options.load_restrictor, root)?
        .with_remote_files(options.remote_files);
    let mut target = Target::load(loader, &mut session)?;
    target.choose_schema(&mut session, true)?;
    if !target.kustomization.build_metadata.is_empty() {
        target.track_origins();
    }
    let accumulated = target.accumulate(&mut session)?;
    let mut resources = finish(accumulated, &mut session)?;
    sort(&mut resources, &target.kustomization, options, &mut session)?;
    let metadata = &target.kustomization.build_metadata;
    let wants = |name: &str| metadata.iter().any(|wanted| wanted == name);
    if options.managed_by_label || wants("managedByLabel") {
        label(&mut resources, &session)?;
    }
    let keeps =
        Keeps { origins: wants("originAnnotations"), changes: wants("transformerAnnotations") };
    let threads = options.threads;
    let made = output::Making { schema: &session.schema, keeps, places: options.places };
    Build::of(resources, made, threads, session.warnings)
}

/// The last steps, after all layers: hashes, name references, vars; removes what exists only during the
/// build.
fn finish(accumulated: Accumulator, session: &mut Session) -> Result<Resources> {
    let Accumulator { mut resources, config, vars } = accumulated;
    let schema = &session.schema;
    Hash.transform(&mut resources, schema)?;
    references::fix_back_references(&mut resources, &config.name_reference, schema)?;
    session.warnings.extend(vars::resolve(&mut resources, &vars, &config.var_reference)?);
    let mut wrong = Gathered::default();
    resources.list_mut().retain(|resource| {
        if resource.is_empty() {
            return false;
        }
        wrong.take(read::check(&resource.node));
        resource.annotation(annotation::LOCAL_CONFIG).is_none_or(|value| value == "false")
    });
    wrong.finish()?;
    Ok(resources)
}

fn sort(
    resources: &mut Resources,
    kustomization: &Kustomization,
    options: &Options<'_>,
    session: &mut Session,
) -> Result<()> {
    let order = match &kustomization.sort_options {
        Some(wanted) => {
            if options.reorder != Reorder::Unspecified {
                session.warnings.push(Diagnostic {
                    file: Some(kustomization.path().to_owned()),
                    position: kustomization.position(&["sortOptions"]),
                    message: "Sorting order is set both in 'kustomization.yaml' ('sortOptions') and \
                              in a CLI flag ('--reorder'). Using the kustomization file over the CLI \
                              flag."
                        .to_owned(),
                    ..Diagnostic::default()
                });
            }
            SortOrder::new(Some(wanted))
                .map_err(|failure| kustomization.place(failure, &["sortOptions"]))?
        }
        None if options.reorder == Reorder::None => return Ok(()),
        None => SortOrder::Legacy(LegacyOrder::default()),
    };
    order.transform(resources, &session.schema)
}

fn label(resources: &mut Resources, session: &Session) -> Result<()> {
    let spec =
        FieldSpec { path: "metadata/labels".to_owned(), create: true, ..FieldSpec::default() };
    let (name, value) = MANAGED_BY;
    let labels = [(name.to_owned(), value.to_owned())].into();
    Labels::new(labels, Specs::new(vec![spec])).transform(resources, &session.schema)
}
