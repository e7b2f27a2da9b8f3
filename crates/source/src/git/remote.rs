//! The seam between what is wanted of a repository and how it is reached.
//!
//! [`GitTransport`] opens a [`GitRemote`] for an address. [`GitOverNetwork`](super::GitOverNetwork) does it over
//! HTTP and SSH; [`MemoryTransport`](super::MemoryTransport) over repositories made on the spot, so that controllers
//! and simulations need no network.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::auth::GitAuth;
use super::error::Cause;
use super::object::{ObjectId, Objects};

/// A ref as the remote lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteRef {
    /// The full name, such as `refs/heads/main` or `HEAD`.
    pub name: String,
    /// What it points at.
    pub id: ObjectId,
    /// What an annotated tag points at in the end.
    pub peeled: Option<ObjectId>,
}

/// What to fetch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FetchRequest {
    /// The objects to start from.
    pub wants: Vec<ObjectId>,
    /// Commits whose history may be left out. A remote that does not know them sends everything.
    pub haves: Vec<ObjectId>,
    /// How many commits deep; all of the history where absent.
    pub depth: Option<u32>,
    /// What to leave out, if the remote can.
    pub filter: Option<ObjectFilter>,
    /// How much of it is taken.
    pub budget: Budget,
}

/// How much a fetch may bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Budget {
    /// As much as a repository may.
    #[default]
    Repository,
    /// Less: commits that are looked at and thrown away.
    History,
}

/// What a remote may leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectFilter {
    /// Contents of files; they can be fetched by name afterwards.
    Blobs,
    /// Contents of files and directories: commits and tags only.
    Trees,
}

/// A repository somewhere else.
pub trait GitRemote: Send + Sync {
    /// The refs whose names begin with one of the prefixes, in the remote's order; all where there is no prefix.
    fn list_refs<'a>(
        &'a self,
        prefixes: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<RemoteRef>, Cause>>;

    /// Whether objects may be left out.
    fn can_filter(&self) -> BoxFuture<'_, Result<bool, Cause>>;

    /// Whether any object can be asked for by name, not only what refs point at.
    fn can_want_any(&self) -> BoxFuture<'_, Result<bool, Cause>>;

    /// Objects. Where the remote cannot filter, all come. Dropping the future ends the transfer.
    fn fetch(&self, request: FetchRequest) -> BoxFuture<'_, Result<Objects, Cause>>;

    /// The request whose answer has not begun yet, as an error would name it; empty where there is none.
    fn pending(&self) -> String {
        String::new()
    }
}

/// A way to reach repositories.
pub trait GitTransport: Send + Sync {
    /// A remote for an address. Nothing is sent yet.
    fn open(&self, url: &str, auth: &GitAuth) -> Result<Arc<dyn GitRemote>, Cause>;
}
