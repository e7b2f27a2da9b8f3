//! The work queue of all controllers: sorted by due time, then by arrival.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::Key;

/// A delaying queue. A key is queued once per controller, at its earliest time.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: BTreeMap<(Timestamp, u64), (usize, Key)>,
    places: BTreeMap<(usize, Key), (Timestamp, u64)>,
    arrivals: u64,
}

impl Queue {
    /// Queues `key` for the controller with that index; an earlier due time is kept.
    pub(super) fn push(&mut self, due: Timestamp, controller: usize, key: Key) {
        let entry = (controller, key);
        if let Some(place) = self.places.get(&entry) {
            if place.0 <= due {
                return;
            }
            self.waiting.remove(place);
        }
        self.arrivals += 1;
        let place = (due, self.arrivals);
        self.places.insert(entry.clone(), place);
        self.waiting.insert(place, entry);
    }

    /// The first entry that is due.
    pub(super) fn pop(&mut self, now: Timestamp) -> Option<(usize, Key)> {
        let first = self.waiting.first_entry()?;
        if first.key().0 > now {
            return None;
        }
        let entry = first.remove();
        self.places.remove(&entry);
        Some(entry)
    }

    /// When the next entry is due.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.waiting.keys().next().map(|(due, _)| *due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn entries_come_by_time_then_arrival_and_wait_once() {
        let mut queue = Queue::default();
        let key = |name: &str| Key::new("", "pods", "x", name);
        queue.push(at(2), 0, key("late"));
        queue.push(at(1), 0, key("b"));
        queue.push(at(1), 0, key("a"));
        queue.push(at(5), 0, key("b"));
        queue.push(at(0), 0, key("late"));
        let mut order = Vec::new();
        while let Some((_, key)) = queue.pop(at(9)) {
            order.push(key.name);
        }
        assert_eq!(order, ["late", "b", "a"]);
        queue.push(at(3), 1, key("c"));
        assert!(queue.pop(at(2)).is_none());
        assert_eq!(queue.next_due(), Some(at(3)));
    }
}
