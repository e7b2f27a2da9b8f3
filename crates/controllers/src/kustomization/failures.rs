//! How passes over Kustomizations fail.

use std::collections::BTreeMap;

use sluice_api::names::reasons::{BUILD_FAILED, HEALTH_CHECK_FAILED, INVALID_CEL_EXPRESSION};
use sluice_base::place::Place;
use sluice_kstatus::Cause;
use sluice_runtime::class::ErrorClass;
use sluice_runtime::outcome::{FailedObject, Failure, Stop};
use sluice_ssa::{ObjectId, Unhealthy};

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
    let known = failures.iter().filter(|it| it.object.is_some() || it.place.is_some());
    let objects = known.take(MOST_OBJECTS).map(|failure| FailedObject {
        object: failure.object.as_ref().map(ToString::to_string),
        class: failure.class,
        message: failure.message.clone(),
        place: failure.place.clone(),
        causes: Vec::new(),
    });
    Failure { objects: objects.collect(), ..Failure::new(class, reason, message) }.into()
}

/// Files could not be built.
pub(super) fn places_failed(
    class: ErrorClass,
    reason: &str,
    message: String,
    places: Vec<Place>,
) -> Stop {
    let objects = places.into_iter().take(MOST_OBJECTS).map(|place| FailedObject {
        object: None,
        class,
        message: String::new(),
        place: Some(place),
        causes: Vec::new(),
    });
    Failure { objects: objects.collect(), ..Failure::new(class, reason, message) }.into()
}

/// Objects did not become healthy, for causes that their pods and events name.
pub(super) fn unhealthy(
    message: String,
    objects: &[Unhealthy],
    causes: &BTreeMap<ObjectId, Vec<Cause>>,
) -> Stop {
    let class = ErrorClass::Health;
    let objects = objects.iter().take(MOST_OBJECTS).map(|unhealthy| FailedObject {
        object: Some(unhealthy.key.to_string()),
        class,
        message: format!("status: '{}'", unhealthy.seen.status),
        place: unhealthy.place.clone(),
        causes: causes
            .get(&unhealthy.key.id)
            .into_iter()
            .flatten()
            .map(ToString::to_string)
            .collect(),
    });
    let failure = Failure::new(class, HEALTH_CHECK_FAILED, message);
    Failure { objects: objects.collect(), ..failure }.into()
}
