//! Answers to what builds need from outside, gathered between their runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use sluice_base::need::{MasterKey, Need, RepositoryRef};
use sluice_base::redacted::Redacted;

use crate::loader::{Fetched, Remote, RemoteError};
use crate::tree::FileTree;

/// What was fetched and asked so far, refusals among it.
#[derive(Clone, Default)]
pub struct Answers {
    /// Files by their URL.
    pub files: BTreeMap<String, Result<Vec<u8>, RemoteError>>,
    /// Repositories.
    pub repositories: BTreeMap<RepositoryRef, Result<Arc<dyn FileTree + Send>, RemoteError>>,
    /// Data keys by the master key that encrypted them.
    pub data_keys: BTreeMap<MasterKey, Result<Redacted<Vec<u8>>, String>>,
}

impl Answers {
    /// Whether something has an answer.
    pub fn has(&self, need: &Need) -> bool {
        match need {
            Need::File(url) => self.files.contains_key(url),
            Need::Repository(repository) => self.repositories.contains_key(repository),
            Need::DataKey(key) => self.data_keys.contains_key(key),
        }
    }

    /// How many files and repositories have an answer.
    pub fn remote_count(&self) -> usize {
        self.files.len() + self.repositories.len()
    }
}

impl Remote for Answers {
    fn file(&self, url: &str) -> Fetched<Vec<u8>> {
        self.files.get(url).cloned()
    }

    fn repository(&self, repository: &RepositoryRef) -> Fetched<Arc<dyn FileTree + Send>> {
        self.repositories.get(repository).cloned()
    }
}
