//! Services, claims and pods.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::Assessment;
use crate::fields::{self, ConditionFields, FieldError, conditions, text_or};

/// How long a pod may be unschedulable before it counts as failed.
const SCHEDULE_WINDOW: SignedDuration = SignedDuration::from_secs(15);

#[expect(clippy::unnecessary_wraps, reason = "rules share one signature")]
pub(super) fn service(object: &Value, _: Timestamp) -> Result<Assessment, FieldError> {
    if text_or(object, "/spec/type", "ClusterIP") == "LoadBalancer"
        && text_or(object, "/spec/clusterIP", "").is_empty()
    {
        let message = "ClusterIP not set. Service type: LoadBalancer";
        return Ok(Assessment::in_progress("NoIPAssigned", message));
    }
    Ok(Assessment::current("Service is ready"))
}

#[expect(clippy::unnecessary_wraps, reason = "rules share one signature")]
pub(super) fn claim(object: &Value, _: Timestamp) -> Result<Assessment, FieldError> {
    let phase = text_or(object, "/status/phase", "unknown");
    if phase == "Bound" {
        return Ok(Assessment::current("PVC is Bound"));
    }
    Ok(Assessment::in_progress("NotBound", format!("PVC is not Bound. phase: {phase}")))
}

pub(super) fn pod(object: &Value, now: Timestamp) -> Result<Assessment, FieldError> {
    let conditions = conditions(object)?;
    match text_or(object, "/status/phase", "") {
        "Succeeded" => Ok(Assessment::current("Pod has completed successfully")),
        "Failed" => Ok(Assessment::current("Pod has completed, but not successfully")),
        "Running" => running(object, &conditions),
        "Pending" => Ok(pending(object, &conditions, now)),
        "" => Ok(Assessment::in_progress("PodNotObserved", "Pod phase not available")),
        phase => Err(FieldError(format!("unknown phase {phase}"))),
    }
}

fn running(object: &Value, conditions: &[ConditionFields<'_>]) -> Result<Assessment, FieldError> {
    if conditions.iter().any(|condition| condition.is("Ready", "True")) {
        return Ok(Assessment::current("Pod is Ready"));
    }
    let crashing: Vec<&str> = fields::list(object, &["status", "containerStatuses"])?
        .into_iter()
        .flatten()
        .filter(|container| {
            container.pointer("/state/waiting/reason").and_then(Value::as_str)
                == Some("CrashLoopBackOff")
        })
        .filter_map(|container| container.get("name").and_then(Value::as_str))
        .collect();
    if !crashing.is_empty() {
        let message = format!("Containers in CrashLoop state: {}", crashing.join(","));
        return Ok(Assessment::failed("ContainerCrashLooping", message));
    }
    Ok(Assessment::in_progress("PodRunningNotReady", "Pod is running but is not Ready"))
}

fn pending(object: &Value, conditions: &[ConditionFields<'_>], now: Timestamp) -> Assessment {
    if !refused(conditions) {
        return Assessment::in_progress("PodPending", "Pod is in the Pending phase");
    }
    let created = text_or(object, "/metadata/creationTimestamp", "").parse::<Timestamp>();
    let waits_since = now.checked_sub(SCHEDULE_WINDOW).unwrap_or(Timestamp::MIN);
    if created.is_ok_and(|created| waits_since < created) {
        return Assessment::in_progress("PodNotScheduled", "Pod has not been scheduled");
    }
    Assessment::failed("PodUnschedulable", "Pod could not be scheduled")
}

/// Whether the pod's first condition is that it is unschedulable.
fn refused(conditions: &[ConditionFields<'_>]) -> bool {
    conditions
        .iter()
        .find(|condition| condition.is("PodScheduled", "False"))
        .is_some_and(|condition| condition.reason == "Unschedulable")
}
