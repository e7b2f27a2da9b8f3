//! What another Kustomization wants, at its source's artifact as it is now.

use std::sync::Arc;
use std::time::Duration;

use sluice_api::kustomize::kustomization::Kustomization;
use sluice_runtime::outcome::Stop;
use sluice_source::tree::SourceTree;
use sluice_ssa::{Applier, ObjectId};
use tokio::time::{Instant, timeout};

use super::super::{Kustomizations, build, is_ready, references};
use crate::artifacts::inside;
use crate::origin::Reading;
use crate::sources::SourceArtifact;

/// How long one Kustomization of our own namespace may take to be built.
const OWN: Duration = Duration::from_mins(2);

/// How long all Kustomizations of other namespaces together may take to be built for one question.
const FOREIGN: Duration = Duration::from_secs(10);

/// The time that builds of other namespaces have left; it begins with the first of them.
#[derive(Default)]
pub(super) struct Budget(Option<Instant>);

impl Budget {
    fn left(&mut self, crosses: bool) -> Duration {
        if !crosses {
            return OWN;
        }
        let end = *self.0.get_or_insert_with(|| Instant::now() + FOREIGN);
        end.saturating_duration_since(Instant::now())
    }
}

/// Where the wishes of another Kustomization are written.
pub(super) enum Wishes {
    /// In its inventory.
    Inventory,
    /// In what was built last of the artifact with this digest.
    Claim(String),
    /// It cannot be built; whatever its files name may be wanted.
    Files(Arc<SourceTree>),
    /// It has none.
    None,
}

impl Kustomizations {
    /// Whether an object is among the wishes of a Kustomization.
    pub(super) fn wants(&self, other: &Kustomization, wishes: &Wishes, id: &ObjectId) -> bool {
        match wishes {
            Wishes::Inventory => holds(other, id),
            Wishes::Claim(artifact) => self.handover.is_claimed(other, artifact, id),
            Wishes::Files(files) => mentions(other, files, id),
            Wishes::None => false,
        }
    }

    /// What a Kustomization wants: at its source's artifact, and at newer ones that other sources of the same
    /// namespace have made of the same repository. It is built only if its own pass would build it, and one of
    /// another namespace only where references across namespaces are allowed.
    pub(super) async fn wishes(
        &self,
        object: &Arc<Kustomization>,
        crosses: bool,
        newer: &[&SourceArtifact],
        applier: &Applier,
        budget: &mut Budget,
    ) -> Vec<Wishes> {
        if crosses && self.context.settings.no_cross_namespace_refs {
            return vec![Wishes::Inventory];
        }
        let at_source = match self.admitted(object) {
            Ok(artifact) => Some(artifact),
            // Its source has nothing yet.
            Err(Stop::Waiting(_)) => None,
            Err(_) => return vec![Wishes::Inventory],
        };
        let mut wishes = Vec::new();
        match &at_source {
            Some(artifact) if !has_applied(object, artifact) => {
                wishes.push(self.wishes_at(object, artifact, crosses, applier, budget).await);
            }
            _ => wishes.push(Wishes::Inventory),
        }
        for artifact in newer {
            wishes.push(self.wishes_at(object, artifact, crosses, applier, budget).await);
        }
        wishes
    }

    async fn wishes_at(
        &self,
        object: &Arc<Kustomization>,
        artifact: &SourceArtifact,
        crosses: bool,
        applier: &Applier,
        budget: &mut Budget,
    ) -> Wishes {
        if self.handover.knows(object, &artifact.digest) {
            return Wishes::Claim(artifact.digest.clone());
        }
        let built = timeout(budget.left(crosses), self.built_for(object, artifact, applier)).await;
        match built {
            // A search through the files of another namespace would tell what is in them.
            Ok(Wishes::Files(_)) if crosses => Wishes::Inventory,
            Ok(wishes) => wishes,
            Err(_) => Wishes::Inventory,
        }
    }

    async fn built_for(
        &self,
        object: &Arc<Kustomization>,
        artifact: &SourceArtifact,
        applier: &Applier,
    ) -> Wishes {
        let Ok(files) = self.context.artifacts.tree(artifact).await else {
            return Wishes::Inventory;
        };
        if build::path_refusal(object, &files).is_some() {
            return Wishes::None;
        }
        match build::build(&self.context, object, Arc::clone(&files)).await {
            Ok(built) => {
                let keys = applier.identify(&built.objects).await;
                self.handover.claim(object, artifact, &keys);
                Wishes::Claim(artifact.digest.clone())
            }
            Err(_) => Wishes::Files(files),
        }
    }
}

/// Artifacts of the repository that a Kustomization builds from, if other sources of the same namespace have
/// them and its own has not: the newest, and the one at hand where it is of such a source. All these sources
/// make the same artifact of the same revision.
pub(super) fn ahead<'r>(
    object: &Kustomization,
    at_hand: Option<(&Reading, &'r SourceArtifact)>,
    readings: &'r [Reading],
) -> Vec<&'r SourceArtifact> {
    let source = references::source(object);
    let Some(own) = readings.iter().find(|it| it.source == source) else { return Vec::new() };
    let is_twin = |it: &Reading| {
        it.source.key.namespace == own.source.key.namespace
            && it.source != own.source
            && it.is_twin(own)
    };
    let artifacts = readings.iter().filter(|it| is_twin(it)).filter_map(|it| it.artifact.as_ref());
    let newest = artifacts.max_by_key(|it| it.last_update_time);
    let at_hand = at_hand.filter(|(reading, _)| is_twin(reading)).map(|(_, artifact)| artifact);
    let mut ahead: Vec<&SourceArtifact> = newest.into_iter().chain(at_hand).collect();
    ahead.retain(|it| own.is_behind(it));
    ahead.dedup_by_key(|it| &it.digest);
    ahead
}

/// Whether a Kustomization has applied just this artifact.
fn has_applied(object: &Kustomization, artifact: &SourceArtifact) -> bool {
    let Some(status) = &object.status else { return false };
    status.last_applied_revision.as_ref() == Some(&artifact.revision)
        && status.observed_generation == object.metadata.generation
        && is_ready(object)
}

/// Whether the inventory of a Kustomization has an object.
pub(in crate::kustomization) fn holds(object: &Kustomization, id: &ObjectId) -> bool {
    let stored = object.status.as_ref().and_then(|status| status.inventory.as_ref());
    let wanted = id.to_inventory();
    stored.is_some_and(|stored| stored.entries.iter().any(|entry| entry.id == wanted))
}

/// Whether the files below a Kustomization's path name an object: its kind and its name in one file.
fn mentions(object: &Kustomization, files: &SourceTree, id: &ObjectId) -> bool {
    let path = inside(object.spec.path.as_deref().unwrap_or_default());
    let below = |file: &str| {
        path.is_empty() || file.strip_prefix(&path).is_some_and(|rest| rest.starts_with('/'))
    };
    let (prefix, suffix) = (object.spec.name_prefix.as_deref(), object.spec.name_suffix.as_deref());
    let name = id.name.strip_prefix(prefix.unwrap_or_default()).unwrap_or(&id.name);
    let name = name.strip_suffix(suffix.unwrap_or_default()).unwrap_or(name);
    files.iter().filter(|(file, _)| below(file)).any(|(file, _)| {
        let content =
            files.read(file).map(|content| String::from_utf8_lossy(content)).unwrap_or_default();
        content.contains(name) && content.contains(id.kind.as_str())
    })
}
