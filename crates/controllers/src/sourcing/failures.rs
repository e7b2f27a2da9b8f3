//! How passes over sources fail: which condition reports it, and who has to fix it.

use sluice_api::names::conditions::{FETCH_FAILED, SOURCE_VERIFIED, STORAGE_OPERATION_FAILED};
use sluice_runtime::class::ErrorClass;
use sluice_runtime::outcome::{Failure, Retry, Stop};

/// The source could not be read.
pub(crate) fn fetch_failed(reason: &str, message: impl Into<String>) -> Stop {
    failed(FETCH_FAILED, class_of(reason), reason, message)
}

/// The artifact could not be made or stored.
pub(crate) fn storage_failed(reason: &str, message: impl Into<String>) -> Stop {
    failed(STORAGE_OPERATION_FAILED, ErrorClass::Transient, reason, message)
}

/// The spec cannot be used.
pub(crate) fn stalled(reason: &str, message: impl Into<String>) -> Stop {
    let failure = Failure::new(class_of(reason), reason, message);
    Failure { condition: Some(FETCH_FAILED), retry: Retry::Never, ..failure }.into()
}

/// A signature is missing or wrong; with `stalls`, only another spec helps.
pub(crate) fn unverified(reason: &str, message: String, stalls: bool) -> Stop {
    let retry = if stalls { Retry::Never } else { Retry::Usual };
    let failure = Failure::new(ErrorClass::Policy, reason, message);
    Failure { condition: Some(SOURCE_VERIFIED), retry, ..failure }.into()
}

fn failed(
    condition: &'static str,
    class: ErrorClass,
    reason: &str,
    message: impl Into<String>,
) -> Stop {
    Failure { condition: Some(condition), ..Failure::new(class, reason, message) }.into()
}

fn class_of(reason: &str) -> ErrorClass {
    ErrorClass::of_reason(reason).unwrap_or(ErrorClass::Source)
}
