//! What was left on each object that was applied, and what was seen of it since.
//!
//! Some 370 bytes for each object, whatever its size; past a number of objects nothing more is taken in.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use kube::core::ObjectMeta;
use serde_json::{Value, json};
use sluice_runtime::key::Key;
use sluice_runtime::watches::{Told, Topic};
use sluice_ssa::{Action, Change, ChangeSet, Imprint, ObjectId, ObjectKey, digest};

use super::{Drift, DriftMode, Hand, Learned, Opponent, Repair};

/// How long a dry run is good for, whatever the watches say.
const GOOD_FOR: SignedDuration = SignedDuration::from_hours(1);
/// The mark of an object that is gone; no imprint is likely to be it.
const GONE: u64 = 0;

/// What somebody else did to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreign {
    /// Whose object it is.
    pub owner: Key,
    /// What is to be done about it.
    pub mode: DriftMode,
    /// Which object.
    pub object: ObjectId,
    /// Whether it is gone.
    pub is_gone: bool,
    /// Whose hand it was.
    pub hand: Hand,
}

/// An object that was applied.
struct Entry {
    owner: Arc<Key>,
    /// The digest of what was applied.
    desired: u64,
    /// What was left on it.
    applied: Imprint,
    /// What was seen last, if that was later.
    seen: Imprint,
    /// What others did to it since, and whether somebody was told.
    foreign: Option<Box<(Foreign, bool)>>,
    /// When a dry run last said that it is as it should be.
    checked: Timestamp,
    /// The age of the watch at that time.
    age: u64,
    /// Whether it has no status, so that it is healthy as it is.
    rests: bool,
}

impl Entry {
    fn is_touched(&self) -> bool {
        self.seen.mark != self.applied.mark
    }
}

struct Holder {
    key: Arc<Key>,
    mode: DriftMode,
    is_running: bool,
    objects: BTreeSet<Arc<str>>,
}

/// The watch of a kind.
#[derive(Default)]
struct Watched {
    /// How often it began anew.
    age: u64,
    is_complete: bool,
    /// While everything is listed: what was known before, and in which version, and has not come up yet.
    missing: Option<BTreeMap<Arc<str>, u64>>,
    /// Of definitions and webhooks: their generations.
    generations: BTreeMap<String, Option<i64>>,
}

/// All objects that were applied and are watched.
#[derive(Default)]
pub(super) struct Ledger {
    objects: BTreeMap<Arc<str>, Entry>,
    holders: BTreeMap<Key, Holder>,
    watched: BTreeMap<Topic, Watched>,
    /// How often definitions or webhooks of a cluster changed.
    guards: BTreeMap<String, u64>,
    /// How many objects are remembered at most.
    most: usize,
}

/// Where an object is remembered: below the kind of its topic.
fn address(topic: &Topic, namespace: &str, name: &str) -> String {
    format!("{}{namespace}\n{name}", prefix(topic))
}

fn prefix(topic: &Topic) -> String {
    format!("{}\n{}\n{}\n", topic.cluster, topic.group, topic.kind)
}

fn address_of(topic: &Topic, metadata: &ObjectMeta) -> String {
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    address(topic, namespace, metadata.name.as_deref().unwrap_or_default())
}

impl Ledger {
    /// Nothing known yet.
    pub(super) fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(super) fn enter(&mut self, owner: &Key) {
        if let Some(holder) = self.holders.get_mut(owner) {
            holder.is_running = true;
        }
    }

    pub(super) fn leave(&mut self, owner: &Key) -> Vec<Foreign> {
        let Some(holder) = self.holders.get_mut(owner) else { return Vec::new() };
        holder.is_running = false;
        match holder.mode {
            DriftMode::Repair => self.untold(owner),
            // A pass of its own tells them.
            DriftMode::Warn | DriftMode::Interval => {
                let new = self.foreign(owner).filter(|(_, told)| !told);
                new.map(|(foreign, _)| foreign.clone()).collect()
            }
        }
    }

    /// What others did, and whether it was told.
    fn foreign(&self, owner: &Key) -> impl Iterator<Item = &(Foreign, bool)> {
        let objects = self.holders.get(owner).into_iter().flat_map(|holder| &holder.objects);
        objects.filter_map(|at| self.objects.get(at)?.foreign.as_deref())
    }

    pub(super) fn standing(&self, owner: &Key) -> Vec<Foreign> {
        self.foreign(owner).map(|(foreign, _)| foreign.clone()).collect()
    }

    pub(super) fn has_untold(&self, owner: &Key) -> bool {
        self.foreign(owner).any(|(_, told)| !told)
    }

    pub(super) fn untold(&mut self, owner: &Key) -> Vec<Foreign> {
        let mut found = Vec::new();
        let objects = self.holders.get(owner).into_iter().flat_map(|holder| &holder.objects);
        for at in objects {
            let entry = self.objects.get_mut(at);
            if let Some((foreign, told)) = entry.and_then(|entry| entry.foreign.as_deref_mut())
                && !*told
            {
                *told = true;
                found.push(foreign.clone());
            }
        }
        found
    }

    /// Everything is listed: what was missed shows now.
    pub(super) fn begins(&mut self, topic: &Topic) {
        let prefix = prefix(topic);
        let known =
            self.objects.range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded));
        let known = known.take_while(|(at, _)| at.starts_with(&prefix));
        let missing = known.map(|(at, entry)| (Arc::clone(at), entry.applied.version)).collect();
        let watched = self.watched.entry(topic.clone()).or_default();
        watched.age += 1;
        watched.is_complete = false;
        watched.missing = Some(missing);
    }

    pub(super) fn listed(&mut self, topic: &Topic) -> Vec<Foreign> {
        let Some(watched) = self.watched.get_mut(topic) else { return Vec::new() };
        watched.is_complete = true;
        let missing = watched.missing.take().unwrap_or_default();
        let mut found = Vec::new();
        for (at, version) in missing {
            // What was applied while the list came in may not be in it.
            if self.objects.get(&at).is_some_and(|entry| entry.applied.version == version) {
                let imprint = Imprint { version: version + 1, mark: GONE };
                found.extend(self.see(&at, topic, imprint, Hand::default()));
            }
        }
        found
    }

    pub(super) fn ended(&mut self, topic: &Topic) {
        self.watched.remove(topic);
    }

    pub(super) fn is(
        &mut self,
        topic: &Topic,
        metadata: &ObjectMeta,
        imprint: Imprint,
        hand: Hand,
    ) -> Option<Foreign> {
        let at = address_of(topic, metadata);
        let age = self.age(topic);
        let entry = self.objects.get_mut(at.as_str())?;
        if let Some(watched) = self.watched.get_mut(topic)
            && let Some(missing) = &mut watched.missing
        {
            missing.remove(at.as_str());
            // The first list closes the gap between applying and watching.
            if watched.age == 1 && imprint == entry.applied {
                entry.age = age;
            }
        }
        self.see(&at, topic, imprint, hand)
    }

    pub(super) fn gone(
        &mut self,
        topic: &Topic,
        metadata: &ObjectMeta,
        version: u64,
    ) -> Option<Foreign> {
        let at = address_of(topic, metadata);
        self.see(&at, topic, Imprint { version, mark: GONE }, Hand::default())
    }

    /// Something was seen of an object. Nobody is told of what was known, of what is ours, and of what
    /// happens while its owner is worked on: that is judged afterwards.
    fn see(&mut self, at: &str, topic: &Topic, imprint: Imprint, hand: Hand) -> Option<Foreign> {
        let entry = self.objects.get_mut(at)?;
        if imprint.version <= entry.seen.version {
            return None;
        }
        let is_news = imprint.mark != entry.seen.mark;
        entry.seen = imprint;
        if !entry.is_touched() {
            entry.foreign = None;
            return None;
        }
        if !is_news {
            return None;
        }
        let holder = self.holders.get(&*entry.owner)?;
        let (namespace, name) = at.rsplit_once('\n')?;
        let namespace = namespace.rsplit_once('\n').map_or("", |(_, namespace)| namespace);
        let foreign = Foreign {
            owner: (*entry.owner).clone(),
            mode: holder.mode,
            object: ObjectId {
                group: topic.group.clone(),
                kind: topic.kind.clone(),
                namespace: namespace.to_owned(),
                name: name.to_owned(),
            },
            is_gone: imprint.mark == GONE,
            hand,
        };
        let is_told = holder.mode == DriftMode::Repair && !holder.is_running;
        entry.foreign = Some(Box::new((foreign.clone(), is_told)));
        (!holder.is_running).then_some(foreign)
    }

    /// A definition or a webhook is new, different or gone.
    pub(super) fn guard(&mut self, topic: &Topic, told: &Told) {
        let watched = self.watched.entry(topic.clone()).or_default();
        let changed = match told {
            Told::Begins => {
                let again = watched.age > 0;
                watched.age += 1;
                again
            }
            Told::Is(metadata) => {
                let name = metadata.name.clone().unwrap_or_default();
                let before = watched.generations.insert(name, metadata.generation);
                before != Some(metadata.generation) && watched.is_complete
            }
            Told::Gone(metadata) => {
                watched.generations.remove(metadata.name.as_deref().unwrap_or_default());
                true
            }
            Told::Listed => {
                watched.is_complete = true;
                false
            }
            Told::Ended(_) => {
                self.watched.remove(topic);
                true
            }
        };
        if changed {
            *self.guards.entry(topic.cluster.clone()).or_default() += 1;
        }
    }

    /// How often what is known of a kind may have become worthless.
    fn age(&self, topic: &Topic) -> u64 {
        let watched = self.watched.get(topic).map_or(0, |watched| watched.age);
        watched + self.guards.get(&topic.cluster).copied().unwrap_or_default()
    }

    pub(super) fn settled(
        &self,
        owner: &Key,
        cluster: &str,
        key: &ObjectKey,
        desired: &Value,
        now: Timestamp,
    ) -> Option<Change> {
        let topic = Drift::topic(cluster, &key.id);
        let mut key = key.clone();
        let mut entry = self.objects.get(address(&topic, &key.id.namespace, &key.id.name).as_str());
        if entry.is_none() && !key.id.namespace.is_empty() {
            // Its kind may have no namespaces, whatever the source says.
            key.id.namespace.clear();
            entry = self.objects.get(address(&topic, "", &key.id.name).as_str());
        }
        let entry = entry?;
        let is_settled = *entry.owner == *owner
            && !entry.is_touched()
            && self.watched.get(&topic).is_some_and(|watched| watched.is_complete)
            && entry.age == self.age(&topic)
            && now.duration_since(entry.checked) < GOOD_FOR
            && entry.desired == digest(desired);
        if !is_settled {
            return None;
        }
        let state = entry.rests.then(|| {
            json!({
                "apiVersion": key.api_version(), "kind": key.id.kind,
                "metadata": {"name": key.id.name, "namespace": key.id.namespace},
            })
        });
        Some(Change { state, ..Change::new(key, Action::Unchanged) })
    }

    pub(super) fn learn(
        &mut self,
        owner: &Key,
        mode: DriftMode,
        cluster: &str,
        changes: &ChangeSet,
        now: Timestamp,
    ) -> Learned {
        let holder = self.holders.entry(owner.clone()).or_insert_with(|| Holder {
            key: Arc::new(owner.clone()),
            mode,
            is_running: true,
            objects: BTreeSet::new(),
        });
        holder.mode = mode;
        let key = Arc::clone(&holder.key);
        let mut learned = Learned { repairs: Vec::new(), is_full: true };
        let mut held = Vec::new();
        for change in &changes.entries {
            let id = &change.key.id;
            let topic = Drift::topic(cluster, id);
            let at: Arc<str> = address(&topic, &id.namespace, &id.name).into();
            // Without one it is settled, and known already; or left alone, and none of our business.
            let Some((imprint, desired)) = change.imprint else { continue };
            let known = self.objects.get(&at).filter(|entry| *entry.owner == *owner);
            if let Some(repair) = repair(change, known, desired) {
                learned.repairs.push(repair);
            }
            if known.is_none() && self.objects.len() >= self.most {
                learned.is_full = false;
                continue;
            }
            let age = self.age(&topic);
            let seen = self.objects.get(&at).map(|entry| entry.seen);
            let foreign = self.objects.get_mut(&at).and_then(|entry| entry.foreign.take());
            let seen = seen.filter(|seen| seen.version > imprint.version).unwrap_or(imprint);
            let entry = Entry {
                owner: Arc::clone(&key),
                desired,
                applied: imprint,
                seen,
                foreign: foreign.filter(|_| seen.mark != imprint.mark),
                checked: now,
                age,
                rests: rests(change),
            };
            self.objects.insert(Arc::clone(&at), entry);
            held.push(at);
        }
        if let Some(holder) = self.holders.get_mut(owner) {
            holder.objects.extend(held);
        }
        learned
    }

    /// Forgets what an owner no longer applies, or leaves alone.
    pub(super) fn keep_only(&mut self, owner: &Key, cluster: &str, changes: &ChangeSet) {
        let applied = changes.entries.iter().filter(|change| change.action != Action::Skipped);
        let applied: BTreeSet<String> = applied
            .map(|change| {
                let id = &change.key.id;
                address(&Drift::topic(cluster, id), &id.namespace, &id.name)
            })
            .collect();
        let Some(holder) = self.holders.get_mut(owner) else { return };
        let is_gone = |at: &Arc<str>| !applied.contains(&**at);
        let gone: Vec<Arc<str>> = holder.objects.iter().filter(|at| is_gone(at)).cloned().collect();
        for at in gone {
            holder.objects.remove(&at);
            if self.objects.get(&at).is_some_and(|entry| *entry.owner == *owner) {
                self.objects.remove(&at);
            }
        }
    }

    pub(super) fn forget(&mut self, owner: &Key) {
        let Some(holder) = self.holders.remove(owner) else { return };
        for at in &holder.objects {
            if self.objects.get(at).is_some_and(|entry| *entry.owner == *owner) {
                self.objects.remove(at);
            }
        }
    }
}

/// Whether a change put something right that had been applied just so before, or took an object from
/// another owner.
fn repair(change: &Change, known: Option<&Entry>, desired: u64) -> Option<Repair> {
    if let Some(taken) = Repair::of_ownership(change) {
        return Some(taken);
    }
    let known = known.filter(|known| known.desired == desired)?;
    let opponent = match change.action {
        Action::Created => Opponent::Deleter,
        Action::Configured => {
            let managers = change.contest.as_ref().map(|it| it.managers.join(", "));
            let seen = || {
                let foreign = known.foreign.as_deref().map(|(foreign, _)| foreign);
                foreign.and_then(|foreign| foreign.hand.manager.clone())
            };
            let manager = managers.filter(|it| !it.is_empty()).or_else(seen);
            Opponent::Manager(manager.unwrap_or_else(|| "unknown".to_owned()))
        }
        _ => return None,
    };
    let fields = change.contest.as_ref().map(|it| it.fields.clone()).unwrap_or_default();
    Some(Repair { object: change.key.id.clone(), opponent, fields })
}

/// Whether an object is of a built-in kind and has no status.
fn rests(change: &Change) -> bool {
    let group = change.key.id.group.as_str();
    let built_in = !group.contains('.') || group.ends_with(".k8s.io");
    let has_status = change.state.as_ref().is_none_or(|state| state.get("status").is_some());
    built_in && !has_status
}
