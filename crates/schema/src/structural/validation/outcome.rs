//! The result of checks: failures, each message once, and the number of checks.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::field::{ErrorType, FieldError, Path};

/// One failed check, before it becomes a field error.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    /// Failures with the same message are one.
    message: String,
    /// The path of the value; `None` for the logical junctors, which upstream reports without one.
    name: Option<String>,
    kind: ErrorType,
    value: Option<Value>,
    /// Limits and allowed values, where the field error has its own wording for them.
    pub(super) detail: Option<String>,
}

impl Failure {
    pub(super) fn new(name: &str, kind: ErrorType, value: Option<Value>, message: String) -> Self {
        Self { message, name: Some(name.to_owned()), kind, value, detail: None }
    }

    pub(super) fn invalid(name: &str, value: Value, message: String) -> Self {
        Self::new(name, ErrorType::Invalid, Some(value), message)
    }

    pub(super) fn junctor(message: String) -> Self {
        let value = Some(Value::String(String::new()));
        Self { message, name: None, kind: ErrorType::Invalid, value, detail: None }
    }

    fn into_field_error(self, path: &Path) -> FieldError {
        let at = match self.name.as_deref() {
            None | Some("" | ".") => path.clone(),
            Some(name) => path.child(name.strip_prefix('.').unwrap_or(name)),
        };
        let detail = self.detail.unwrap_or(self.message);
        FieldError { kind: self.kind, field: at.to_string(), value: self.value, detail }
    }
}

#[derive(Debug, Default, Clone)]
pub(super) struct Outcome {
    failures: Vec<Failure>,
    seen: BTreeSet<String>,
    /// How many checks were made on the way, give or take upstream's counting.
    pub(super) matches: usize,
}

impl Outcome {
    pub(super) fn of(failure: Failure) -> Self {
        let mut outcome = Self::default();
        outcome.add(failure);
        outcome
    }

    /// No failure, after so many checks.
    pub(super) fn counting(matches: usize) -> Self {
        Self { matches, ..Self::default() }
    }

    pub(super) fn is_valid(&self) -> bool {
        self.failures.is_empty()
    }

    pub(super) fn add(&mut self, failure: Failure) {
        if self.seen.insert(failure.message.clone()) {
            self.failures.push(failure);
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.matches += other.matches;
        for failure in other.failures {
            self.add(failure);
        }
    }

    /// Forgets what went wrong, but not how much was checked.
    pub(super) fn forgive(&mut self) {
        self.failures.clear();
        self.seen.clear();
    }

    pub(super) fn into_field_errors(self, path: &Path) -> Vec<FieldError> {
        self.failures.into_iter().map(|failure| failure.into_field_error(path)).collect()
    }
}
