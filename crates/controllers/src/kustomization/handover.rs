//! Objects that move from one Kustomization to another: the old one lets go only when the new one has them.
//!
//! An object that is no longer wanted here is deleted only if no other Kustomization wants it on the same
//! cluster. What another wants follows from its own source as it is now: from its inventory if it has applied
//! just that, from a build of it otherwise. So it does not matter which of the two is worked on first, nor
//! whether the other is suspended, waits for us, or fails. While the object still bears our labels it stays
//! in our inventory, even if we are deleted; nothing is orphaned if the other changes its mind.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::Api;
use kube::api::PostParams;
use sluice_api::kustomize::kustomization::Kustomization;
use sluice_api::names::sluice::conditions::HANDING_OVER;
use sluice_api::names::sluice::reasons::CLAIMED;
use sluice_api::shared::artifact::Artifact;
use sluice_api::shared::condition::ConditionStatus;
use sluice_runtime::events::Severity;
use sluice_runtime::key::Key;
use sluice_runtime::store::Change;
use sluice_source::tree::SourceTree;
use sluice_ssa::{Action, Applier, ChangeSet, Inventory, ObjectId, ObjectKey};

use super::access::Target;
use super::drifting::{cluster_of, served};
use super::pass::Pass;
use super::{Kustomizations, build, is_ready, references};
use crate::artifacts::inside;
use crate::safety::SafetyRule;

/// The objects that a Kustomization wants, as numbers: they are only ever compared.
struct Claim {
    uid: Option<String>,
    generation: Option<i64>,
    artifact: String,
    wanted: BTreeSet<u64>,
}

/// What each Kustomization wants, and who waits for whom to take it.
#[derive(Default)]
pub(super) struct HandOver {
    claims: Mutex<BTreeMap<Key, Claim>>,
    /// By the new owner: the old ones.
    waiting: Mutex<BTreeMap<Key, BTreeSet<Key>>>,
    /// Old and new owners, where the new one was asked to look again.
    asked: Mutex<BTreeSet<(Key, Key)>>,
}

/// Where another's wishes are written.
enum Wishes {
    /// In its inventory.
    Inventory,
    /// In what was built of it last.
    Claim,
    /// It cannot be built; whatever its files name may be wanted.
    Files(Arc<SourceTree>),
    /// It has none.
    None,
}

fn number(id: &ObjectId) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

impl HandOver {
    /// Remembers what a Kustomization wants of an artifact.
    pub(super) fn claim(&self, object: &Kustomization, artifact: &Artifact, keys: &[ObjectKey]) {
        let claim = Claim {
            uid: object.metadata.uid.clone(),
            generation: object.metadata.generation,
            artifact: artifact.digest.clone(),
            wanted: keys.iter().map(|key| number(&key.id)).collect(),
        };
        let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        claims.insert(Key::of(&object.metadata), claim);
    }

    /// Whether it is known what a Kustomization wants of an artifact.
    fn knows(&self, object: &Kustomization, artifact: &Artifact) -> bool {
        let claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        claims.get(&Key::of(&object.metadata)).is_some_and(|claim| {
            claim.uid == object.metadata.uid
                && claim.generation == object.metadata.generation
                && claim.artifact == artifact.digest
        })
    }

    fn is_claimed(&self, by: &Key, id: &ObjectId) -> bool {
        let claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        claims.get(by).is_some_and(|claim| claim.wanted.contains(&number(id)))
    }

    fn wait(&self, new: &Key, old: &Key) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.entry(new.clone()).or_default().insert(old.clone());
    }

    /// Who waits for a Kustomization, now that it changed: its spec, or by a pass that came to an end.
    pub(super) fn released(&self, change: &Change<Kustomization>) -> BTreeSet<Key> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if !waiting.contains_key(&change.key) {
            return BTreeSet::new();
        }
        let concerns = |object: &Arc<Kustomization>| {
            let history = object.status.as_ref().and_then(|status| status.history.clone());
            (object.metadata.generation, object.metadata.deletion_timestamp.clone(), history)
        };
        if change.before.as_ref().map(concerns) == change.after.as_ref().map(concerns) {
            return BTreeSet::new();
        }
        waiting.remove(&change.key).unwrap_or_default()
    }

    /// Whether the new owner was not yet asked, on behalf of the old one, to look again.
    fn asks_first(&self, new: &Key, old: &Key) -> bool {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.insert((old.clone(), new.clone()))
    }

    /// Nothing is kept for others any more.
    fn settle(&self, old: &Key) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.retain(|(key, _)| key != old);
    }

    /// Forgets one that is gone.
    pub(super) fn forget(&self, key: &Key) {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
        self.settle(key);
    }
}

impl Kustomizations {
    /// Which of the objects that are no longer wanted here others want, and who. What was applied is the
    /// revision at hand; if the source has moved on since, our own newer wishes count as well.
    pub(super) async fn claimed(
        &self,
        own: &Kustomization,
        applier: &Applier,
        stale: &[ObjectKey],
        applied: Option<&Artifact>,
    ) -> BTreeMap<ObjectId, Key> {
        let (own_key, cluster) = (Key::of(&own.metadata), cluster_of(own));
        let mut claimed = BTreeMap::new();
        if !self.context.settings.keeps(SafetyRule::WantedElsewhereStays) {
            return claimed;
        }
        let newest = self.sources.artifact(&references::source(own)).flatten();
        let is_old = applied
            .is_some_and(|applied| newest.is_some_and(|newest| newest.digest != applied.digest));
        for other in self.store.list() {
            let key = Key::of(&other.metadata);
            if claimed.len() == stale.len() {
                break;
            }
            if key == own_key && !is_old
                || other.metadata.deletion_timestamp.is_some()
                || cluster_of(&other) != cluster
            {
                continue;
            }
            let wishes = self.wishes(&other, applier).await;
            for object in stale {
                let wanted = match &wishes {
                    _ if claimed.contains_key(&object.id) => false,
                    Wishes::None => break,
                    Wishes::Inventory => holds(&other, &object.id),
                    Wishes::Claim => self.handover.is_claimed(&key, &object.id),
                    Wishes::Files(files) => mentions(&other, files, &object.id),
                };
                if wanted && self.may_take(own, &other, object).await {
                    claimed.insert(object.id.clone(), key.clone());
                }
            }
        }
        claimed
    }

    /// What a Kustomization wants at its source's artifact as it is now.
    async fn wishes(&self, object: &Arc<Kustomization>, applier: &Applier) -> Wishes {
        let Some(Some(artifact)) = self.sources.artifact(&references::source(object)) else {
            return Wishes::Inventory;
        };
        let status = object.status.as_ref();
        let applied = status.and_then(|status| status.last_applied_revision.as_ref());
        let observed = status.and_then(|status| status.observed_generation);
        let is_applied = applied == Some(&artifact.revision)
            && observed == object.metadata.generation
            && is_ready(object);
        if is_applied {
            return Wishes::Inventory;
        }
        if self.handover.knows(object, &artifact) {
            return Wishes::Claim;
        }
        let Ok(files) = self.context.artifacts.tree(&artifact).await else {
            return Wishes::Inventory;
        };
        if build::path_refusal(object, &files).is_some() {
            return Wishes::None;
        }
        match build::build(&self.context, object, Arc::clone(&files)).await {
            Ok(built) => {
                let keys = applier.identify(&built.objects).await;
                self.handover.claim(object, &artifact, &keys);
                Wishes::Claim
            }
            Err(_) => Wishes::Files(files),
        }
    }

    /// Whether another Kustomization has the right to apply an object: nobody keeps what is not theirs to
    /// have. Who acts in the same name as the owner has it; a question without an answer counts as yes.
    async fn may_take(
        &self,
        own: &Kustomization,
        other: &Kustomization,
        object: &ObjectKey,
    ) -> bool {
        let name = |it: &Kustomization| {
            (it.metadata.namespace.clone(), it.spec.service_account_name.clone())
        };
        if name(own) == name(other) {
            return true;
        }
        let Ok(Target { client, discovery }) = self.target(other).await else { return true };
        let Some(resource) = served(&discovery, &client, object).await else { return true };
        let review = SelfSubjectAccessReview {
            spec: SelfSubjectAccessReviewSpec {
                resource_attributes: Some(ResourceAttributes {
                    group: Some(object.id.group.clone()),
                    version: Some(object.version.clone()),
                    resource: Some(resource.plural),
                    namespace: Some(object.id.namespace.clone()),
                    name: Some(object.id.name.clone()),
                    verb: Some("patch".to_owned()),
                    ..ResourceAttributes::default()
                }),
                ..SelfSubjectAccessReviewSpec::default()
            },
            ..SelfSubjectAccessReview::default()
        };
        let api: Api<SelfSubjectAccessReview> = Api::all(client);
        let answer = api.create(&PostParams::default(), &review).await;
        answer.map_or(true, |answer| answer.status.is_none_or(|status| status.allowed))
    }

    /// What was spared because others want it and is still marked as ours: it stays in the inventory, that
    /// is said, and they are waited for. One that believes to have it already is asked to look again.
    pub(super) fn keep(
        &self,
        pass: &mut Pass<'_>,
        changes: &ChangeSet,
        claimed: &BTreeMap<ObjectId, Key>,
    ) -> Inventory {
        let spared = changes.entries.iter().filter(|entry| entry.action == Action::Unchanged);
        let kept: Vec<(&ObjectKey, &Key)> =
            spared.filter_map(|entry| Some((&entry.key, claimed.get(&entry.key.id)?))).collect();
        let mut lines = Vec::new();
        for (object, taker) in &kept {
            self.handover.wait(taker, &pass.key);
            if self.store.get(taker).is_some_and(|taker| holds(&taker, &object.id))
                && self.handover.asks_first(taker, &pass.key)
            {
                self.ask(taker);
            }
            lines.push(format!("{object} stays for Kustomization {taker}"));
        }
        if lines.is_empty() {
            self.handover.settle(&pass.key);
            pass.conditions.remove(HANDING_OVER);
        } else {
            let message = lines.join("\n");
            if pass.conditions.get(HANDING_OVER).is_none_or(|before| before.message != message) {
                pass.event_because(Severity::Info, CLAIMED, &message);
            }
            pass.conditions.set(HANDING_OVER, ConditionStatus::True, CLAIMED, &message);
        }
        Inventory::of_keys(kept.into_iter().map(|(object, _)| object.clone()))
    }
}

/// Whether the inventory of a Kustomization has an object.
fn holds(object: &Kustomization, id: &ObjectId) -> bool {
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
