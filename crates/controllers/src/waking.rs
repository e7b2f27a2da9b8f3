//! What makes an object due when something else changes: the one place to look for wake-ups between kinds.
//!
//! ```text
//! a source's watch, or a pass that stored an artifact ─▶ SourceUsers::on_change ─▶ Consumes::on_source of each user:
//!     Kustomization      another revision or content: a new pass, and the one under way stops waiting
//!                        the same again:              the one under way fetches again; others stay as they are
//!     ArtifactGenerator  any other artifact:          a new pass
//! a ConfigMap or Secret, or an object that others refer to ─▶ Wakes::wake ─▶ all that refer to it
//! ```

use std::sync::Arc;

use sluice_api::crd::CustomResource;
use sluice_api::shared::artifact::Artifact;
use sluice_runtime::index::Reference;
use sluice_runtime::store::Change;

use crate::sources::Source;

/// A controller with objects that refer to others.
pub trait Wakes: Send + Sync {
    /// Makes those due that refer to an object, which changed.
    fn wake(&self, reference: &Reference);

    /// Whether anything refers to an object.
    fn refers_to(&self, reference: &Reference) -> bool;
}

/// A controller with objects that are built from artifacts.
pub trait Consumes: Send + Sync {
    /// The artifact of a source changed.
    fn on_source(&self, source: &Reference, artifact: &Artifact, change: ArtifactChange);
}

/// How the artifact of a source changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArtifactChange {
    /// The same content was stored again, or is served elsewhere now.
    StoredAgain,
    /// The revision is the same and the content is not, as when ignore rules changed.
    Content,
    /// There is another revision.
    Revision,
}

impl ArtifactChange {
    /// How an artifact differs from the one before; nothing if it does not.
    pub fn between(before: Option<&Artifact>, after: &Artifact) -> Option<Self> {
        match before {
            Some(before) if before == after => None,
            Some(before) if before.revision != after.revision => Some(Self::Revision),
            Some(before) if before.digest != after.digest => Some(Self::Content),
            Some(_) => Some(Self::StoredAgain),
            None => Some(Self::Revision),
        }
    }
}

/// What a new artifact means for an object that applies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WakeUp {
    /// A pass that is under way stops waiting, and a new one is due.
    Supersede,
    /// A pass that is under way fetches again. A new one is due if there was one, which may have looked before the
    /// artifact was there; with `always`, in any case.
    Refetch {
        /// Whether a new pass is due without one under way.
        always: bool,
    },
}

impl WakeUp {
    /// `is_applied`: the object is ready at the revision of the artifact.
    pub fn decide(change: ArtifactChange, is_applied: bool) -> Self {
        let is_done = is_applied && change != ArtifactChange::Content;
        if is_done || change == ArtifactChange::StoredAgain {
            return Self::Refetch { always: !is_done };
        }
        Self::Supersede
    }
}

/// The controllers that build from artifacts.
#[derive(Clone, Default)]
pub struct SourceUsers(Vec<Arc<dyn Consumes>>);

impl SourceUsers {
    /// Adds one. It has to be known before sources are watched.
    pub(crate) fn add(&mut self, user: Arc<dyn Consumes>) {
        self.0.push(user);
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A source changed, and perhaps its artifact.
    pub(crate) fn on_change<K: Source + CustomResource>(&self, change: &Change<K>) {
        let before = change.before.as_deref().and_then(Source::artifact);
        let Some(after) = change.after.as_deref().and_then(Source::artifact) else { return };
        let Some(how) = ArtifactChange::between(before, after) else { return };
        let source = Reference::new(K::DEFINITION.kind, change.key.clone());
        for user in &self.0 {
            user.on_source(&source, after, how);
        }
    }
}

#[cfg(test)]
mod tests {
    use sluice_api::shared::artifact::Artifact;

    use super::{ArtifactChange, WakeUp};

    fn artifact(revision: &str, digest: &str, url: &str) -> Artifact {
        let (revision, digest, url) = (revision.to_owned(), digest.to_owned(), url.to_owned());
        Artifact { revision, digest, url, ..Artifact::default() }
    }

    #[test]
    fn a_new_artifact_wakes_as_much_as_it_differs() {
        use ArtifactChange::{Content, Revision, StoredAgain};
        let now = artifact("2", "b", "u");
        let refetch = |always| Some(WakeUp::Refetch { always });
        for (before, is_applied, change, wake) in [
            (None, false, Some(Revision), Some(WakeUp::Supersede)),
            (None, true, Some(Revision), refetch(false)),
            (Some(("1", "a", "u")), false, Some(Revision), Some(WakeUp::Supersede)),
            (Some(("1", "a", "u")), true, Some(Revision), refetch(false)),
            (Some(("1", "b", "u")), false, Some(Revision), Some(WakeUp::Supersede)),
            (Some(("2", "a", "u")), true, Some(Content), Some(WakeUp::Supersede)),
            (Some(("2", "a", "u")), false, Some(Content), Some(WakeUp::Supersede)),
            (Some(("2", "b", "v")), true, Some(StoredAgain), refetch(false)),
            (Some(("2", "b", "v")), false, Some(StoredAgain), refetch(true)),
            (Some(("2", "b", "u")), false, None, None),
        ] {
            let old = before.map(|(revision, digest, url)| artifact(revision, digest, url));
            let found = ArtifactChange::between(old.as_ref(), &now);
            assert_eq!(found, change, "{before:?}");
            let found = found.map(|change| WakeUp::decide(change, is_applied));
            assert_eq!(found, wake, "{before:?} {is_applied}");
        }
    }
}
