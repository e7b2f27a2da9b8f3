//! Whether a branch or a tag still contains the commit of the previous artifact.

use std::collections::HashSet;
use std::time::Duration;

use super::{Checkout, Session};
use crate::git::commit;
use crate::git::error::Cause;
use crate::git::object::{ObjectId, ObjectKind, Objects};
use crate::git::remote::{Budget, FetchRequest, ObjectFilter};

/// The timeout, beside that of the checkout.
const PATIENCE: Duration = Duration::from_secs(30);

/// The relation of a commit to the one of the previous artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum History {
    /// Nothing to compare with: no artifact, another reference, or neither a branch nor a tag.
    Unasked,
    /// The commit is a descendant of the previous one.
    Continued,
    /// It is not: a forced push, or a moved tag.
    Rewritten {
        /// The commit of the previous artifact.
        from: ObjectId,
    },
    /// It could not be determined.
    Unknown {
        /// The commit of the previous artifact.
        from: ObjectId,
        /// The cause.
        why: String,
    },
}

/// The result of a walk from commits to their parents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The commit is an ancestor.
    Found,
    /// The commit is not an ancestor.
    Absent,
    /// The history is incomplete.
    CutOff,
}

/// Searches for a commit among some commits and their ancestors.
pub(super) fn reach(objects: &Objects, from: &[ObjectId], to: ObjectId) -> Reach {
    let mut open = from.to_vec();
    let mut seen: HashSet<ObjectId> = HashSet::new();
    let mut is_whole = true;
    while let Some(id) = open.pop() {
        if id == to {
            return Reach::Found;
        }
        if !seen.insert(id) {
            continue;
        }
        match objects.expect(&id, ObjectKind::Commit).and_then(|data| commit::parents(data)) {
            Ok(parents) => open.extend(parents),
            Err(_) => is_whole = false,
        }
    }
    if is_whole { Reach::Absent } else { Reach::CutOff }
}

impl Session<'_> {
    /// Compares the commit with the one of the previous artifact.
    pub(super) async fn history(&self, checkout: &Checkout) -> History {
        let Some(from) = self.previous(checkout) else { return History::Unasked };
        // Most pushes add one commit: then no request is needed.
        if checkout.commit.parents.contains(&from) {
            return History::Continued;
        }
        let unknown = |why: String| History::Unknown { from, why };
        match tokio::time::timeout(PATIENCE, self.new_commits(checkout.commit.id, from)).await {
            Ok(Ok(commits)) => match reach(&commits, &[checkout.commit.id], from) {
                Reach::Found => History::Continued,
                // The server leaves out the history of the previous commit, so the walk ends where both meet. The
                // path to that commit itself is never left out.
                Reach::Absent | Reach::CutOff => History::Rewritten { from },
            },
            Ok(Err(cause)) => unknown(cause.to_string()),
            Err(_) => unknown(format!("no answer within {} s", PATIENCE.as_secs())),
        }
    }

    /// The previous commit, if the artifact is of the same branch or tag.
    fn previous(&self, checkout: &Checkout) -> Option<ObjectId> {
        let previous = self.request.previous.as_ref()?;
        let is_named =
            ["refs/heads/", "refs/tags/"].iter().any(|start| checkout.reference.starts_with(start));
        let is_same = previous.pointer() == checkout.revision.pointer();
        let from: ObjectId = previous.hash().parse().ok()?;
        (is_named && is_same && from != checkout.commit.id).then_some(from)
    }

    /// The commits that are ancestors of `to` and not of `from`, which are few after an ordinary push.
    async fn new_commits(&self, to: ObjectId, from: ObjectId) -> Result<Objects, Cause> {
        let request = FetchRequest {
            wants: vec![to],
            haves: vec![from],
            depth: None,
            filter: Some(ObjectFilter::Trees),
            budget: Budget::History,
        };
        self.remote.fetch(request).await
    }
}
