//! Remotes without a network: repositories made on the spot, by address.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};

use super::auth::GitAuth;
use super::error::Cause;
use super::incoming::filtered;
use super::make::Repository;
use super::object::Objects;
use super::remote::{FetchRequest, GitRemote, GitTransport, RemoteRef};

/// Repositories by address. Cheap to clone; all clones are the same.
#[derive(Debug, Clone, Default)]
pub struct MemoryTransport {
    repositories: Arc<Mutex<BTreeMap<String, Repository>>>,
}

impl MemoryTransport {
    /// Puts a repository at an address.
    pub fn insert(&self, url: &str, repository: Repository) {
        self.lock().insert(url.to_owned(), repository);
    }

    /// The repository at an address, as it is now.
    pub fn get(&self, url: &str) -> Option<Repository> {
        self.lock().get(url).cloned()
    }

    /// Changes the repository at an address; gives nothing where there is none.
    pub fn change<T>(&self, url: &str, change: impl FnOnce(&mut Repository) -> T) -> Option<T> {
        self.lock().get_mut(url).map(change)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Repository>> {
        self.repositories.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GitTransport for MemoryTransport {
    fn open(&self, url: &str, _: &GitAuth) -> Result<Arc<dyn GitRemote>, Cause> {
        Ok(Arc::new(MemoryRemote { transport: self.clone(), url: url.to_owned() }))
    }
}

struct MemoryRemote {
    transport: MemoryTransport,
    url: String,
}

impl MemoryRemote {
    fn with<T>(&self, read: impl FnOnce(&Repository) -> Result<T, Cause>) -> Result<T, Cause> {
        match self.transport.lock().get(&self.url) {
            Some(repository) => read(repository),
            None => Err(Cause::RepositoryNotFound(String::new())),
        }
    }
}

impl GitRemote for MemoryRemote {
    fn list_refs<'a>(
        &'a self,
        prefixes: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<RemoteRef>, Cause>> {
        ready(self.with(|repository| Ok(filtered(&repository.list_refs(), prefixes)))).boxed()
    }

    fn can_filter(&self) -> BoxFuture<'_, Result<bool, Cause>> {
        ready(Ok(true)).boxed()
    }

    fn can_want_any(&self) -> BoxFuture<'_, Result<bool, Cause>> {
        ready(Ok(true)).boxed()
    }

    fn fetch(&self, request: FetchRequest) -> BoxFuture<'_, Result<Objects, Cause>> {
        let fetched = self.with(|repository| {
            let mut objects = Objects::default();
            for object in repository.selected(&repository.select(&request)?) {
                objects.insert(object.kind, object.data.clone());
            }
            Ok(objects)
        });
        ready(fetched).boxed()
    }
}
