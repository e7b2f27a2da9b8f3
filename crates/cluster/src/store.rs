//! The objects of a cluster, the revision counter, and the history that watches read.
//!
//! Every write gets the next revision of the whole store, like etcd's. Writers compare and swap on
//! the revision they read, so nothing holds the lock while an object is computed. Watches do not
//! queue events: they hold a cursor into a bounded history, and a watch that falls behind the history
//! gets 410, as with a compacted etcd.

pub(crate) mod index;
pub(crate) mod watch;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use index::{Index, Term};

/// The group and the plural name that objects are stored under.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct GroupResource {
    pub(crate) group: String,
    pub(crate) resource: String,
}

impl GroupResource {
    pub(crate) fn new(group: &str, resource: &str) -> Self {
        Self { group: group.to_owned(), resource: resource.to_owned() }
    }
}

/// `namespace/name`, or the bare name; sorts as etcd's keys do.
pub(crate) fn key(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}

/// An object as it is stored, in its storage version, with the revision of its last write.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) value: Arc<Value>,
    pub(crate) revision: u64,
}

/// The kind of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Added,
    Modified,
    Deleted,
}

/// One write, as watches see it.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) change: Change,
    pub(crate) key: Arc<str>,
    /// The new state; after a deletion the last state, with the deletion's revision.
    pub(crate) object: Arc<Stored>,
    /// The state before the write.
    pub(crate) previous: Option<Arc<Stored>>,
}

impl Event {
    /// The state after the write and, if there is one, the state before it.
    pub(crate) fn states(&self) -> Vec<&Value> {
        let before = self.previous.as_ref().map(|previous| previous.value.as_ref());
        [self.object.value.as_ref()].into_iter().chain(before).collect()
    }
}

/// Why a write failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Create: the key is taken.
    Exists,
    /// Update, delete: the object is gone.
    Missing,
    /// Update, delete: the object was written in between.
    Stale,
}

/// Why a past state cannot be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// The history starts later.
    Compacted,
    /// The revision has not happened yet.
    Future,
}

#[derive(Debug, Default)]
struct Table {
    objects: BTreeMap<Arc<str>, Arc<Stored>>,
    index: Index,
    history: VecDeque<Event>,
    /// Events up to and including this revision have been dropped from the history.
    compacted: u64,
    news: tokio::sync::watch::Sender<u64>,
}

#[derive(Debug)]
struct Tables {
    revision: u64,
    by_resource: BTreeMap<GroupResource, Table>,
    /// Incremented to end all open watches.
    generation: u64,
}

/// All objects of a cluster.
#[derive(Debug)]
pub(crate) struct Store {
    inside: Mutex<Tables>,
    history_limit: usize,
    journal: tokio::sync::watch::Sender<u64>,
}

/// A consistent list.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) items: Vec<(Arc<str>, Arc<Stored>)>,
    /// The revision of the list.
    pub(crate) revision: u64,
}

impl Store {
    /// An empty store that keeps `history_limit` events per resource.
    pub(crate) fn new(history_limit: usize) -> Self {
        Self {
            inside: Mutex::new(Tables { revision: 1, by_resource: BTreeMap::new(), generation: 0 }),
            history_limit: history_limit.max(1),
            journal: tokio::sync::watch::Sender::new(1),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Tables> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The revision of the last write anywhere.
    pub(crate) fn revision(&self) -> u64 {
        self.lock().revision
    }

    /// Changes with every write; for following the whole store.
    pub(crate) fn journal(&self) -> tokio::sync::watch::Receiver<u64> {
        self.journal.subscribe()
    }

    /// One object.
    pub(crate) fn get(&self, resource: &GroupResource, key: &str) -> Option<Arc<Stored>> {
        self.lock().by_resource.get(resource)?.objects.get(key).cloned()
    }

    /// The number of stored objects of a resource.
    pub(crate) fn count(&self, resource: &GroupResource) -> usize {
        self.lock().by_resource.get(resource).map_or(0, |table| table.objects.len())
    }

    /// The objects with a key that starts with `prefix` and is greater than `after`, now or (with `at`)
    /// as they were at an earlier revision.
    pub(crate) fn list(
        &self,
        resource: &GroupResource,
        prefix: &str,
        after: Option<&str>,
        at: Option<u64>,
    ) -> Result<Listing, Unreadable> {
        let tables = self.lock();
        let now = tables.revision;
        let revision = at.unwrap_or(now);
        if revision > now {
            return Err(Unreadable::Future);
        }
        let Some(table) = tables.by_resource.get(resource) else {
            return Ok(Listing { items: Vec::new(), revision });
        };
        let start = after.map_or(Bound::Included(prefix), Bound::Excluded);
        let range = (start, Bound::<&str>::Unbounded);
        let present = table
            .objects
            .range::<str, _>(range)
            .take_while(|(key, _)| key.starts_with(prefix))
            .map(|(key, object)| (key.clone(), object.clone()));
        if revision == now {
            return Ok(Listing { items: present.collect(), revision });
        }
        if revision < table.compacted {
            return Err(Unreadable::Compacted);
        }
        let mut items: BTreeMap<Arc<str>, Arc<Stored>> = present.collect();
        for event in table.history.iter().rev() {
            if event.object.revision <= revision {
                break;
            }
            let in_range = event.key.starts_with(prefix)
                && after.is_none_or(|after| event.key.as_ref() > after);
            if !in_range {
                continue;
            }
            match &event.previous {
                Some(previous) => items.insert(event.key.clone(), previous.clone()),
                None => items.remove(&event.key),
            };
        }
        Ok(Listing { items: items.into_iter().collect(), revision })
    }

    /// Candidates for a selection, in key order: the current objects below `prefix` with one of the
    /// terms of the list that finds the fewest. Without lists, all objects. The caller still has to
    /// match them.
    pub(crate) fn find(
        &self,
        resource: &GroupResource,
        prefix: &str,
        questions: &[Vec<Term>],
    ) -> Vec<Arc<Stored>> {
        let tables = self.lock();
        let Some(table) = tables.by_resource.get(resource) else { return Vec::new() };
        let cost = |terms: &&Vec<Term>| -> usize {
            terms.iter().map(|term| table.index.count(term)).sum()
        };
        let Some(terms) = questions.iter().min_by_key(cost) else {
            let below = table.objects.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
            return below
                .take_while(|(key, _)| key.starts_with(prefix))
                .map(|(_, object)| object.clone())
                .collect();
        };
        let keys: BTreeSet<&Arc<str>> =
            terms.iter().flat_map(|term| table.index.keys(term, prefix)).collect();
        keys.into_iter().filter_map(|key| table.objects.get(key).cloned()).collect()
    }

    /// Stores a new object.
    pub(crate) fn create(
        &self,
        resource: &GroupResource,
        key: &str,
        value: Value,
    ) -> Result<Arc<Stored>, Refused> {
        let mut tables = self.lock();
        if tables.by_resource.get(resource).is_some_and(|table| table.objects.contains_key(key)) {
            return Err(Refused::Exists);
        }
        Ok(self.write(&mut tables, resource, key, value))
    }

    /// Replaces the object that was read at revision `read`.
    pub(crate) fn update(
        &self,
        resource: &GroupResource,
        key: &str,
        read: u64,
        value: Value,
    ) -> Result<Arc<Stored>, Refused> {
        let mut tables = self.lock();
        check_unchanged(&tables, resource, key, read)?;
        Ok(self.write(&mut tables, resource, key, value))
    }

    /// Removes the object that was read at revision `read`. Watches get its last stored state.
    pub(crate) fn delete(
        &self,
        resource: &GroupResource,
        key: &str,
        read: u64,
    ) -> Result<Arc<Stored>, Refused> {
        let mut tables = self.lock();
        let last = check_unchanged(&tables, resource, key, read)?.value.as_ref().clone();
        let revision = tables.revision + 1;
        let object = Arc::new(stamped(last, revision));
        self.record(&mut tables, resource, key, Change::Deleted, object.clone());
        Ok(object)
    }

    fn write(
        &self,
        tables: &mut Tables,
        resource: &GroupResource,
        key: &str,
        value: Value,
    ) -> Arc<Stored> {
        let revision = tables.revision + 1;
        let object = Arc::new(stamped(value, revision));
        let known =
            tables.by_resource.get(resource).is_some_and(|table| table.objects.contains_key(key));
        let change = if known { Change::Modified } else { Change::Added };
        self.record(tables, resource, key, change, object.clone());
        object
    }

    fn record(
        &self,
        tables: &mut Tables,
        resource: &GroupResource,
        key: &str,
        change: Change,
        object: Arc<Stored>,
    ) {
        tables.revision = object.revision;
        let table = tables.by_resource.entry(resource.clone()).or_default();
        let key: Arc<str> = match table.objects.get_key_value(key) {
            Some((known, _)) => known.clone(),
            None => key.into(),
        };
        let previous = if change == Change::Deleted {
            table.objects.remove(&key)
        } else {
            table.objects.insert(key.clone(), object.clone())
        };
        let after = (change != Change::Deleted).then_some(object.value.as_ref());
        table.index.follow(&key, previous.as_ref().map(|old| old.value.as_ref()), after);
        let revision = object.revision;
        table.history.push_back(Event { change, key, object, previous });
        while table.history.len() > self.history_limit {
            if let Some(dropped) = table.history.pop_front() {
                table.compacted = dropped.object.revision;
            }
        }
        table.news.send_replace(revision);
        self.journal.send_replace(revision);
    }

    /// The writes after revision `seen` to all resources, in their order, and the revision they
    /// reach. If the history does not go back that far, every object counts as added.
    pub(crate) fn events_after(&self, seen: u64) -> (Vec<(GroupResource, Event)>, u64) {
        let tables = self.lock();
        let mut out = Vec::new();
        if tables.revision == seen {
            return (out, seen);
        }
        for (resource, table) in &tables.by_resource {
            if seen < table.compacted {
                out.extend(table.objects.iter().map(|(key, object)| {
                    let event = Event {
                        change: Change::Added,
                        key: key.clone(),
                        object: object.clone(),
                        previous: None,
                    };
                    (resource.clone(), event)
                }));
                continue;
            }
            let fresh = table.history.partition_point(|event| event.object.revision <= seen);
            out.extend(table.history.range(fresh..).map(|event| (resource.clone(), event.clone())));
        }
        out.sort_by_key(|(_, event)| event.object.revision);
        (out, tables.revision)
    }

    /// Drops all history, as etcd's compaction does: watches and lists from the past get 410.
    pub(crate) fn compact(&self) {
        let mut tables = self.lock();
        let revision = tables.revision;
        for table in tables.by_resource.values_mut() {
            table.history.clear();
            table.compacted = revision;
        }
    }

    /// Ends every open watch stream, as a restarting server does.
    pub(crate) fn close_watches(&self) {
        let mut tables = self.lock();
        tables.generation += 1;
        let revision = tables.revision;
        for table in tables.by_resource.values() {
            table.news.send_replace(revision);
        }
    }
}

fn check_unchanged<'a>(
    tables: &'a Tables,
    resource: &GroupResource,
    key: &str,
    read: u64,
) -> Result<&'a Arc<Stored>, Refused> {
    let current = tables.by_resource.get(resource).and_then(|table| table.objects.get(key));
    match current {
        None => Err(Refused::Missing),
        Some(object) if object.revision != read => Err(Refused::Stale),
        Some(object) => Ok(object),
    }
}

fn stamped(mut value: Value, revision: u64) -> Stored {
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("resourceVersion".to_owned(), revision.to_string().into());
    }
    Stored { value: Arc::new(value), revision }
}

#[cfg(test)]
mod tests;
