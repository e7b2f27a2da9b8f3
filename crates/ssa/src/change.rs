//! What was done to which object.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::contest::Contest;
use crate::imprint::Imprint;
use crate::object::ObjectKey;

/// What was done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// It was not there before.
    Created,
    /// It was changed.
    Configured,
    /// It was as it should be.
    Unchanged,
    /// It was left alone, because it says so or is not ours.
    Skipped,
    /// It was deleted, or was gone.
    Deleted,
    /// It failed.
    Unknown,
}

impl Action {
    /// The word in events and logs.
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

    /// Whether something in the cluster is now different.
    pub const fn is_change(self) -> bool {
        matches!(self, Self::Created | Self::Configured | Self::Deleted)
    }
}

/// What was done to one object.
#[derive(Clone, PartialEq)]
pub struct Change {
    /// Which object, as the server names it.
    pub key: ObjectKey,
    /// What was done.
    pub action: Action,
    /// The object as the server last showed it, without managed fields: where a wait for health
    /// starts from. Absent if it was skipped or deleted.
    pub state: Option<Value>,
    /// What was left on it, and a digest of what was applied; only where that was asked for.
    pub imprint: Option<(Imprint, u64)>,
    /// From whom it was taken back.
    pub contest: Option<Contest>,
}

impl Change {
    /// A change of which nothing more is known.
    pub fn new(key: ObjectKey, action: Action) -> Self {
        Self { key, action, state: None, imprint: None, contest: None }
    }
}

/// Without the object, which may be a Secret.
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

/// What was done to a set of objects, in the order in which it was done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChangeSet {
    /// One entry for each object.
    pub entries: Vec<Change>,
}

impl ChangeSet {
    /// The entries that made a difference, one in a line, as Flux's events list them.
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

    /// Whether anything in the cluster is now different.
    pub fn has_changes(&self) -> bool {
        self.entries.iter().any(|entry| entry.action.is_change())
    }
}

/// All entries, one in a line.
impl fmt::Display for ChangeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, entry) in self.entries.iter().enumerate() {
            let gap = if index == 0 { "" } else { "\n" };
            write!(f, "{gap}{entry}")?;
        }
        Ok(())
    }
}
