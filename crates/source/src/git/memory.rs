//! Remotes without a network: repositories made on the spot, by address. They can be made to fail or to stall
//! for a while, as those behind a network do.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};
use tokio::time::Instant;

use super::auth::GitAuth;
use super::error::Cause;
use super::incoming::filtered;
use super::make::Repository;
use super::object::Objects;
use super::remote::{FetchRequest, GitRemote, GitTransport, RemoteRef};

/// What is wrong with a remote for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// It answers that it cannot, with this HTTP status.
    Failing(u16),
    /// It does not answer until it is over.
    Stalling,
    /// It hangs up half-way.
    Cut,
    /// It answers with something that is not git's protocol.
    Garbage,
}

/// Repositories by address. Cheap to clone; all clones are the same.
#[derive(Debug, Clone, Default)]
pub struct MemoryTransport {
    repositories: Arc<Mutex<BTreeMap<String, Repository>>>,
    troubles: Arc<Mutex<BTreeMap<String, (Trouble, Instant)>>>,
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

    /// Changes the repository at an address, or the one that is made there first.
    pub fn change_or_insert<T>(
        &self,
        url: &str,
        make: impl FnOnce() -> Repository,
        change: impl FnOnce(&mut Repository) -> T,
    ) -> T {
        change(self.lock().entry(url.to_owned()).or_insert_with(make))
    }

    /// Makes the remote at an address fail or stall for a while, from now on.
    pub fn trouble(&self, url: &str, trouble: Trouble, time: Duration) {
        let mut troubles = self.troubles.lock().unwrap_or_else(PoisonError::into_inner);
        troubles.insert(url.to_owned(), (trouble, Instant::now() + time));
    }

    /// Waits out a stall, or says how the remote fails.
    async fn endure(&self, url: &str) -> Result<(), Cause> {
        let troubles = || self.troubles.lock().unwrap_or_else(PoisonError::into_inner);
        let known = troubles().get(url).copied();
        match known {
            Some((Trouble::Stalling, until)) => tokio::time::sleep_until(until).await,
            Some((Trouble::Cut, until)) if Instant::now() < until => return Err(Cause::HungUp),
            Some((Trouble::Garbage, until)) if Instant::now() < until => return Err(Cause::Frame),
            Some((Trouble::Failing(code), until)) if Instant::now() < until => {
                return Err(match code {
                    401 => Cause::AuthenticationRequired(String::new()),
                    403 => Cause::AuthorizationFailed(String::new()),
                    404 => Cause::RepositoryNotFound(String::new()),
                    status => Cause::Status { url: url.to_owned(), status },
                });
            }
            _ => {}
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Repository>> {
        self.repositories.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The path of a URL, without the slash before it. A repository at `apps.git` is the one of `http://HOST/apps.git`,
/// whatever the host: a server on a port has it as well.
fn path_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split_once('/').map_or(rest, |(_, path)| path)
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
        let repositories = self.transport.lock();
        let found = repositories.get(&self.url).or_else(|| repositories.get(path_of(&self.url)));
        match found {
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
        async move {
            self.transport.endure(&self.url).await?;
            self.with(|repository| Ok(filtered(&repository.list_refs(), prefixes)))
        }
        .boxed()
    }

    fn can_filter(&self) -> BoxFuture<'_, Result<bool, Cause>> {
        ready(Ok(true)).boxed()
    }

    fn can_want_any(&self) -> BoxFuture<'_, Result<bool, Cause>> {
        ready(Ok(true)).boxed()
    }

    fn fetch(&self, request: FetchRequest) -> BoxFuture<'_, Result<Objects, Cause>> {
        async move {
            self.transport.endure(&self.url).await?;
            self.with(|repository| {
                let mut objects = Objects::default();
                for object in repository.selected(&repository.select(&request)?) {
                    objects.receive(object.kind, object.data.clone())?;
                }
                Ok(objects)
            })
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{Instant, timeout};

    use super::{GitAuth, GitTransport as _, MemoryTransport, Repository, Trouble};

    #[tokio::test(start_paused = true)]
    async fn troubles_last_a_while() {
        let (transport, url) = (MemoryTransport::default(), "https://git.test/a");
        transport.insert(url, Repository::new("main"));
        let remote = transport.open(url, &GitAuth::default()).unwrap();
        let minute = Duration::from_mins(1);
        transport.trouble(url, Trouble::Failing(503), minute);
        let failed = remote.list_refs(&[]).await.unwrap_err().to_string();
        assert!(failed.ends_with("status code: 503"), "{failed}");
        tokio::time::sleep(minute).await;
        assert!(remote.list_refs(&[]).await.is_ok());
        transport.trouble(url, Trouble::Stalling, minute);
        assert!(timeout(minute / 2, remote.list_refs(&[])).await.is_err());
        let started = Instant::now();
        assert!(remote.list_refs(&[]).await.is_ok());
        assert_eq!(started.elapsed(), minute / 2);
    }
}
