//! Whether a branch or a tag still leads back to the commit of the artifact before.

use std::collections::HashSet;
use std::time::Duration;

use super::{Checkout, Session};
use crate::git::commit;
use crate::git::error::Cause;
use crate::git::object::{ObjectId, ObjectKind, Objects};
use crate::git::remote::{Budget, FetchRequest, ObjectFilter};

/// Finding out may take so long, beside the time of the checkout.
const PATIENCE: Duration = Duration::from_secs(30);

/// How a commit relates to the one of the artifact before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum History {
    /// There is nothing to compare with: no artifact, another reference, or neither a branch nor a tag.
    Unasked,
    /// The commit is a descendant of the one before.
    Continued,
    /// It is not: somebody pushed by force, or moved a tag.
    Rewritten {
        /// The commit of the artifact before.
        from: ObjectId,
    },
    /// It could not be found out.
    Unknown {
        /// The commit of the artifact before.
        from: ObjectId,
        /// Why not.
        why: String,
    },
}

/// What a walk from commits to their parents meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The commit.
    Found,
    /// Everything but the commit.
    Absent,
    /// The end of what is here, but not of the history.
    CutOff,
}

/// Looks for a commit among some commits and their ancestors.
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
    /// Compares the commit with the one of the artifact before.
    pub(super) async fn history(&self, checkout: &Checkout) -> History {
        let Some(from) = self.previous(checkout) else { return History::Unasked };
        // Most pushes add one commit: nothing has to be asked for.
        if checkout.commit.parents.contains(&from) {
            return History::Continued;
        }
        let unknown = |why: String| History::Unknown { from, why };
        match tokio::time::timeout(PATIENCE, self.new_commits(checkout.commit.id, from)).await {
            Ok(Ok(commits)) => match reach(&commits, &[checkout.commit.id], from) {
                Reach::Found => History::Continued,
                // The server leaves out the history of the commit before, so that the walk ends where both
                // meet. The way to that commit itself is never left out.
                Reach::Absent | Reach::CutOff => History::Rewritten { from },
            },
            Ok(Err(cause)) => unknown(cause.to_string()),
            Err(_) => unknown(format!("no answer within {} s", PATIENCE.as_secs())),
        }
    }

    /// The commit before, where the artifact is of the same branch or tag.
    fn previous(&self, checkout: &Checkout) -> Option<ObjectId> {
        let previous = self.request.previous.as_ref()?;
        let is_named =
            ["refs/heads/", "refs/tags/"].iter().any(|start| checkout.reference.starts_with(start));
        let is_same = previous.pointer() == checkout.revision.pointer();
        let from: ObjectId = previous.hash().parse().ok()?;
        (is_named && is_same && from != checkout.commit.id).then_some(from)
    }

    /// The commits that lead to `to` and not to `from`, which are few after an ordinary push.
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
