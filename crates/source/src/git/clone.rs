//! From a reference to a checked-out commit: which ref, which commit, which objects.

use std::cmp::Ordering;
use std::time::Duration;

use super::auth::GitAuth;
use super::commit::{Commit, Tag};
use super::error::{Cause, GitError};
use super::object::{ObjectId, ObjectKind, Objects};
use super::remote::{FetchRequest, GitRemote, GitTransport, ObjectFilter, RemoteRef};
use super::submodule;
use super::tree::{self, Worktree};
use crate::artifact::Revision;
use crate::semver::{self, Constraint};
use crate::tree::SourceTree;

/// What Flux takes where nothing is said.
const DEFAULT_BRANCH: &str = "master";

/// Which commit to check out. The first of these that is set decides: commit, name, tag, semver,
/// branch. (Flux's documentation puts semver before tag; its code does not.)
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reference {
    /// A branch.
    pub branch: String,
    /// A tag.
    pub tag: String,
    /// A range of versions, of which the newest tag is taken.
    pub semver: String,
    /// The full name of any ref.
    pub name: String,
    /// A commit, on the branch if one is given.
    pub commit: String,
}

/// What to check out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloneRequest {
    /// The address of the repository.
    pub url: String,
    /// Which commit.
    pub reference: Reference,
    /// The revision that is there already. If the remote is still at it, nothing is fetched.
    pub last_observed: Option<Revision>,
    /// Whether submodules are checked out too.
    pub recurse_submodules: bool,
    /// Paths to take, by their beginnings; all where empty.
    pub sparse: Vec<String>,
    /// How long all of it may take.
    pub timeout: Duration,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Cloned {
    /// The remote is at the revision that is there already.
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
    /// The ref it was found by, as a full name; empty for a bare commit.
    pub reference: String,
    /// The tag it was found by.
    pub tag: Option<ReferencingTag>,
    /// The revision, as the artifact states it.
    pub revision: Revision,
    /// The files, links among them, submodules in their places.
    pub files: SourceTree,
}

/// A tag that a commit was found by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferencingTag {
    /// Its name.
    pub name: String,
    /// Its object, if it is an annotated one.
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

/// Checks a repository out. Dropping the future ends all transfers; nothing is left behind.
pub async fn clone(
    transport: &dyn GitTransport,
    request: &CloneRequest,
    auth: &GitAuth,
) -> Result<Cloned, GitError> {
    let session = Session::open(transport, request, auth)?;
    let late = |_| Err(session.late());
    tokio::time::timeout(request.timeout, session.run()).await.unwrap_or_else(late)
}

/// The commit that a reference means on the remote now.
struct Target {
    /// What to fetch: the commit, or the annotated tag that leads to it.
    want: ObjectId,
    /// The commit.
    commit: ObjectId,
    /// The ref, as a full name.
    reference: String,
    /// The tag's name, where the reference is one.
    tag: Option<String>,
}

struct Session<'a> {
    transport: &'a dyn GitTransport,
    remote: std::sync::Arc<dyn GitRemote>,
    request: &'a CloneRequest,
    auth: &'a GitAuth,
}

impl<'a> Session<'a> {
    fn open(
        transport: &'a dyn GitTransport,
        request: &'a CloneRequest,
        auth: &'a GitAuth,
    ) -> Result<Self, GitError> {
        let remote = transport
            .open(&request.url, auth)
            .map_err(|source| GitError::Clone { url: request.url.clone(), source })?;
        Ok(Self { transport, remote, request, auth })
    }

    async fn run(&self) -> Result<Cloned, GitError> {
        let reference = &self.request.reference;
        let target = if !reference.commit.is_empty() {
            self.by_commit().await?
        } else if !reference.name.is_empty() {
            Some(self.by_name(&reference.name).await?)
        } else if !reference.tag.is_empty() {
            self.by_tag(&reference.tag).await?
        } else if !reference.semver.is_empty() {
            Some(self.by_semver(&reference.semver).await?)
        } else {
            let branch =
                if reference.branch.is_empty() { DEFAULT_BRANCH } else { &reference.branch };
            self.by_branch(branch).await?
        };
        let Some(target) = target else { return Ok(Cloned::Empty) };
        let revision = self.revision(&target);
        if self.request.last_observed.as_ref().is_some_and(|last| last.is_same(&revision)) {
            return Ok(Cloned::Unchanged { revision, commit: target.commit });
        }
        self.check_out(target, revision).await
    }

    /// `<branch or tag>@sha1:<commit>`; with a name as reference, the full name stands there.
    fn revision(&self, target: &Target) -> Revision {
        let digest = format!("sha1:{}", target.commit);
        let pointer = if self.request.reference.name.is_empty() {
            target.reference.splitn(3, '/').nth(2).unwrap_or_default()
        } else {
            &target.reference
        };
        Revision::of(pointer, &digest)
    }

    async fn by_branch(&self, branch: &str) -> Result<Option<Target>, GitError> {
        let name = format!("refs/heads/{branch}");
        check_name(&name)?;
        let Some(found) = self.find(&name).await? else {
            return self.absent(&name).await.map(|()| None);
        };
        Ok(Some(Target { want: found.id, commit: found.id, reference: name, tag: None }))
    }

    async fn by_tag(&self, tag: &str) -> Result<Option<Target>, GitError> {
        let name = format!("refs/tags/{tag}");
        check_name(&name)?;
        match self.find(&name).await? {
            Some(found) => Ok(Some(tag_target(tag, &found))),
            // Only a branch may be asked of an empty repository.
            None => self
                .absent(&name)
                .await
                .and_then(|()| Err(GitError::Empty { url: self.request.url.clone() })),
        }
    }

    async fn by_name(&self, name: &str) -> Result<Target, GitError> {
        check_name(name)?;
        let bare = name.strip_suffix("^{}").unwrap_or(name);
        let Some(found) = self.find(bare).await? else {
            let is_empty = self.list(&[]).await?.is_empty();
            return Err(if is_empty {
                self.empty_list()
            } else {
                GitError::UnresolvedRef(name.to_owned())
            });
        };
        match bare.strip_prefix("refs/tags/") {
            Some(tag) => Ok(Target { reference: name.to_owned(), ..tag_target(tag, &found) }),
            None => Ok(Target {
                want: found.id,
                commit: found.peeled.unwrap_or(found.id),
                reference: name.to_owned(),
                tag: None,
            }),
        }
    }

    async fn by_semver(&self, range: &str) -> Result<Target, GitError> {
        let constraint = Constraint::parse(range).map_err(GitError::Semver)?;
        let refs = self.list(&["refs/tags/".to_owned()]).await?;
        if refs.is_empty() {
            self.absent("refs/tags/").await.map_or_else(
                |error| match error {
                    GitError::Clone { source: Cause::RefNotFound(_), .. } => Ok(()),
                    other => Err(other),
                },
                |()| Err(GitError::Empty { url: self.request.url.clone() }),
            )?;
        }
        let tag_of = |found: &RemoteRef| found.name.strip_prefix("refs/tags/").map(str::to_owned);
        let tags: Vec<String> = refs.iter().filter_map(tag_of).collect();
        let versions = semver::sorted(&constraint, tags.iter().map(String::as_str));
        let Some(newest) = versions.first() else {
            return Err(GitError::NoVersion(range.to_owned()));
        };
        let tied: Vec<Target> = versions
            .iter()
            .take_while(|version| version.precedence(newest) == Ordering::Equal)
            .filter_map(|version| {
                let name = format!("refs/tags/{}", version.original());
                let found = refs.iter().find(|found| found.name == name)?;
                Some(tag_target(version.original(), found))
            })
            .collect();
        let latest = self.latest(tied).await?;
        latest.ok_or_else(|| GitError::NoVersion(range.to_owned()))
    }

    /// Versions that differ in build metadata alone are ordered by the time of their commits.
    async fn latest(&self, mut tied: Vec<Target>) -> Result<Option<Target>, GitError> {
        if tied.len() > 1 {
            let wants = tied.iter().map(|target| target.want).collect();
            let filter = Some(ObjectFilter::Trees);
            let objects = self.fetch(FetchRequest { wants, depth: Some(1), filter }).await?;
            let when = |target: &Target| {
                Commit::find(&objects, target.commit).map(|commit| commit.committer.when).ok()
            };
            tied.sort_by_key(|target| (when(target), target.reference.clone()));
        }
        Ok(tied.pop())
    }

    /// A commit that is in the history of the branch, or of any branch.
    async fn by_commit(&self) -> Result<Option<Target>, GitError> {
        let Reference { branch, commit, name, .. } = &self.request.reference;
        let unresolved = |source| GitError::Commit { commit: commit.clone(), source };
        let branch_ref =
            if branch.is_empty() { String::new() } else { format!("refs/heads/{branch}") };
        let reference = if name.is_empty() { branch_ref.clone() } else { name.clone() };
        let prefix = if branch.is_empty() { "refs/heads/".to_owned() } else { branch_ref.clone() };
        let tips: Vec<ObjectId> = self
            .list(std::slice::from_ref(&prefix))
            .await?
            .into_iter()
            .filter(|found| branch.is_empty() || found.name == branch_ref)
            .map(|found| found.id)
            .collect();
        if tips.is_empty() {
            self.absent(&prefix).await?;
            return Err(GitError::Empty { url: self.request.url.clone() });
        }
        // What can be no name of an object names none that is there.
        let id: ObjectId =
            commit.parse().map_err(|_| unresolved(Cause::ObjectNotFound(commit.clone())))?;
        let target = Target { want: id, commit: id, reference, tag: None };
        let seen = self.request.last_observed.as_ref();
        let is_seen = seen.is_some_and(|last| last.is_same(&self.revision(&target)));
        if tips.contains(&id) || is_seen {
            return Ok(Some(target));
        }
        let filter = Some(ObjectFilter::Trees);
        let history = self.fetch(FetchRequest { wants: tips, depth: None, filter }).await?;
        match history.get(&id) {
            Some(object) if object.kind == ObjectKind::Commit => Ok(Some(target)),
            _ => Err(unresolved(Cause::ObjectNotFound(id.to_string()))),
        }
    }

    async fn check_out(&self, target: Target, revision: Revision) -> Result<Cloned, GitError> {
        let clone_error = |source| GitError::Clone { url: self.request.url.clone(), source };
        let mut objects = self.fetch_target(&target).await?;
        let sparse: Vec<String> = self
            .request
            .sparse
            .iter()
            .map(|start| start.strip_prefix("./").unwrap_or(start).to_owned())
            .collect();
        let commit = Commit::find(&objects, target.commit)
            .map_err(|source| GitError::Commit { commit: target.commit.to_string(), source })?;
        let missing = tree::missing_blobs(&objects, commit.tree, &sparse).map_err(clone_error)?;
        if !missing.is_empty() {
            let wants = FetchRequest { wants: missing, depth: None, filter: None };
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
        let tag = target
            .tag
            .map(|name| ReferencingTag { object: Tag::find(&objects, target.want).ok(), name });
        if self.request.recurse_submodules && !submodules.is_empty() {
            let parent = submodule::Parent {
                transport: self.transport,
                url: self.request.url.clone(),
                auth: self.auth.clone(),
                depth: 0,
            };
            submodule::check_out(&parent, &mut files, &submodules).await?;
        }
        let reference = target.reference;
        let checkout = Checkout { commit, reference, tag, revision, files };
        Ok(Cloned::Checkout(Box::new(checkout)))
    }

    /// The target's objects: one commit deep, and with a sparse checkout no more contents than needed.
    async fn fetch_target(&self, target: &Target) -> Result<Objects, GitError> {
        let clone_error = |source| GitError::Clone { url: self.request.url.clone(), source };
        let is_tip = self.request.reference.commit.is_empty();
        let can_want = is_tip || self.remote.can_want_any().await.map_err(clone_error)?;
        if !can_want {
            // An old server gives its refs only: the commit comes with the history of the branches.
            let refs = self.list(&["refs/heads/".to_owned()]).await?;
            let wants = refs.into_iter().map(|found| found.id).collect();
            return self.fetch(FetchRequest { wants, depth: None, filter: None }).await;
        }
        let can_filter = !self.request.sparse.is_empty()
            && self.remote.can_filter().await.map_err(clone_error)?
            && self.remote.can_want_any().await.map_err(clone_error)?;
        let filter = can_filter.then_some(ObjectFilter::Blobs);
        self.fetch(FetchRequest { wants: vec![target.want], depth: Some(1), filter }).await
    }

    async fn fetch(&self, request: FetchRequest) -> Result<Objects, GitError> {
        let clone_error = |source| GitError::Clone { url: self.request.url.clone(), source };
        self.remote.fetch(request).await.map_err(clone_error)
    }

    async fn find(&self, name: &str) -> Result<Option<RemoteRef>, GitError> {
        let refs = self.list(&[name.to_owned()]).await?;
        Ok(refs.into_iter().find(|found| found.name == name))
    }

    async fn list(&self, prefixes: &[String]) -> Result<Vec<RemoteRef>, GitError> {
        self.remote.list_refs(prefixes).await.map_err(|source| self.unlisted(source))
    }

    /// Flux lists first where it knows a revision already, and says so.
    fn unlisted(&self, source: Cause) -> GitError {
        let url = self.request.url.clone();
        if self.request.last_observed.is_some() || !self.request.reference.name.is_empty() {
            GitError::List { url, source }
        } else {
            GitError::Clone { url, source }
        }
    }

    fn late(&self) -> GitError {
        let pending = self.remote.pending();
        if pending.starts_with("Get") {
            return self.unlisted(Cause::Late(format!("{pending}: ")));
        }
        let waited = if pending.is_empty() { pending } else { format!("{pending}: ") };
        GitError::Clone { url: self.request.url.clone(), source: Cause::Late(waited) }
    }

    fn empty_list(&self) -> GitError {
        GitError::List { url: self.request.url.clone(), source: Cause::EmptyRepository }
    }

    /// A ref is not there: nothing if that is because the repository is empty, else an error.
    async fn absent(&self, name: &str) -> Result<(), GitError> {
        if self.list(&[]).await?.is_empty() {
            // It was not when it was listed first.
            let was_seen = self.request.last_observed.is_some();
            return if was_seen { Err(self.empty_list()) } else { Ok(()) };
        }
        let source = Cause::RefNotFound(name.to_owned());
        Err(GitError::Clone { url: self.request.url.clone(), source })
    }
}

fn tag_target(tag: &str, found: &RemoteRef) -> Target {
    Target {
        want: found.id,
        commit: found.peeled.unwrap_or(found.id),
        reference: format!("refs/tags/{tag}"),
        tag: Some(tag.to_owned()),
    }
}

fn check_name(name: &str) -> Result<(), GitError> {
    if name.starts_with('/') || name.ends_with('/') {
        return Err(GitError::InvalidRef(name.to_owned()));
    }
    Ok(())
}
