//! How passes over Kustomizations fail.

use sluice_api::names::reasons::{BUILD_FAILED, INVALID_CEL_EXPRESSION};
use sluice_runtime::class::ErrorClass;
use sluice_runtime::outcome::{FailedObject, Failure, Stop};

/// In front of errors that no retry fixes.
const TERMINAL: &str = "Reconciliation failed terminally due to configuration error";

/// The most failed objects that are listed one by one.
const MOST_OBJECTS: usize = 100;

/// The build failed.
pub(super) fn build_failed(message: impl Into<String>) -> Stop {
    Stop::failed(BUILD_FAILED, message)
}

/// An expression is wrong.
pub(super) fn bad_expression(error: &dyn std::fmt::Display) -> Stop {
    Stop::stalled(INVALID_CEL_EXPRESSION, format!("{TERMINAL}: {error}"))
}

/// Objects failed, each with a class of its own; `class` stands for all of them.
pub(super) fn objects_failed(
    class: ErrorClass,
    reason: &str,
    message: String,
    failures: &[sluice_ssa::Failure],
) -> Stop {
    let named = failures.iter().filter_map(|failure| {
        let object = failure.object.as_ref()?.to_string();
        Some(FailedObject { object, class: failure.class, message: failure.message.clone() })
    });
    let objects = named.take(MOST_OBJECTS).collect();
    Failure { objects, ..Failure::new(class, reason, message) }.into()
}
