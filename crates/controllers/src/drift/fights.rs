//! Who fights with whom over what: the same object put right again and again.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use sluice_runtime::key::Key;
use sluice_ssa::ObjectId;

use super::Repair;

/// So many repairs of one object ...
const REPAIRS: usize = 5;
/// ... within this time are a fight.
const WINDOW: SignedDuration = SignedDuration::from_mins(10);
/// To take an object from another owner once is a hand-over; a second time is a fight.
const TAKE_OVERS: usize = 2;
/// A fight is over when nothing had to be put right for this long, and for two intervals.
const QUIET: SignedDuration = SignedDuration::from_mins(15);
/// How many objects are remembered; beyond, those that rest longest are forgotten.
const MOST: usize = 10_000;

/// The other side.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Opponent {
    /// A field manager, or several.
    Manager(String),
    /// Another Kustomization that applies the same object.
    Owner(Key),
    /// Somebody who deletes it.
    Deleter,
}

/// An object that is fought over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fight {
    /// Which object.
    pub object: ObjectId,
    /// The owner that this is about.
    pub owner: Key,
    /// The other side.
    pub opponent: Opponent,
    /// The fields, as paths.
    pub fields: Vec<String>,
}

impl fmt::Display for Fight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { object, owner, opponent, fields } = self;
        match opponent {
            Opponent::Owner(other) => {
                write!(
                    f,
                    "{object} is applied by Kustomization {owner} and by Kustomization {other}"
                )
            }
            Opponent::Deleter => write!(f, "{object} is deleted again and again"),
            Opponent::Manager(manager) if fields.is_empty() => {
                write!(f, "{object} is changed again and again by {manager}")
            }
            Opponent::Manager(manager) => {
                write!(f, "{object} is changed again and again by {manager}: {}", fields.join(", "))
            }
        }
    }
}

struct Record {
    blows: VecDeque<Timestamp>,
    opponent: Opponent,
    fields: Vec<String>,
    is_fight: bool,
}

impl Record {
    fn last(&self) -> Timestamp {
        self.blows.back().copied().unwrap_or(Timestamp::MIN)
    }
}

/// What had to be put right lately.
#[derive(Default)]
pub(super) struct Fights(BTreeMap<(Key, ObjectId), Record>);

impl Fights {
    /// Takes note of a repair; gives the fight if this makes it one.
    pub(super) fn note(&mut self, owner: &Key, repair: &Repair, now: Timestamp) -> Option<Fight> {
        if self.0.len() >= MOST {
            let oldest = self.0.iter().min_by_key(|(_, record)| record.last());
            if let Some(oldest) = oldest.map(|(at, _)| at.clone()) {
                self.0.remove(&oldest);
            }
        }
        let at = (owner.clone(), repair.object.clone());
        let record = self.0.entry(at).or_insert_with(|| Record {
            blows: VecDeque::new(),
            opponent: repair.opponent.clone(),
            fields: Vec::new(),
            is_fight: false,
        });
        record.blows.push_back(now);
        if record.blows.len() > REPAIRS {
            record.blows.pop_front();
        }
        record.opponent = repair.opponent.clone();
        record.fields.clone_from(&repair.fields);
        let needed =
            if matches!(repair.opponent, Opponent::Owner(_)) { TAKE_OVERS } else { REPAIRS };
        let within = |first: &Timestamp| {
            matches!(repair.opponent, Opponent::Owner(_)) || now.duration_since(*first) <= WINDOW
        };
        let first = record.blows.len().checked_sub(needed).and_then(|at| record.blows.get(at));
        if record.is_fight || !first.is_some_and(within) {
            return None;
        }
        record.is_fight = true;
        Some(fight(owner, &repair.object, record))
    }

    /// Forgets what is long over.
    pub(super) fn expire(&mut self, owner: &Key, now: Timestamp, interval: Duration) {
        let interval = SignedDuration::try_from(interval).unwrap_or(SignedDuration::MAX);
        let quiet =
            interval.saturating_mul(2).saturating_add(SignedDuration::from_mins(1)).max(QUIET);
        self.0.retain(|(key, _), record| key != owner || now.duration_since(record.last()) < quiet);
    }

    pub(super) fn of(&self, owner: &Key) -> Vec<Fight> {
        let own = self.0.iter().filter(|((key, _), record)| key == owner && record.is_fight);
        own.map(|((key, object), record)| fight(key, object, record)).collect()
    }

    pub(super) fn is_fought_over(&self, owner: &Key, object: &ObjectId) -> bool {
        self.0.get(&(owner.clone(), object.clone())).is_some_and(|record| record.is_fight)
    }

    pub(super) fn forget(&mut self, owner: &Key) {
        self.0.retain(|(key, _), _| key != owner);
    }
}

fn fight(owner: &Key, object: &ObjectId, record: &Record) -> Fight {
    Fight {
        object: object.clone(),
        owner: owner.clone(),
        opponent: record.opponent.clone(),
        fields: record.fields.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::{SignedDuration, Timestamp};
    use sluice_runtime::key::Key;
    use sluice_ssa::ObjectId;

    use super::{Fights, Opponent};
    use crate::drift::Repair;

    fn repair(opponent: Opponent) -> Repair {
        let object = ObjectId {
            group: String::new(),
            kind: "ConfigMap".to_owned(),
            namespace: "n".to_owned(),
            name: "a".to_owned(),
        };
        Repair { object, opponent, fields: vec![".data.a".to_owned()] }
    }

    #[test]
    fn five_times_in_ten_minutes_is_a_fight_and_quiet_ends_it() {
        let (mut fights, owner) = (Fights::default(), Key::new("n", "app"));
        let blow = repair(Opponent::Manager("edit".to_owned()));
        let at = |minutes: i64| Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes);
        for minutes in [0, 5, 10, 15, 20] {
            assert_eq!(fights.note(&owner, &blow, at(minutes)), None, "too slow at {minutes}");
        }
        for minutes in [21, 22] {
            assert_eq!(fights.note(&owner, &blow, at(minutes)), None);
        }
        let fight = fights.note(&owner, &blow, at(23)).unwrap();
        assert_eq!(fight.to_string(), "ConfigMap/n/a is changed again and again by edit: .data.a");
        assert_eq!(fights.note(&owner, &blow, at(24)), None, "told once");
        assert!(fights.is_fought_over(&owner, &blow.object));
        fights.expire(&owner, at(38), Duration::from_mins(1));
        assert_eq!(fights.of(&owner).len(), 1);
        fights.expire(&owner, at(40), Duration::from_mins(1));
        assert_eq!(fights.of(&owner), []);
    }

    #[test]
    fn to_take_back_what_another_took_is_a_fight() {
        let (mut fights, owner) = (Fights::default(), Key::new("n", "app"));
        let taken = repair(Opponent::Owner(Key::new("m", "other")));
        assert_eq!(fights.note(&owner, &taken, Timestamp::UNIX_EPOCH), None, "a hand-over");
        let later = Timestamp::UNIX_EPOCH + SignedDuration::from_mins(10);
        let fight = fights.note(&owner, &taken, later).unwrap();
        assert_eq!(
            fight.to_string(),
            "ConfigMap/n/a is applied by Kustomization n/app and by Kustomization m/other"
        );
    }
}
