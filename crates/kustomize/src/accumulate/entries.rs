//! Entries of `resources` and `components`: files, directories and remote ones.

use super::{Accumulator, Session, Target};
use crate::failure::{Failure, Gathered, Result};
use crate::loader::{Loader, is_url};
use crate::read;
use crate::resource::Resource;
use crate::resources::Resources;
use crate::transformers::Load as _;

/// Whether a directory is a base or a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Base,
    Component,
}

impl<'t> Target<'t> {
    /// Adds each path, tried as a file first; reports all errors.
    pub(super) fn add_resources(
        &self,
        to: &mut Accumulator,
        paths: &[String],
        field: &str,
        session: &mut Session,
    ) -> Result<()> {
        session.files.read_ahead(&self.loader, paths, session.threads);
        let mut wrong = Gathered::default();
        for (index, path) in paths.iter().enumerate() {
            let added = self.add_resource(to, path, session);
            wrong.take(added.map_err(|failure| {
                self.kustomization.place(failure, &[field, &index.to_string()])
            }));
        }
        wrong.finish()
    }

    fn add_resource(&self, to: &mut Accumulator, path: &str, session: &mut Session) -> Result<()> {
        let Err(no_file) = self.add_file(to, path, session) else { return Ok(()) };
        let first = no_file.original_message();
        if first.contains("HTTP Error") {
            return Err(no_file);
        }
        let words = format!("accumulation err='{first}'");
        match self.loader.enter(path) {
            Ok(loader) => {
                let added =
                    self.add_directory(std::mem::take(to), loader, path, Use::Base, session);
                *to = added.map_err(|failure| failure.wrapped(words))?;
                Ok(())
            }
            Err(_) if read::is_malformed(&no_file) => Err(no_file),
            // If the file exists, locally or remotely, its error counts; otherwise the path's.
            Err(no_directory) => {
                let message = format!("{words}: {}", no_directory.original_message());
                let failure = if self.loader.is_file(path) || is_url(path) {
                    no_file
                } else {
                    let hint = format!("there is neither a file nor a directory '{path}'");
                    no_directory.hint(hint)
                };
                Err(failure.wording(|_| message.clone()))
            }
        }
    }

    fn add_file(&self, to: &mut Accumulator, path: &str, session: &mut Session) -> Result<()> {
        let context = |words: &str, failure: Failure| {
            failure.wrapped(format_args!("{words} resources from '{path}'"))
        };
        let mut resources = session
            .files
            .resources(&self.loader, path)
            .and_then(|list| unique(list, session))
            .map_err(|failure| context("accumulating", failure))?;
        if let Some(origin) = &self.origin {
            let origin = origin.append(path);
            for resource in resources.iter_mut_keeping_ids() {
                origin.note_on(resource)?;
            }
        }
        if session.places && !self.loader.is_own_tree() {
            let repository = self.loader.repository();
            for resource in resources.iter_mut_keeping_ids() {
                resource.read_from(repository.as_ref());
            }
        }
        if session.crd_merge_keys {
            for resource in resources.iter().filter(|it| it.kind() == "CustomResourceDefinition") {
                session.schema.add_crd(&resource.node);
            }
        }
        let added = to.resources.append_all(resources, &session.schema);
        added.map_err(|failure| context("merging", failure))
    }

    /// Accumulates the components, in order.
    pub(super) fn add_components(
        &self,
        mut to: Accumulator,
        session: &mut Session,
    ) -> Result<Accumulator> {
        for (index, path) in self.kustomization.components.iter().enumerate() {
            let place =
                |failure| self.kustomization.place(failure, &["components", &index.to_string()]);
            let loader = self.loader.enter(path);
            let loader = loader.map_err(|failure| place(failure.quoted("loader.New")))?;
            to = self
                .add_directory(to, loader, path, Use::Component, session)
                .map_err(|failure| place(failure.quoted("accumulateDirectory:")))?;
        }
        Ok(to)
    }

    fn add_directory(
        &self,
        mut to: Accumulator,
        loader: Loader<'t>,
        path: &str,
        used_as: Use,
        session: &mut Session,
    ) -> Result<Accumulator> {
        let root = loader.root().to_owned();
        let through = |failure: Failure| failure.through(&root);
        let mut target = Self::load(loader, session).map_err(|failure| {
            through(failure.wrapped(format_args!("couldn't make target for path '{root}'")))
        })?;
        let schemas_chosen = session.schemas_chosen;
        target.origin = self.origin.as_ref().map(|origin| origin.append(path));
        target.choose_schema(session, false).map_err(through)?;
        target.check_use(used_as).map_err(through)?;
        let recursed = |failure: Failure| {
            through(failure.wrapped(format_args!("recursed accumulation of path '{root}'")))
        };
        match used_as {
            Use::Component => {
                if session.schemas_chosen != schemas_chosen {
                    to.resources.forget_index();
                }
                target.accumulate_into(to, session).map_err(recursed)
            }
            Use::Base => {
                let base = target.accumulate(session).map_err(recursed)?;
                if session.schemas_chosen != schemas_chosen {
                    to.resources.forget_index();
                }
                to.merge(base, &session.schema).map_err(|failure| {
                    through(failure.wrapped(format_args!("recursed merging from path '{root}'")))
                })?;
                Ok(to)
            }
        }
    }

    fn check_use(&self, used_as: Use) -> Result<()> {
        let (root, kind) = (self.loader.root(), &self.kustomization.kind);
        let (message, hint) = match (used_as, self.kustomization.is_component()) {
            (Use::Component, false) => (
                format!("expected kind 'Component' for path '{root}' but got '{kind}'"),
                "name it under `resources`, or set `kind: Component` in it",
            ),
            (Use::Base, true) => (
                format!("expected kind != 'Component' for path '{root}'"),
                "name it under `components`",
            ),
            _ => return Ok(()),
        };
        Err(self.kustomization.place(Failure::new(message), &["kind"]).hint(hint))
    }
}

/// The resources of a file; ids must be unique.
pub(super) fn unique(list: Vec<Resource>, session: &Session) -> Result<Resources> {
    let mut resources = Resources::default();
    for resource in list {
        resources.append(resource, &session.schema)?;
    }
    Ok(resources)
}
