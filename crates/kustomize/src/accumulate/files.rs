//! A cache of parsed files: a base that many overlays share is parsed once.

use std::collections::HashMap;
use std::sync::Arc;

use crate::build::share;
use crate::failure::Result;
use crate::kustomization::Kustomization;
use crate::loader::{Loader, is_url};
use crate::read;
use crate::resource::Resource;
use crate::transformers::Load as _;

/// The files of one build.
#[derive(Debug, Default)]
pub(super) struct Files {
    kustomizations: HashMap<String, Arc<Kustomization>>,
    resources: HashMap<String, Seen>,
}

/// Most files are used once, and caching them would cost a copy; a file that is used again is parsed a second time and
/// then cached.
#[derive(Debug)]
enum Seen {
    Once,
    Again(Vec<Resource>),
    /// Parsed ahead, in parallel; the first user takes it.
    Ahead(Result<Vec<Resource>>),
}

impl Files {
    /// The kustomization of the loader's directory, if it is cached.
    pub(super) fn kustomization(&self, loader: &Loader<'_>) -> Option<Arc<Kustomization>> {
        if !loader.is_own_tree() {
            return None;
        }
        self.kustomizations.get(loader.root()).cloned()
    }

    pub(super) fn keep_kustomization(&mut self, loader: &Loader<'_>, read: &Arc<Kustomization>) {
        if loader.is_own_tree() {
            self.kustomizations.insert(loader.root().to_owned(), Arc::clone(read));
        }
    }

    /// The resources of a file of a kustomization.
    pub(super) fn resources(&mut self, loader: &Loader<'_>, name: &str) -> Result<Vec<Resource>> {
        self.read(loader, name).map_err(|failure| {
            if !read::is_malformed(&failure) {
                return failure;
            }
            failure.wording(|cause| format!("{} in File: {name}", cause.message))
        })
    }

    /// Parses the files among these names in parallel. Errors are reported when the file is used.
    pub(super) fn read_ahead(&mut self, loader: &Loader<'_>, names: &[String], threads: usize) {
        if threads < 2 || !loader.is_own_tree() {
            return;
        }
        let mut texts = Vec::new();
        for name in names.iter().filter(|name| !is_url(name)) {
            if let Ok(at) = loader.locate(name)
                && !self.resources.contains_key(&at)
                && let Ok(text) = loader.read(&at)
            {
                texts.push((at, text));
            }
        }
        let read = share(&mut texts, threads, |part| {
            let read = part.iter().map(|(at, text)| {
                (at.clone(), read::read_resources(text, Some(at.as_str().into())))
            });
            read.collect::<Vec<_>>()
        });
        let read = read.into_iter().flatten();
        self.resources.extend(read.map(|(at, resources)| (at, Seen::Ahead(resources))));
    }

    fn read(&mut self, loader: &Loader<'_>, name: &str) -> Result<Vec<Resource>> {
        if is_url(name) {
            return read::read_resources(&loader.fetch(name)?, Some(name.into()));
        }
        let at = loader.locate(name)?;
        let file: Arc<str> = at.as_str().into();
        if !loader.is_own_tree() {
            return read::read_resources(&loader.read(&at)?, Some(file));
        }
        match self.resources.get_mut(&at) {
            Some(Seen::Again(resources)) => Ok(resources.clone()),
            Some(seen @ Seen::Ahead(_)) => match std::mem::replace(seen, Seen::Once) {
                Seen::Ahead(resources) => resources,
                Seen::Once | Seen::Again(_) => Ok(Vec::new()),
            },
            Some(seen @ Seen::Once) => {
                let resources = read::read_resources(&loader.read(&at)?, Some(file))?;
                *seen = Seen::Again(resources.clone());
                Ok(resources)
            }
            None => {
                let resources = read::read_resources(&loader.read(&at)?, Some(file))?;
                self.resources.insert(at, Seen::Once);
                Ok(resources)
            }
        }
    }
}
