//! Pods that fail, and what they mean for their owner.

use jiff::Timestamp;
use serde_json::{Value, json};
use sluice_kstatus::{Status, assess, with_pods};

const NOW: Timestamp = Timestamp::constant(1_790_000_000, 0);

fn stateful_set() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"},
        "spec": {"replicas": 2}, "status": {"replicas": 2, "readyReplicas": 1},
    })
}

fn crashing(extra: &Value) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "db-0"},
        "status": {"phase": "Running", "containerStatuses": [
            {"name": "db", "state": {"waiting": {"reason": "CrashLoopBackOff"}}},
        ]},
    });
    for (key, value) in extra.as_object().into_iter().flatten() {
        pod["metadata"][key] = value.clone();
    }
    pod
}

#[test]
fn pods_that_failed_fail_their_owner_while_it_is_in_progress() {
    let alone = assess(&stateful_set(), NOW).expect("it can be read");
    assert_eq!(alone.message, "Ready: 1/2");
    let unschedulable = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "db-1", "creationTimestamp": "2001-01-01T00:00:00Z"},
        "status": {"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"},
        ]},
    });
    let leaving = crashing(&json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}));
    let passing = [unschedulable, leaving];
    assert_eq!(with_pods(alone.clone(), &passing, NOW), alone);

    let failed = with_pods(alone, &[crashing(&json!({})), crashing(&json!({}))], NOW);
    assert_eq!((failed.status, failed.message.as_str()), (Status::Failed, "2 pods have failed"));
}
