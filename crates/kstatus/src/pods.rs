//! What the pods of a StatefulSet or a ReplicaSet say about it.

use jiff::Timestamp;
use serde_json::Value;

use crate::fields::conditions;
use crate::{Assessment, Status, assess};

/// The assessment of an owner of pods, given them: while it is in progress, pods that have failed
/// for good fail it. Those that are being deleted or find no node do not count, because a rollout
/// or an autoscaler will see to them.
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
