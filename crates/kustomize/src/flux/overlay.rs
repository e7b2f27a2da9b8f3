//! A file on top of a tree that is not written to.

use std::borrow::Cow;

use crate::loader::path::parent;
use crate::tree::{Entry, FileTree, TreeError};

/// A tree with one file more, or one in place of another.
pub struct OverlayTree<'t> {
    below: &'t dyn FileTree,
    path: String,
    content: Vec<u8>,
}

impl<'t> OverlayTree<'t> {
    /// Puts a file at a clean path; its directory must be there.
    pub fn new(
        below: &'t dyn FileTree,
        path: impl Into<String>,
        content: impl Into<Vec<u8>>,
    ) -> Self {
        Self { below, path: path.into(), content: content.into() }
    }

    fn is_here(&self, path: &str) -> bool {
        path == self.path
    }
}

impl FileTree for OverlayTree<'_> {
    fn entry(&self, path: &str) -> Option<Entry> {
        if self.is_here(path) { Some(Entry::File) } else { self.below.entry(path) }
    }

    fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError> {
        if self.is_here(path) { Ok(Cow::Borrowed(&self.content)) } else { self.below.read(path) }
    }

    fn list(&self, path: &str) -> Result<Vec<String>, TreeError> {
        let mut names = self.below.list(path)?;
        if let Some(name) = self.path.strip_prefix(path).and_then(|name| name.strip_prefix('/'))
            && parent(&self.path) == path
            && let Err(at) = names.binary_search_by(|other| other.as_str().cmp(name))
        {
            names.insert(at, name.to_owned());
        }
        Ok(names)
    }

    fn resolve(&self, path: &str) -> Result<String, TreeError> {
        if self.is_here(path) && self.below.entry(path).is_none() {
            let directory = self.below.resolve(parent(path))?;
            let name = path.rsplit('/').next().unwrap_or_default();
            return Ok(format!("{}/{name}", directory.trim_end_matches('/')));
        }
        self.below.resolve(path)
    }
}
