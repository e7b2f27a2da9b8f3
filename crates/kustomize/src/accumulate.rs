//! Accumulates the resources of one kustomization directory: resources, generators, components and transformers, in
//! kustomize's order.
//!
//! What happens once, at the end of a build, is in `build.rs`.

mod absorb;
mod crds;
mod entries;
mod files;
mod generate;
mod plugins;
mod transform;
mod validate;

use std::sync::Arc;

use crate::build::Options;
use crate::config::TransformerConfig;
use crate::failure::{Diagnostic, Failure, Result};
use crate::kustomization::{FILE_NAMES, Kustomization};
use crate::limits;
use crate::loader::Loader;
use crate::openapi::Schema;
use crate::origin::Origin;
use crate::place::Entry;
use crate::resources::Resources;
use crate::transformers::Load as _;
use crate::vars::Vars;
use files::Files;

/// Resources, with the configuration and vars that later layers need.
#[derive(Debug, Default)]
pub(crate) struct Accumulator {
    pub(crate) resources: Resources,
    pub(crate) config: TransformerConfig,
    pub(crate) vars: Vars,
}

impl Accumulator {
    /// Adds the result of another directory.
    fn merge(&mut self, other: Self, schema: &Schema) -> Result<()> {
        limits::objects(self.resources.len() + other.resources.len())?;
        self.resources.append_all(other.resources, schema)?;
        self.config = self.config.merge(&other.config)?;
        self.vars.merge_all(other.vars)
    }
}

/// The shared state of a build.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) schema: Schema,
    pub(crate) warnings: Vec<Diagnostic>,
    files: Files,
    /// The number of chosen schemas; after a change kinds may have another scope.
    schemas_chosen: usize,
    /// Whether list merge keys are read from the CRDs of the build.
    crd_merge_keys: bool,
    /// The number of threads that read files.
    threads: usize,
    /// Whether resources remember where they are written and what changed them.
    places: bool,
}

impl Session {
    pub(crate) fn new(options: &Options<'_>) -> Self {
        Self {
            schema: Schema::builtin(),
            warnings: Vec::new(),
            files: Files::default(),
            schemas_chosen: 0,
            crd_merge_keys: options.crd_merge_keys,
            threads: options.threads,
            places: options.places.is_some(),
        }
    }
}

/// A directory with a kustomization file.
pub(crate) struct Target<'t> {
    loader: Loader<'t>,
    pub(crate) kustomization: Arc<Kustomization>,
    /// The origin of this directory, if `buildMetadata` asks for it.
    origin: Option<Origin>,
}

impl<'t> Target<'t> {
    /// Reads the kustomization file of a directory.
    pub(crate) fn load(loader: Loader<'t>, session: &mut Session) -> Result<Self> {
        if let Some(kustomization) = session.files.kustomization(&loader) {
            return Ok(Self { loader, kustomization, origin: None });
        }
        let mut kustomization = read_kustomization(&loader)?;
        if let Some(faults) = kustomization.faults.take() {
            let target = Self { loader, kustomization: Arc::new(kustomization), origin: None };
            return Err(target.survey(faults, session));
        }
        let kustomization = Arc::new(kustomization);
        session.warnings.extend(kustomization.warnings.iter().cloned());
        session.files.keep_kustomization(&loader, &kustomization);
        Ok(Self { loader, kustomization, origin: None })
    }

    /// The errors of the file and of the paths in it, so that all can be fixed at once. Entries that depend on the whole
    /// file, such as patches, are not checked: they may fail only because something is missing.
    fn survey(&self, faults: Failure, session: &mut Session) -> Failure {
        let it = &self.kustomization;
        let mut nothing = Accumulator::default();
        let resources = self
            .add_resources(&mut nothing, &it.resources, "resources", session)
            .map_err(|failure| failure.wrapped("accumulating resources"));
        let configurations = TransformerConfig::load(&self.loader, &it.configurations)
            .map(drop)
            .map_err(|failure| it.place(failure, &["configurations"]));
        let crds = self.add_crds(&mut nothing);
        let others = [resources, configurations, crds].into_iter().filter_map(Result::err);
        others.fold(faults, Failure::and)
    }

    /// Adds origin annotations to resources.
    pub(crate) fn track_origins(&mut self) {
        self.origin = Some(Origin::default());
    }

    /// An entry of the kustomization file, if a build is asked for places.
    fn entry(&self, field: &'static str, index: Option<usize>, session: &Session) -> Option<Entry> {
        session.places.then(|| Entry {
            kustomization: Arc::clone(&self.kustomization),
            repository: self.loader.repository(),
            field,
            index,
        })
    }

    /// Uses the OpenAPI schema that the kustomization names; only the first choice counts, unless it is the
    /// root's.
    pub(crate) fn choose_schema(&self, session: &mut Session, is_root: bool) -> Result<()> {
        let field = &self.kustomization.openapi;
        if field.is_empty() {
            return Ok(());
        }
        session.schemas_chosen += 1;
        let place = |failure| self.kustomization.place(failure, &["openapi"]);
        let content = field.get("path").map(|path| self.loader.load(path)).transpose();
        let content = content.map_err(place)?;
        session.schema.set(field, content.as_deref(), is_root).map_err(place)
    }

    /// Accumulates this directory.
    pub(crate) fn accumulate(&self, session: &mut Session) -> Result<Accumulator> {
        self.accumulate_into(Accumulator::default(), session)
    }

    /// Accumulates this directory into existing resources: a component changes its parent's.
    fn accumulate_into(&self, mut to: Accumulator, session: &mut Session) -> Result<Accumulator> {
        let it = &self.kustomization;
        self.loader.count()?;
        for text in [&it.name_prefix, &it.name_suffix] {
            limits::affix(text)?;
        }
        self.add_resources(&mut to, &it.resources, "resources", session)
            .map_err(|failure| failure.wrapped("accumulating resources"))?;
        let config = TransformerConfig::load(&self.loader, &it.configurations)
            .map_err(|failure| it.place(failure, &["configurations"]))?;
        to.config = to
            .config
            .merge(&config)
            .map_err(|failure| it.place(failure.wrapped("merging config"), &["configurations"]))?;
        self.add_crds(&mut to)?;
        self.generate(&mut to, session)?;
        to = self
            .add_components(to, session)
            .map_err(|failure| failure.wrapped("accumulating components"))?;
        self.transform(&mut to, session)?;
        self.validate(&mut to, session)?;
        to.vars
            .add(&it.vars, &mut to.resources, &session.schema)
            .map_err(|failure| it.place(failure.wrapped("merging vars"), &["vars"]))?;
        Ok(to)
    }

    fn add_crds(&self, to: &mut Accumulator) -> Result<()> {
        let paths = &self.kustomization.crds;
        if paths.is_empty() {
            return Ok(());
        }
        let place = |failure| self.kustomization.place(failure, &["crds"]);
        let words = format!("[{}]", paths.join(" "));
        let config = crds::load(&self.loader, paths)
            .map_err(|failure| place(failure.wrapped(format_args!("loading CRDs {words}"))))?;
        to.config =
            to.config.merge(&config).map_err(|failure| place(failure.wrapped("merging CRDs")))?;
        Ok(())
    }
}

fn read_kustomization(loader: &Loader<'_>) -> Result<Kustomization> {
    let root = loader.root();
    let found: Vec<_> = FILE_NAMES
        .into_iter()
        .filter_map(|name| loader.load(name).ok().map(|content| (name, content)))
        .collect();
    match found.as_slice() {
        [(name, content)] => Kustomization::read(content, root, name),
        [] => Err(Failure::new(format!(
            "unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in \
             directory '{root}'"
        ))
        .hint("add a kustomization.yaml that names the files under `resources`")),
        _ => {
            let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
            Err(Failure::new(format!("Found multiple kustomization files under: {root}\n"))
                .hint(format_args!("keep one of {}", names.join(", "))))
        }
    }
}
