//! The status of any object, as in Flux's kstatus.
//!
//! ```text
//!   object ── generic     being deleted? generation observed? Reconciling, Stalled?
//!          ── kinds       rules of the built-in kinds
//!          ── ready       a Ready condition
//!          ── otherwise   current
//! ```
//!
//! [`assess`] computes the status. Flux treats Jobs differently ([`assess_job`]): a Job is current only when it has
//! completed. Owners of pods fail when their pods do: [`with_pods`].
//!
//! **Invariant:** a pure function of the object and the given time; statuses, messages and errors are those of
//! `fluxcd/cli-utils` 1.2.3, because they end up in conditions.

mod causes;
mod fields;
mod generic;
mod kinds;
mod pods;

use std::fmt;

use jiff::Timestamp;
use serde_json::Value;

pub use causes::{Cause, causes};
pub use fields::{FieldError, api_group, kind};
pub use pods::with_pods;

/// The status of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// In progress.
    InProgress,
    /// Failed: it will not become current by itself.
    Failed,
    /// Current: it matches its spec.
    Current,
    /// Being deleted.
    Terminating,
    /// Not found.
    NotFound,
    /// It could not be determined.
    Unknown,
}

impl Status {
    /// The name of the status.
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

/// The result for an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    /// The status.
    pub status: Status,
    /// The message for people.
    pub message: String,
    /// The standard condition: `Reconciling` while the object is in progress, `Stalled` when it failed.
    pub condition: Option<Condition>,
}

/// A standard condition with the status `True`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// `Reconciling` or `Stalled`.
    pub kind: &'static str,
    /// The reason, as one word.
    pub reason: String,
    /// The message for people.
    pub message: String,
}

impl Assessment {
    /// A result with a message only.
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

/// Computes the status of an object. `now` is for the time that a pod may be unschedulable.
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

/// The status of a Job in Flux's controllers: a running one is in progress, a suspended one is current. Unlike in
/// [`assess`], deletion and generation are ignored.
pub fn assess_job(object: &Value) -> Result<Assessment, FieldError> {
    kinds::batch::to_completion(object)
}
