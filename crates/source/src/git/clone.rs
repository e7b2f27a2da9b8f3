//! Resolves a reference to a commit and checks it out.
//!
//! **Invariant:** what a server says about a reference decides only whether anything is fetched. The
//! commit that is checked out is resolved from objects.

mod history;
mod target;

use std::time::Duration;

use reqwest::Url;

use super::auth::GitAuth;
use super::commit::{Commit, Tag};
use super::error::{Cause, GitError};
use super::object::{ObjectId, Objects};
use super::remote::{FetchRequest, GitRemote, GitTransport, ObjectFilter, RemoteRef};
use super::submodule;
use super::tree::{self, Worktree};
use crate::artifact::Revision;
use crate::tree::SourceTree;
pub use history::History;
use target::Target;

/// Which commit to check out. The first of these that is set decides: commit, name, tag, semver,
/// branch. (Flux's documentation puts semver before tag; its code does not.)
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reference {
    /// A branch.
    pub branch: String,
    /// A tag.
    pub tag: String,
    /// A range of versions; the newest matching tag is used.
    pub semver: String,
    /// The full name of any ref.
    pub name: String,
    /// A commit, on the branch if one is given.
    pub commit: String,
}

/// A checkout request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloneRequest {
    /// The URL of the repository.
    pub url: String,
    /// The reference.
    pub reference: Reference,
    /// The current revision. If the remote still has it, nothing is fetched.
    pub last_observed: Option<Revision>,
    /// The revision of the previous artifact, which should be an ancestor on the same branch or tag.
    pub previous: Option<Revision>,
    /// Whether to check out submodules too.
    pub recurse_submodules: bool,
    /// Prefixes of the paths to check out; all if empty.
    pub sparse: Vec<String>,
    /// The timeout of the whole checkout.
    pub timeout: Duration,
}

/// The result of a checkout request.
#[derive(Debug, Clone, PartialEq)]
pub enum Cloned {
    /// The remote still has the current revision.
    Unchanged {
        /// The revision.
        revision: Revision,
        /// The commit.
        commit: ObjectId,
    },
    /// The repository has no commit yet.
    Empty,
    /// A commit, checked out.
    Checkout(Box<Checkout>),
}

/// A commit, checked out.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkout {
    /// The commit.
    pub commit: Commit,
    /// The full name of the ref; empty for a bare commit.
    pub reference: String,
    /// The tag, if the reference is one.
    pub tag: Option<ReferencingTag>,
    /// The revision of the artifact.
    pub revision: Revision,
    /// Whether the commit descends from the one of [`CloneRequest::previous`].
    pub history: History,
    /// The files, with links, and submodules in their directories.
    pub files: SourceTree,
}

/// The tag that led to a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferencingTag {
    /// Its name.
    pub name: String,
    /// The tag object of an annotated tag; the outermost one of tags that point at tags.
    pub object: Option<Tag>,
}

impl std::fmt::Display for ReferencingTag {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.object {
            Some(object) => write!(formatter, "{}@{}", self.name, object.id),
            None => formatter.write_str(&self.name),
        }
    }
}

/// Checks out a repository. Dropping the future cancels all transfers and leaves nothing behind.
pub async fn clone(
    transport: &dyn GitTransport,
    request: &CloneRequest,
    auth: &GitAuth,
) -> Result<Cloned, GitError> {
    let session = Session::open(transport, request, auth)?;
    let late = |_| Err(session.late());
    let mut cloned =
        tokio::time::timeout(request.timeout, session.run()).await.unwrap_or_else(late)?;
    if let Cloned::Checkout(checkout) = &mut cloned {
        checkout.history = session.history(checkout).await;
    }
    Ok(cloned)
}

struct Session<'a> {
    transport: &'a dyn GitTransport,
    remote: std::sync::Arc<dyn GitRemote>,
    request: &'a CloneRequest,
    auth: &'a GitAuth,
    /// The URL for errors.
    shown: String,
}

impl<'a> Session<'a> {
    fn open(
        transport: &'a dyn GitTransport,
        request: &'a CloneRequest,
        auth: &'a GitAuth,
    ) -> Result<Self, GitError> {
        let shown = without_password(&request.url);
        let remote = transport
            .open(&request.url, auth)
            .map_err(|source| GitError::Clone { url: shown.clone(), source })?;
        Ok(Self { transport, remote, request, auth, shown })
    }

    async fn run(&self) -> Result<Cloned, GitError> {
        let Some(target) = self.target().await? else { return Ok(Cloned::Empty) };
        let revision = self.revision(&target.reference, target.claimed());
        if self.request.last_observed.as_ref().is_some_and(|last| last.is_same(&revision)) {
            return Ok(Cloned::Unchanged { revision, commit: target.claimed() });
        }
        self.check_out(target).await
    }

    /// `<branch or tag>@sha1:<commit>`; for a reference by name, the full name comes first.
    fn revision(&self, reference: &str, commit: ObjectId) -> Revision {
        let digest = format!("sha1:{commit}");
        let pointer = if self.request.reference.name.is_empty() {
            reference.splitn(3, '/').nth(2).unwrap_or_default()
        } else {
            reference
        };
        Revision::of(pointer, &digest)
    }

    async fn check_out(&self, target: Target) -> Result<Cloned, GitError> {
        let clone_error = |source| self.clone_error(source);
        let mut objects = self.fetch_target(&target).await?;
        let sparse: Vec<String> = self
            .request
            .sparse
            .iter()
            .map(|start| start.strip_prefix("./").unwrap_or(start).to_owned())
            .collect();
        let (commit, object) = target
            .resolve(&objects)
            .map_err(|source| GitError::Commit { commit: target.claimed().to_string(), source })?;
        let missing = tree::missing_blobs(&objects, commit.tree, &sparse).map_err(clone_error)?;
        if !missing.is_empty() {
            let wants = FetchRequest { wants: missing, ..FetchRequest::default() };
            objects.extend(self.fetch(wants).await?);
        }
        let Worktree { mut files, submodules } =
            tree::checkout(&objects, commit.tree, &sparse).map_err(clone_error)?;
        for directory in &self.request.sparse {
            let path = directory.trim_start_matches("./").trim_matches('/');
            if !path.is_empty() && path != "." && files.get(path).is_none() {
                return Err(GitError::SparseDirectory(directory.clone()));
            }
        }
        if self.request.recurse_submodules && !submodules.is_empty() {
            let from = (self.request.url.as_str(), self.auth);
            submodule::check_out_all(self.transport, from, &mut files, &submodules).await?;
        }
        let revision = self.revision(&target.reference, commit.id);
        let tag = target.tag.map(|name| ReferencingTag { name, object });
        let reference = target.reference;
        let history = History::Unasked;
        let checkout = Checkout { commit, reference, tag, revision, history, files };
        Ok(Cloned::Checkout(Box::new(checkout)))
    }

    /// Fetches the target's objects: one commit deep, and for a sparse checkout only the contents needed.
    async fn fetch_target(&self, target: &Target) -> Result<Objects, GitError> {
        let clone_error = |source| self.clone_error(source);
        let is_tip = self.request.reference.commit.is_empty();
        let can_want = is_tip || self.remote.can_want_any().await.map_err(clone_error)?;
        if !can_want {
            // An old server serves only its refs: the commit comes with the history of the branches.
            let refs = self.list(&["refs/heads/".to_owned()]).await?;
            let wants = refs.into_iter().map(|found| found.id).collect();
            return self.fetch(FetchRequest { wants, ..FetchRequest::default() }).await;
        }
        let can_filter = !self.request.sparse.is_empty()
            && self.remote.can_filter().await.map_err(clone_error)?
            && self.remote.can_want_any().await.map_err(clone_error)?;
        let filter = can_filter.then_some(ObjectFilter::Blobs);
        let wants = vec![target.want];
        self.fetch(FetchRequest { wants, depth: Some(1), filter, ..FetchRequest::default() }).await
    }

    async fn fetch(&self, request: FetchRequest) -> Result<Objects, GitError> {
        self.remote.fetch(request).await.map_err(|source| self.clone_error(source))
    }

    async fn find(&self, name: &str) -> Result<Option<RemoteRef>, GitError> {
        let refs = self.list(&[name.to_owned()]).await?;
        Ok(refs.into_iter().find(|found| found.name == name))
    }

    async fn list(&self, prefixes: &[String]) -> Result<Vec<RemoteRef>, GitError> {
        self.remote.list_refs(prefixes).await.map_err(|source| self.unlisted(source))
    }

    fn clone_error(&self, source: Cause) -> GitError {
        GitError::Clone { url: self.shown.clone(), source }
    }

    /// The error of a failed listing: Flux lists first if it knows a revision, and says so.
    fn unlisted(&self, source: Cause) -> GitError {
        if self.request.last_observed.is_some() || !self.request.reference.name.is_empty() {
            GitError::List { url: self.shown.clone(), source }
        } else {
            self.clone_error(source)
        }
    }

    fn late(&self) -> GitError {
        let pending = self.remote.pending();
        if pending.starts_with("Get") {
            return self.unlisted(Cause::Late(format!("{pending}: ")));
        }
        let waited = if pending.is_empty() { pending } else { format!("{pending}: ") };
        self.clone_error(Cause::Late(waited))
    }

    fn empty(&self) -> GitError {
        GitError::Empty { url: self.shown.clone() }
    }

    fn empty_list(&self) -> GitError {
        GitError::List { url: self.shown.clone(), source: Cause::EmptyRepository }
    }

    /// Handles a missing ref: an empty repository is no error.
    async fn absent(&self, name: &str) -> Result<(), GitError> {
        if self.list(&[]).await?.is_empty() {
            // The repository was not empty when it was listed first.
            let was_seen = self.request.last_observed.is_some();
            return if was_seen { Err(self.empty_list()) } else { Ok(()) };
        }
        Err(self.clone_error(Cause::RefNotFound(name.to_owned())))
    }
}

/// A URL for conditions, events and logs: passwords are `xxxxx`, as in Go.
pub(super) fn without_password(url: &str) -> String {
    match Url::parse(url) {
        Ok(mut parsed) if parsed.password().is_some() => match parsed.set_password(Some("xxxxx")) {
            Ok(()) => parsed.to_string(),
            Err(()) => format!("{}://", parsed.scheme()),
        },
        _ => url.to_owned(),
    }
}
