//! How far any object has got on its way to what its spec asks for, as Flux's kstatus reads it.
//!
//! ```text
//!   object ── generic     being deleted? generation observed? Reconciling, Stalled?
//!          ── kinds       rules of the built-in kinds
//!          ── ready       a Ready condition
//!          ── otherwise   current
//! ```
//!
//! [`assess`] is the whole reading. Flux reads a Job otherwise ([`assess_job`]): it is current only
//! when it has completed. Whoever owns pods fails when they do: [`with_pods`].
//!
//! **Invariant:** a pure function of the object and of the time it is given; statuses and messages
//! are those of `fluxcd/cli-utils` 1.2.3, and so are the errors, because they end up in conditions.

mod fields;
mod generic;
mod kinds;
mod pods;

use std::fmt;

use jiff::Timestamp;
use serde_json::Value;

pub use fields::{FieldError, api_group, kind};
pub use pods::with_pods;

/// How far an object has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// On its way.
    InProgress,
    /// It will not get there by itself.
    Failed,
    /// As its spec asks for.
    Current,
    /// Being deleted.
    Terminating,
    /// Not there.
    NotFound,
    /// It could not be told.
    Unknown,
}

impl Status {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "InProgress",
            Self::Failed => "Failed",
            Self::Current => "Current",
            Self::Terminating => "Terminating",
            Self::NotFound => "NotFound",
            Self::Unknown => "Unknown",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What was read from an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    /// How far it has got.
    pub status: Status,
    /// Why, for people.
    pub message: String,
    /// The standard condition the object would bear: `Reconciling` while it is in progress,
    /// `Stalled` when it failed.
    pub condition: Option<Condition>,
}

/// Why an object is not current, in the form of a condition that is true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// `Reconciling` or `Stalled`.
    pub kind: &'static str,
    /// The reason in one word.
    pub reason: String,
    /// The reason for people.
    pub message: String,
}

impl Assessment {
    /// A status with a message and nothing else.
    pub fn plain(status: Status, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), condition: None }
    }

    fn current(message: impl Into<String>) -> Self {
        Self::plain(Status::Current, message)
    }

    fn in_progress(reason: &str, message: impl Into<String>) -> Self {
        Self::with_condition(Status::InProgress, "Reconciling", reason, message.into())
    }

    fn failed(reason: &str, message: impl Into<String>) -> Self {
        Self::with_condition(Status::Failed, "Stalled", reason, message.into())
    }

    fn with_condition(status: Status, kind: &'static str, reason: &str, message: String) -> Self {
        let condition = Condition { kind, reason: reason.to_owned(), message: message.clone() };
        Self { status, message, condition: Some(condition) }
    }
}

/// How far an object has got. `now` decides how long a pod may wait for a node.
pub fn assess(object: &Value, now: Timestamp) -> Result<Assessment, FieldError> {
    if let Some(decided) = generic::decide(object)? {
        return Ok(decided);
    }
    if let Some(rule) = kinds::rule(object) {
        return rule(object, now);
    }
    if let Some(decided) = generic::ready(object)? {
        return Ok(decided);
    }
    Ok(Assessment::current("Resource is current"))
}

/// How far a Job has got as Flux's controllers see it: one that still runs is in progress, one that
/// is suspended is as asked for. Unlike in [`assess`], deletion and generation do not count.
pub fn assess_job(object: &Value) -> Result<Assessment, FieldError> {
    kinds::batch::to_completion(object)
}
