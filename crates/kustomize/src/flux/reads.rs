//! The files that a build reads, noted while it reads them: those of the artifact and those of remote bases.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use sluice_base::need::RepositoryRef;

use crate::loader::{Fetched, Remote};
use crate::tree::{Entry, FileTree, TreeError};

/// The files that were read and are worth noting, by where they come from.
pub(super) struct ReadLog {
    is_noted: fn(&[u8]) -> bool,
    files: Mutex<BTreeMap<String, Vec<u8>>>,
}

impl ReadLog {
    /// An empty log; only files of which this is true are noted.
    pub(super) fn new(is_noted: fn(&[u8]) -> bool) -> Self {
        Self { is_noted, files: Mutex::default() }
    }

    /// The files with their content.
    pub(super) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, place: impl FnOnce() -> String, content: &[u8]) {
        if (self.is_noted)(content) {
            let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
            files.entry(place()).or_insert_with(|| content.to_vec());
        }
    }
}

/// A tree the reads of which are noted.
pub(super) struct LoggedTree<'t> {
    tree: &'t dyn FileTree,
    log: &'t ReadLog,
}

impl<'t> LoggedTree<'t> {
    /// Notes what is read of a tree.
    pub(super) const fn new(tree: &'t dyn FileTree, log: &'t ReadLog) -> Self {
        Self { tree, log }
    }
}

impl FileTree for LoggedTree<'_> {
    fn entry(&self, path: &str) -> Option<Entry> {
        self.tree.entry(path)
    }

    fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError> {
        let content = self.tree.read(path)?;
        self.log.note(|| path.to_owned(), &content);
        Ok(content)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, TreeError> {
        self.tree.list(path)
    }

    fn resolve(&self, path: &str) -> Result<String, TreeError> {
        self.tree.resolve(path)
    }
}

/// Remote bases the reads of which are noted.
pub(super) struct LoggedRemote<'r> {
    remote: &'r dyn Remote,
    log: Arc<ReadLog>,
}

impl<'r> LoggedRemote<'r> {
    /// Notes what is read of remote bases.
    pub(super) const fn new(remote: &'r dyn Remote, log: Arc<ReadLog>) -> Self {
        Self { remote, log }
    }
}

impl Remote for LoggedRemote<'_> {
    fn file(&self, url: &str) -> Fetched<Vec<u8>> {
        let fetched = self.remote.file(url)?;
        if let Ok(content) = &fetched {
            self.log.note(|| url.to_owned(), content);
        }
        Some(fetched)
    }

    fn repository(&self, repository: &RepositoryRef) -> Fetched<Arc<dyn FileTree + Send>> {
        let fetched = self.remote.repository(repository)?;
        let (url, log) = (repository.url.clone(), Arc::clone(&self.log));
        Some(fetched.map(|tree| Arc::new(LoggedRepository { tree, url, log }) as _))
    }
}

struct LoggedRepository {
    tree: Arc<dyn FileTree + Send>,
    url: String,
    log: Arc<ReadLog>,
}

impl FileTree for LoggedRepository {
    fn entry(&self, path: &str) -> Option<Entry> {
        self.tree.entry(path)
    }

    fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError> {
        let content = self.tree.read(path)?;
        self.log.note(|| format!("{}/{path}", self.url), &content);
        Ok(content)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, TreeError> {
        self.tree.list(path)
    }

    fn resolve(&self, path: &str) -> Result<String, TreeError> {
        self.tree.resolve(path)
    }
}
