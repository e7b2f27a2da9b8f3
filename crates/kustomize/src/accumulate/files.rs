//! What was read before: a base that many overlays share is parsed once, not once for each.

use std::collections::HashMap;
use std::sync::Arc;

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

/// Most files are needed once, and keeping them would cost a copy of each; what is needed again is read
/// a second time and then kept.
#[derive(Debug)]
enum Seen {
    Once,
    Again(Vec<Resource>),
}

impl Files {
    /// The kustomization of the loader's directory, if it was read before.
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

    /// The resources of a file that a kustomization names.
    pub(super) fn resources(&mut self, loader: &Loader<'_>, name: &str) -> Result<Vec<Resource>> {
        self.read(loader, name).map_err(|failure| {
            if !read::is_malformed(&failure) {
                return failure;
            }
            failure.wording(|cause| format!("{} in File: {name}", cause.message))
        })
    }

    fn read(&mut self, loader: &Loader<'_>, name: &str) -> Result<Vec<Resource>> {
        if is_url(name) {
            return read::read_resources(&loader.load(name)?, Some(name.into()));
        }
        let at = loader.locate(name)?;
        let file: Arc<str> = at.as_str().into();
        if !loader.is_own_tree() {
            return read::read_resources(&loader.read(&at)?, Some(file));
        }
        match self.resources.get_mut(&at) {
            Some(Seen::Again(resources)) => Ok(resources.clone()),
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
