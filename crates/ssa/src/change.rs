//! Changes: an object and the action on it.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;
use sluice_base::place::Place;

use crate::contest::Contest;
use crate::imprint::Imprint;
use crate::object::ObjectKey;

/// The action on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// It was created.
    Created,
    /// It was updated.
    Configured,
    /// It had no drift.
    Unchanged,
    /// It was skipped, because of its annotations or because it is not ours.
    Skipped,
    /// It was deleted, or was already gone.
    Deleted,
    /// It failed.
    Unknown,
}

impl Action {
    /// The text in events and logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Configured => "configured",
            Self::Unchanged => "unchanged",
            Self::Skipped => "skipped",
            Self::Deleted => "deleted",
            Self::Unknown => "unknown",
        }
    }

    /// Whether the cluster was changed.
    pub const fn is_change(self) -> bool {
        matches!(self, Self::Created | Self::Configured | Self::Deleted)
    }
}

/// The action on one object.
#[derive(Clone, PartialEq)]
pub struct Change {
    /// The object, as the server names it.
    pub key: ObjectKey,
    /// The action.
    pub action: Action,
    /// The object in its last known state, without managed fields, from which a wait for health starts. Absent if
    /// it was skipped or deleted.
    pub state: Option<Value>,
    /// Its imprint, and a digest of the desired object; only if requested.
    pub imprint: Option<(Imprint, u64)>,
    /// The foreign managers that lost fields.
    pub contest: Option<Contest>,
    /// Where the object is written, if that is known.
    pub place: Option<Place>,
}

impl Change {
    /// The same with the object as the server showed it.
    #[must_use]
    pub fn with_state(mut self, state: Value) -> Self {
        self.state = Some(state);
        self
    }

    /// A change without further data.
    pub fn new(key: ObjectKey, action: Action) -> Self {
        Self { key, action, state: None, imprint: None, contest: None, place: None }
    }
}

/// Shows key and action only, because the object may be a Secret.
impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Change")
            .field("key", &self.key)
            .field("action", &self.action)
            .finish_non_exhaustive()
    }
}

/// `Kind/namespace/name action`.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.key, self.action.as_str())
    }
}

/// The changes of a set of objects, in the order in which they were made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChangeSet {
    /// One entry for each object.
    pub entries: Vec<Change>,
}

impl ChangeSet {
    /// The entries that changed the cluster, one per line, as in Flux's events.
    pub fn log(&self) -> String {
        let lines: Vec<String> = self
            .entries
            .iter()
            .filter(|entry| entry.action.is_change())
            .map(ToString::to_string)
            .collect();
        lines.join("\n")
    }

    /// The entries with any other action.
    #[must_use]
    pub fn without(&self, action: Action) -> Self {
        let others = self.entries.iter().filter(|entry| entry.action != action);
        Self { entries: others.cloned().collect() }
    }

    /// Actions by object.
    pub fn by_subject(&self) -> BTreeMap<String, &'static str> {
        self.entries.iter().map(|entry| (entry.key.to_string(), entry.action.as_str())).collect()
    }

    /// Whether the cluster was changed.
    pub fn has_changes(&self) -> bool {
        self.entries.iter().any(|entry| entry.action.is_change())
    }
}

/// All entries, one per line.
impl fmt::Display for ChangeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, entry) in self.entries.iter().enumerate() {
            let gap = if index == 0 { "" } else { "\n" };
            write!(f, "{gap}{entry}")?;
        }
        Ok(())
    }
}
