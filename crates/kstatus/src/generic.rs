//! Rules for all kinds: deletion, observed generations, standard conditions.

use serde_json::Value;

use crate::fields::{self, FieldError, conditions};
use crate::{Assessment, Status};

/// The status, if a rule for all kinds determines it.
pub(crate) fn decide(object: &Value) -> Result<Option<Assessment>, FieldError> {
    let deleted = fields::text(object, &["metadata", "deletionTimestamp"])
        .map_err(|error| looking_up("metadata.deletionTimestamp", &error))?;
    if deleted.is_some_and(|time| !time.is_empty()) {
        return Ok(Some(Assessment::plain(Status::Terminating, "Resource scheduled for deletion")));
    }
    if let (Some(generation), Some(observed)) = generations(object)?
        && generation != observed
    {
        let message = format!(
            "{} generation is {generation}, but latest observed generation is {observed}",
            fields::kind(object)
        );
        return Ok(Some(Assessment::in_progress("LatestGenerationNotObserved", message)));
    }
    for condition in conditions(object)? {
        if condition.is("Reconciling", "True") {
            return Ok(Some(Assessment::in_progress(condition.reason, condition.message)));
        }
        if condition.is("Stalled", "True") {
            return Ok(Some(Assessment::failed(condition.reason, condition.message)));
        }
    }
    Ok(None)
}

/// The status, if a Ready condition determines it.
pub(crate) fn ready(object: &Value) -> Result<Option<Assessment>, FieldError> {
    for condition in conditions(object)?.iter().filter(|condition| condition.kind == "Ready") {
        match condition.status {
            "True" => return Ok(Some(Assessment::current("Resource is Ready"))),
            "False" | "Unknown" => {
                return Ok(Some(Assessment::in_progress(condition.reason, condition.message)));
            }
            _ => {}
        }
    }
    Ok(None)
}

/// The status of an object before its controller has written the observed generation.
pub(crate) fn generations_missing(object: &Value) -> Result<Option<Assessment>, FieldError> {
    let kind = fields::kind(object);
    Ok(match generations(object)? {
        (None, _) => Some(Assessment::in_progress(
            "NoGeneration",
            format!("{kind} metadata.generation not found"),
        )),
        (Some(_), None) => Some(Assessment::in_progress(
            "NoObservedGeneration",
            format!("{kind} status.observedGeneration not found"),
        )),
        (Some(_), Some(_)) => None,
    })
}

/// The generation of the spec and the observed generation, which is read only if the former is set.
fn generations(object: &Value) -> Result<(Option<i64>, Option<i64>), FieldError> {
    let generation = fields::integer(object, &["metadata", "generation"])
        .map_err(|error| looking_up("metadata.generation", &error))?;
    if generation.is_none() {
        return Ok((None, None));
    }
    let observed = fields::integer(object, &["status", "observedGeneration"])
        .map_err(|error| looking_up("status.observedGeneration", &error))?;
    Ok((generation, observed))
}

fn looking_up(field: &str, error: &FieldError) -> FieldError {
    FieldError(format!("looking up {field} from resource: {error}"))
}
