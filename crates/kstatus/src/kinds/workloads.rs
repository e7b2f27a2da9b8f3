//! Workloads: the order of the checks determines the message.

use jiff::Timestamp;
use serde_json::Value;

use crate::fields::{FieldError, conditions, integer_or, text_or};
use crate::generic;
use crate::{Assessment, Condition, Status};

/// The default of a Deployment without a deadline; its controller then reports no progress.
const NO_DEADLINE: i64 = i32::MAX as i64;

#[expect(clippy::unnecessary_wraps, reason = "rules share one signature")]
pub(super) fn stateful_set(object: &Value, _: Timestamp) -> Result<Assessment, FieldError> {
    if text_or(object, "/spec/updateStrategy/type", "") == "OnDelete" {
        return Ok(Assessment::current("StatefulSet is using the ondelete update strategy"));
    }
    let wanted = integer_or(object, "/spec/replicas", 1);
    let ready = integer_or(object, "/status/readyReplicas", 0);
    let current = integer_or(object, "/status/currentReplicas", 0);
    let updated = integer_or(object, "/status/updatedReplicas", 0);
    let present = integer_or(object, "/status/replicas", 0);
    let partition = integer_or(object, "/spec/updateStrategy/rollingUpdate/partition", -1);

    if let Some(short) = fewer("LessReplicas", "Replicas", present, wanted)
        .or_else(|| fewer("LessReady", "Ready", ready, wanted))
        .or_else(|| surplus(present, wanted))
    {
        return Ok(short);
    }
    if partition != -1 {
        let share = wanted.wrapping_sub(partition);
        return Ok(fewer("PartitionRollout", "updated", updated, share).unwrap_or_else(|| {
            Assessment::current(format!("Partition rollout complete. updated: {updated}"))
        }));
    }
    if let Some(short) = fewer("LessCurrent", "current", current, wanted) {
        return Ok(short);
    }
    let revision = text_or(object, "/status/currentRevision", "");
    if revision != text_or(object, "/status/updateRevision", "") {
        let message = "Waiting for updated revision to match current";
        return Ok(Assessment::in_progress("RevisionMismatch", message));
    }
    Ok(Assessment::current(format!("All replicas scheduled as expected. Replicas: {present}")))
}

pub(super) fn deployment(object: &Value, _: Timestamp) -> Result<Assessment, FieldError> {
    let mut progressing =
        integer_or(object, "/spec/progressDeadlineSeconds", NO_DEADLINE) == NO_DEADLINE;
    let mut is_available = false;
    for condition in conditions(object)? {
        match condition.kind {
            "Progressing" if condition.reason == "ProgressDeadlineExceeded" => {
                return Ok(deadline_exceeded(condition.reason, condition.message));
            }
            "Progressing" => {
                progressing |=
                    condition.status == "True" && condition.reason == "NewReplicaSetAvailable";
            }
            "Available" => is_available |= condition.status == "True",
            _ => {}
        }
    }
    let wanted = integer_or(object, "/spec/replicas", 1);
    let present = integer_or(object, "/status/replicas", 0);
    let updated = integer_or(object, "/status/updatedReplicas", 0);
    let ready = integer_or(object, "/status/readyReplicas", 0);
    let available = integer_or(object, "/status/availableReplicas", 0);

    if let Some(short) = fewer("LessReplicas", "Replicas", present, wanted)
        .or_else(|| fewer("LessUpdated", "Updated", updated, wanted))
        .or_else(|| surplus(present, wanted))
        .or_else(|| fewer("LessAvailable", "Available", available, updated))
        .or_else(|| fewer("LessReady", "Ready", ready, wanted))
    {
        return Ok(short);
    }
    if !progressing {
        let message = "ReplicaSet not Available";
        return Ok(Assessment::in_progress("ReplicaSetNotAvailable", message));
    }
    if !is_available {
        let message = "Deployment not Available";
        return Ok(Assessment::in_progress("DeploymentNotAvailable", message));
    }
    Ok(Assessment::current(format!("Deployment is available. Replicas: {present}")))
}

fn deadline_exceeded(reason: &str, message: &str) -> Assessment {
    let condition =
        Condition { kind: "Stalled", reason: reason.to_owned(), message: message.to_owned() };
    Assessment {
        status: Status::Failed,
        message: "Progress deadline exceeded".to_owned(),
        condition: Some(condition),
    }
}

pub(super) fn replica_set(object: &Value, _: Timestamp) -> Result<Assessment, FieldError> {
    if conditions(object)?.iter().any(|condition| condition.is("ReplicaFailure", "True")) {
        let message = "Replica Failure condition. Check Pods";
        return Ok(Assessment::in_progress("ReplicaFailure", message));
    }
    let wanted = integer_or(object, "/spec/replicas", 1);
    let present = integer_or(object, "/status/replicas", 0);
    let ready = integer_or(object, "/status/readyReplicas", 0);
    let available = integer_or(object, "/status/availableReplicas", 0);
    let labelled = integer_or(object, "/status/fullyLabeledReplicas", 0);
    Ok(fewer("LessLabelled", "Labelled", labelled, wanted)
        .or_else(|| fewer("LessAvailable", "Available", available, wanted))
        .or_else(|| fewer("LessReady", "Ready", ready, wanted))
        .or_else(|| surplus(present, wanted))
        .unwrap_or_else(|| {
            Assessment::current(format!("ReplicaSet is available. Replicas: {present}"))
        }))
}

pub(super) fn daemon_set(object: &Value, _: Timestamp) -> Result<Assessment, FieldError> {
    if let Some(unobserved) = generic::generations_missing(object)? {
        return Ok(unobserved);
    }
    let wanted = integer_or(object, "/status/desiredNumberScheduled", -1);
    if wanted == -1 {
        let message = "Missing .status.desiredNumberScheduled";
        return Ok(Assessment::in_progress("NoDesiredNumber", message));
    }
    let current = integer_or(object, "/status/currentNumberScheduled", 0);
    let updated = integer_or(object, "/status/updatedNumberScheduled", 0);
    let available = integer_or(object, "/status/numberAvailable", 0);
    let ready = integer_or(object, "/status/numberReady", 0);
    Ok(fewer("LessCurrent", "Current", current, wanted)
        .or_else(|| fewer("LessUpdated", "Updated", updated, wanted))
        .or_else(|| fewer("LessAvailable", "Available", available, wanted))
        .or_else(|| fewer("LessReady", "Ready", ready, wanted))
        .unwrap_or_else(|| {
            Assessment::current(format!("All replicas scheduled as expected. Replicas: {wanted}"))
        }))
}

/// In progress, if there are fewer than desired.
fn fewer(reason: &str, what: &str, found: i64, wanted: i64) -> Option<Assessment> {
    (found < wanted).then(|| Assessment::in_progress(reason, format!("{what}: {found}/{wanted}")))
}

/// In progress, if there are old pods.
fn surplus(found: i64, wanted: i64) -> Option<Assessment> {
    (found > wanted).then(|| {
        let extra = found.wrapping_sub(wanted);
        Assessment::in_progress("ExtraPods", format!("Pending termination: {extra}"))
    })
}
