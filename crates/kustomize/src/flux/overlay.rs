//! Files on top of a tree that is not written to.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::loader::path::parent;
use crate::tree::{Entry, FileTree, TreeError};

/// A tree with more files, or with some in place of others.
pub struct OverlayTree<'t> {
    below: &'t dyn FileTree,
    files: BTreeMap<String, Vec<u8>>,
}

impl<'t> OverlayTree<'t> {
    /// A tree with nothing on top of it yet.
    pub const fn new(below: &'t dyn FileTree) -> Self {
        Self { below, files: BTreeMap::new() }
    }

    /// Puts a file at a clean path; its directory must be there.
    #[must_use]
    pub fn with(mut self, path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        self.files.insert(path.into(), content.into());
        self
    }
}

impl FileTree for OverlayTree<'_> {
    fn entry(&self, path: &str) -> Option<Entry> {
        if self.files.contains_key(path) { Some(Entry::File) } else { self.below.entry(path) }
    }

    fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError> {
        match self.files.get(path) {
            Some(content) => Ok(Cow::Borrowed(content)),
            None => self.below.read(path),
        }
    }

    fn list(&self, path: &str) -> Result<Vec<String>, TreeError> {
        let mut names = self.below.list(path)?;
        for file in self.files.keys().filter(|file| parent(file) == path) {
            let name = file.rsplit('/').next().unwrap_or_default();
            if let Err(at) = names.binary_search_by(|other| other.as_str().cmp(name)) {
                names.insert(at, name.to_owned());
            }
        }
        Ok(names)
    }

    fn resolve(&self, path: &str) -> Result<String, TreeError> {
        if self.files.contains_key(path) && self.below.entry(path).is_none() {
            let directory = self.below.resolve(parent(path))?;
            let name = path.rsplit('/').next().unwrap_or_default();
            return Ok(format!("{}/{name}", directory.trim_end_matches('/')));
        }
        self.below.resolve(path)
    }
}
