//! The traits of git transports.
//!
//! [`GitTransport`] opens a [`GitRemote`] for a URL. [`GitOverNetwork`](super::GitOverNetwork) implements it over
//! HTTP and SSH, [`MemoryTransport`](super::MemoryTransport) for repositories in memory, so that controllers and
//! simulations need no network.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::auth::GitAuth;
use super::error::Cause;
use super::object::{ObjectId, Objects};

/// A ref in a remote's listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteRef {
    /// The full name, such as `refs/heads/main` or `HEAD`.
    pub name: String,
    /// The object it points at.
    pub id: ObjectId,
    /// The object that an annotated tag finally points at.
    pub peeled: Option<ObjectId>,
}

/// A fetch request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FetchRequest {
    /// The objects to start from.
    pub wants: Vec<ObjectId>,
    /// Commits with a history that may be left out. A remote that does not know them sends everything.
    pub haves: Vec<ObjectId>,
    /// The depth in commits; the whole history if absent.
    pub depth: Option<u32>,
    /// Objects to leave out, if the remote supports filters.
    pub filter: Option<ObjectFilter>,
    /// The limits of the fetch.
    pub budget: Budget,
}

/// The limits of a fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Budget {
    /// Those of a repository.
    #[default]
    Repository,
    /// Lower ones: for commits that are inspected and dropped.
    History,
}

/// An object filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectFilter {
    /// Without file contents; they can be fetched by id afterwards.
    Blobs,
    /// Without file contents and directories: commits and tags only.
    Trees,
}

/// A remote repository.
pub trait GitRemote: Send + Sync {
    /// The refs with names that begin with one of the prefixes, in the remote's order; all if there is no prefix.
    fn list_refs<'a>(
        &'a self,
        prefixes: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<RemoteRef>, Cause>>;

    /// Whether the remote supports filters.
    fn can_filter(&self) -> BoxFuture<'_, Result<bool, Cause>>;

    /// Whether any object can be requested by id, not only those that refs point at.
    fn can_want_any(&self) -> BoxFuture<'_, Result<bool, Cause>>;

    /// Fetches objects. Without support for filters, all are sent. Dropping the future cancels the transfer.
    fn fetch(&self, request: FetchRequest) -> BoxFuture<'_, Result<Objects, Cause>>;

    /// The request that waits for a response, for error messages; empty if there is none.
    fn pending(&self) -> String {
        String::new()
    }
}

/// Opens remote repositories.
pub trait GitTransport: Send + Sync {
    /// A remote for a URL. Nothing is sent yet.
    fn open(&self, url: &str, auth: &GitAuth) -> Result<Arc<dyn GitRemote>, Cause>;
}
