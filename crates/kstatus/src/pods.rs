//! The effect of pods on the status of their StatefulSet or ReplicaSet.

use jiff::Timestamp;
use serde_json::Value;

use crate::fields::conditions;
use crate::{Assessment, Status, assess};

/// The status of an owner of pods: while it is in progress, failed pods make it fail. Pods that are being deleted or
/// unschedulable do not count, because a rollout or an autoscaler will take care of them.
pub fn with_pods<'v>(
    assessment: Assessment,
    pods: impl IntoIterator<Item = &'v Value>,
    now: Timestamp,
) -> Assessment {
    if assessment.status != Status::InProgress {
        return assessment;
    }
    let failed = pods.into_iter().filter(|pod| has_failed(pod, now)).count();
    if failed == 0 {
        return assessment;
    }
    Assessment::plain(Status::Failed, format!("{failed} pods have failed"))
}

fn has_failed(pod: &Value, now: Timestamp) -> bool {
    assess(pod, now).is_ok_and(|assessment| assessment.status == Status::Failed)
        && !conditions(pod).is_ok_and(|conditions| {
            conditions.iter().any(|condition| {
                condition.is("PodScheduled", "False") && condition.reason == "Unschedulable"
            })
        })
}
