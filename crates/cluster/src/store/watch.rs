//! A cursor into the history of one resource.

use std::sync::Arc;

use super::{Event, GroupResource, Store};

/// Follows the writes to one resource after a revision.
#[derive(Debug)]
pub(crate) struct Watch {
    store: Arc<Store>,
    resource: GroupResource,
    /// Everything up to this revision has been seen.
    seen: u64,
    generation: u64,
    news: tokio::sync::watch::Receiver<u64>,
}

/// Why a watch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The server closed it.
    Closed,
    /// It fell behind the history, which now starts after this revision.
    Expired(u64),
}

impl Store {
    /// Follows `resource` after revision `since`, which may lie in the future.
    pub(crate) fn watch(
        self: &Arc<Self>,
        resource: &GroupResource,
        since: u64,
    ) -> Result<Watch, Ended> {
        let mut tables = self.lock();
        let generation = tables.generation;
        let table = tables.by_resource.entry(resource.clone()).or_default();
        if since < table.compacted {
            return Err(Ended::Expired(table.compacted));
        }
        let news = table.news.subscribe();
        Ok(Watch { store: self.clone(), resource: resource.clone(), seen: since, generation, news })
    }
}

impl Watch {
    /// The revision up to which events have been returned.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// Whether there may be events since the last call of [`Watch::take`]; does not lock the store.
    pub(crate) fn has_news(&self) -> bool {
        self.news.has_changed().unwrap_or(true)
    }

    /// The events since the last call, possibly none.
    pub(crate) fn take(&mut self) -> Result<Vec<Event>, Ended> {
        self.news.borrow_and_update();
        let tables = self.store.lock();
        if tables.generation != self.generation {
            return Err(Ended::Closed);
        }
        let Some(table) = tables.by_resource.get(&self.resource) else {
            return Ok(Vec::new());
        };
        if self.seen < table.compacted {
            return Err(Ended::Expired(table.compacted));
        }
        let fresh = table.history.partition_point(|event| event.object.revision <= self.seen);
        let events: Vec<Event> = table.history.range(fresh..).cloned().collect();
        // A watch from a future revision waits until it is reached.
        self.seen = self.seen.max(tables.revision);
        Ok(events)
    }

    /// Waits until there may be events to take.
    ///
    /// Cancel-safe: nothing is taken here.
    pub(crate) async fn changed(&mut self) {
        // The sender lives as long as the store, which this watch holds.
        let _ = self.news.changed().await;
    }
}
