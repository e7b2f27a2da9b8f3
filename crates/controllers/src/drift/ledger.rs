//! What was left on each object that was applied, and what was seen of it since.
//!
//! Some 370 bytes for each object, whatever its size; past a number of objects nothing more is taken in.

mod learning;
mod watching;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use kube::core::ObjectMeta;
use sluice_runtime::key::Key;
use sluice_runtime::watches::Topic;
use sluice_ssa::{Imprint, ObjectId};

use super::{DriftMode, Hand};

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
}
