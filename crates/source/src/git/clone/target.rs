//! Resolves a reference to an object on the remote, and that object to a commit.

use std::cmp::Ordering;

use super::history::{Reach, reach};
use super::{Reference, Session};
use crate::git::commit::{Commit, Tag};
use crate::git::error::{Cause, GitError, malformed};
use crate::git::object::{ObjectId, Objects};
use crate::git::peel::peel;
use crate::git::remote::{FetchRequest, ObjectFilter, RemoteRef};
use sluice_base::semver::{self, Constraint};

/// Flux's default branch.
const DEFAULT_BRANCH: &str = "master";

/// A reference that was resolved on the remote.
pub(super) struct Target {
    /// The object to fetch: the commit, or the annotated tag that leads to it.
    pub(super) want: ObjectId,
    /// The commit of the tag, as the server claims.
    peeled: Option<ObjectId>,
    /// The ref, as a full name.
    pub(super) reference: String,
    /// The tag's name, if the reference is one.
    pub(super) tag: Option<String>,
    /// Whether the reference may point at a tag instead of a commit.
    is_peelable: bool,
}

impl Target {
    /// The commit that the server claims. Good enough to detect that nothing has changed.
    pub(super) fn claimed(&self) -> ObjectId {
        self.peeled.unwrap_or(self.want)
    }

    /// The commit, and the outermost tag on the way to it, from the objects.
    pub(super) fn resolve(&self, objects: &Objects) -> Result<(Commit, Option<Tag>), Cause> {
        if !self.is_peelable {
            return Commit::find(objects, self.want).map(|commit| (commit, None));
        }
        let (commit, tag) = peel(objects, self.want)?;
        match self.peeled {
            Some(claimed) if claimed != commit.id => Err(malformed(format!(
                "the server says that {} leads to commit {claimed}, but its object {} leads to commit {}",
                self.reference, self.want, commit.id
            ))),
            _ => Ok((commit, tag)),
        }
    }

    fn of_commit(id: ObjectId, reference: String) -> Self {
        Self { want: id, peeled: None, reference, tag: None, is_peelable: false }
    }

    fn of_tag(tag: &str, found: &RemoteRef) -> Self {
        Self {
            want: found.id,
            peeled: found.peeled,
            reference: format!("refs/tags/{tag}"),
            tag: Some(tag.to_owned()),
            is_peelable: true,
        }
    }
}

impl Session<'_> {
    /// The target of the request; `None` if the repository is empty.
    pub(super) async fn target(&self) -> Result<Option<Target>, GitError> {
        let reference = &self.request.reference;
        if !reference.commit.is_empty() {
            self.by_commit().await
        } else if !reference.name.is_empty() {
            self.by_name(&reference.name).await.map(Some)
        } else if !reference.tag.is_empty() {
            self.by_tag(&reference.tag).await
        } else if !reference.semver.is_empty() {
            self.by_semver(&reference.semver).await.map(Some)
        } else if reference.branch.is_empty() {
            self.by_branch(DEFAULT_BRANCH).await
        } else {
            self.by_branch(&reference.branch).await
        }
    }

    async fn by_branch(&self, branch: &str) -> Result<Option<Target>, GitError> {
        let name = format!("refs/heads/{branch}");
        check_name(&name)?;
        let Some(found) = self.find(&name).await? else {
            return self.absent(&name).await.map(|()| None);
        };
        Ok(Some(Target::of_commit(found.id, name)))
    }

    async fn by_tag(&self, tag: &str) -> Result<Option<Target>, GitError> {
        let name = format!("refs/tags/{tag}");
        check_name(&name)?;
        match self.find(&name).await? {
            Some(found) => Ok(Some(Target::of_tag(tag, &found))),
            // For an empty repository only a branch is no error.
            None => self.absent(&name).await.and_then(|()| Err(self.empty())),
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
        let target = Target::of_tag(bare, &found);
        let tag = bare.strip_prefix("refs/tags/").map(str::to_owned);
        Ok(Target { reference: name.to_owned(), tag, ..target })
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
                |()| Err(self.empty()),
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
                Some(Target::of_tag(version.original(), found))
            })
            .collect();
        let latest = self.latest(tied).await?;
        latest.ok_or_else(|| GitError::NoVersion(range.to_owned()))
    }

    /// Of versions that differ in build metadata only, the one with the newest commit.
    async fn latest(&self, mut tied: Vec<Target>) -> Result<Option<Target>, GitError> {
        if tied.len() > 1 {
            let wants = tied.iter().map(|target| target.want).collect();
            let filter = Some(ObjectFilter::Trees);
            let request = FetchRequest { wants, depth: Some(1), filter, ..FetchRequest::default() };
            let objects = self.fetch(request).await?;
            let when = |target: &Target| {
                target.resolve(&objects).map(|(commit, _)| commit.committer.when).ok()
            };
            tied.sort_by_key(|target| (when(target), target.reference.clone()));
        }
        Ok(tied.pop())
    }

    /// A commit in the history of the branch, or of any branch.
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
            return Err(self.empty());
        }
        // An invalid id is reported as a missing object.
        let id: ObjectId =
            commit.parse().map_err(|_| unresolved(Cause::ObjectNotFound(commit.clone())))?;
        let revision = self.revision(&reference, id);
        let is_seen =
            self.request.last_observed.as_ref().is_some_and(|last| last.is_same(&revision));
        if tips.contains(&id) || is_seen {
            return Ok(Some(Target::of_commit(id, reference)));
        }
        let filter = Some(ObjectFilter::Trees);
        let request = FetchRequest { wants: tips.clone(), filter, ..FetchRequest::default() };
        let history = self.fetch(request).await?;
        // That the server sends a commit does not mean that it is on the branch.
        match reach(&history, &tips, id) {
            Reach::Found => Ok(Some(Target::of_commit(id, reference))),
            Reach::Absent | Reach::CutOff => Err(unresolved(Cause::ObjectNotFound(id.to_string()))),
        }
    }
}

fn check_name(name: &str) -> Result<(), GitError> {
    if name.starts_with('/') || name.ends_with('/') {
        return Err(GitError::InvalidRef(name.to_owned()));
    }
    Ok(())
}
