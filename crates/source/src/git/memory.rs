//! Remotes without a network: repositories made on the spot, by address, with faults.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};
use sluice_base::fault::{Attribute, Fault, Faults, Plan, Request, Transport};

use super::auth::GitAuth;
use super::error::{Cause, malformed};
use super::incoming::filtered;
use super::make::Repository;
use super::object::Objects;
use super::remote::{FetchRequest, GitRemote, GitTransport, RemoteRef};
use crate::faults::{self, wait};
use crate::http::HttpError;

/// What is asked of a remote, as git's protocol calls it.
pub(super) const LS_REFS: &str = "ls-refs";
pub(super) const FETCH: &str = "fetch";

/// What remotes can do to requests. Answers cannot be lost after the fact: nothing is written.
static TRANSPORT: Transport = Transport {
    name: "git",
    verbs: &[LS_REFS, FETCH],
    attributes: &[Attribute::Verb, Attribute::Address],
    can: |fault| {
        faults::can_do_to_http(fault) && !matches!(fault, Fault::AnswerLost | Fault::Truncate)
    },
};

/// Repositories by address. Cheap to clone; all clones are the same.
#[derive(Debug, Clone)]
pub struct MemoryTransport {
    repositories: Arc<Mutex<BTreeMap<String, Repository>>>,
    faults: Faults,
}

impl Default for MemoryTransport {
    fn default() -> Self {
        Self { repositories: Arc::default(), faults: faults::from_now(&TRANSPORT) }
    }
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

    /// The faults of the remotes.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// What is to happen to a request.
    pub(super) fn plan(&self, verb: &str, url: &str) -> Plan {
        self.faults.plan(&Request(&[(Attribute::Verb, verb), (Attribute::Address, url)]))
    }

    /// Waits as long as faults say; an error where the request fails.
    async fn meet_faults(&self, verb: &str, url: &str) -> Result<(), Cause> {
        let plan = self.plan(verb, url);
        wait(plan.delay).await;
        wait(plan.slow).await;
        Err(match plan.failure {
            None => return Ok(()),
            Some(Fault::Refuse { status, message, .. }) => match status {
                401 => Cause::AuthenticationRequired(message),
                403 => Cause::AuthorizationFailed(message),
                404 => Cause::RepositoryNotFound(message),
                status => Cause::Status { url: url.to_owned(), status },
            },
            Some(Fault::Reset) => {
                HttpError::Request(format!("Get {url:?}: read: connection reset by peer")).into()
            }
            Some(Fault::Cut) => Cause::HungUp,
            Some(Fault::Garble) => Cause::Frame,
            Some(other) => malformed(format!("{} cannot do {other:?}", TRANSPORT.name)),
        })
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
            self.transport.meet_faults(LS_REFS, &self.url).await?;
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
            self.transport.meet_faults(FETCH, &self.url).await?;
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

    use sluice_base::fault::{Fault, Rule, Scope};
    use tokio::time::{Instant, timeout};

    use super::{GitAuth, GitTransport as _, MemoryTransport, Repository};

    #[tokio::test(start_paused = true)]
    async fn faults_last_a_while() {
        let (transport, url) = (MemoryTransport::default(), "https://git.test/a");
        transport.insert(url, Repository::new("main"));
        let remote = transport.open(url, &GitAuth::default()).unwrap();
        let minute = Duration::from_mins(1);
        let fail = |fault| {
            let rule = Rule::new(Scope::default().address(url), fault);
            transport.faults().install_for(rule, minute).unwrap();
        };
        fail(Fault::refuse(503));
        let failed = remote.list_refs(&[]).await.unwrap_err().to_string();
        assert!(failed.ends_with("status code: 503"), "{failed}");
        tokio::time::sleep(minute).await;
        assert!(remote.list_refs(&[]).await.is_ok());
        fail(Fault::Stall);
        assert!(timeout(minute / 2, remote.list_refs(&[])).await.is_err());
        let started = Instant::now();
        assert!(remote.list_refs(&[]).await.is_ok());
        assert_eq!(started.elapsed(), minute / 2);
    }
}
