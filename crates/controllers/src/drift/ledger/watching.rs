//! What the watches tell: lists and changes of our objects, and of what guards their kinds.

use std::ops::Bound;
use std::sync::Arc;

use kube::core::ObjectMeta;
use sluice_runtime::watches::{Topic, WatchEvent};
use sluice_ssa::{Imprint, ObjectId};

use super::{Foreign, Ledger, address_of, prefix};
use crate::drift::{DriftMode, Hand};

/// The mark of an object that is gone; no imprint is likely to be it.
const GONE: u64 = 0;

impl Ledger {
    /// Everything is listed: what was missed shows now.
    pub(in crate::drift) fn begins(&mut self, topic: &Topic) {
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

    pub(in crate::drift) fn listed(&mut self, topic: &Topic) -> Vec<Foreign> {
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

    pub(in crate::drift) fn ended(&mut self, topic: &Topic) {
        self.watched.remove(topic);
    }

    pub(in crate::drift) fn is(
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

    pub(in crate::drift) fn gone(
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
    pub(in crate::drift) fn guard(&mut self, topic: &Topic, told: &WatchEvent) {
        let watched = self.watched.entry(topic.clone()).or_default();
        let changed = match told {
            WatchEvent::Restarted => {
                let again = watched.age > 0;
                watched.age += 1;
                again
            }
            WatchEvent::Applied(metadata) => {
                let name = metadata.name.clone().unwrap_or_default();
                let before = watched.generations.insert(name, metadata.generation);
                before != Some(metadata.generation) && watched.is_complete
            }
            WatchEvent::Deleted(metadata) => {
                watched.generations.remove(metadata.name.as_deref().unwrap_or_default());
                true
            }
            WatchEvent::Synced => {
                watched.is_complete = true;
                false
            }
            WatchEvent::Ended(_) => {
                self.watched.remove(topic);
                true
            }
        };
        if changed {
            *self.guards.entry(topic.cluster.clone()).or_default() += 1;
        }
    }

    /// How often what is known of a kind may have become worthless.
    pub(super) fn age(&self, topic: &Topic) -> u64 {
        let watched = self.watched.get(topic).map_or(0, |watched| watched.age);
        watched + self.guards.get(&topic.cluster).copied().unwrap_or_default()
    }
}
