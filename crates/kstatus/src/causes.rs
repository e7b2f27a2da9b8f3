//! Why a workload does not become ready, as its pods, claims and events say: a pure function over objects.
//!
//! ```text
//! Deployment ── ReplicaSet ── Pod ── container states, scheduling, claims
//!                  └── events: quota, webhooks, volumes
//! ```

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

/// The most causes of one object: pods of one workload fail alike.
const MOST: usize = 5;

/// Reasons for which a container waits while everything is in order.
const STARTING: [&str; 2] = ["ContainerCreating", "PodInitializing"];

/// Why an object does not become ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The object that says so: `Pod/apps/web-1`.
    pub object: String,
    /// The reason, as one word: `ImagePullBackOff`.
    pub reason: String,
    /// The message for people; may be empty.
    pub message: String,
}

/// `Pod/apps/web-1: ImagePullBackOff: image "registry.test/web:9"`.
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.object, self.reason)?;
        if self.message.is_empty() { Ok(()) } else { write!(f, ": {}", self.message) }
    }
}

/// The causes for which an object does not become ready. `others` are objects of its namespace (pods, ReplicaSets,
/// claims), `events` the events of it; those that have nothing to do with the object are passed over. Every reason
/// and message is given once, however many pods have it.
pub fn causes<'v>(
    object: &'v Value,
    others: impl IntoIterator<Item = &'v Value>,
    events: impl IntoIterator<Item = &'v Value>,
) -> Vec<Cause> {
    let others: Vec<&Value> = others.into_iter().collect();
    let family = family(object, &others);
    let mut found = Vec::new();
    for member in &family {
        match text(member, "/kind") {
            "Pod" => of_pod(member, &others, &mut found),
            _ => of_owner(member, &mut found),
        }
    }
    // Events last: what a status says is true now, and an event may be old.
    let named: BTreeSet<String> = found.iter().map(|cause| cause.object.clone()).collect();
    let uids: BTreeSet<&str> = family.iter().map(|member| text(member, "/metadata/uid")).collect();
    for event in events {
        let about = event.get("involvedObject").unwrap_or(&Value::Null);
        let is_meant = uids.contains(text(about, "/uid")) && text(event, "/type") == "Warning";
        let object = name_of(text(about, "/kind"), text(about, "/namespace"), text(about, "/name"));
        if is_meant && !named.contains(&object) {
            add(&mut found, object, text(event, "/reason"), text(event, "/message"));
        }
    }
    found.truncate(MOST);
    found
}

/// The object and what it owns, directly or not; what is being deleted is left out.
fn family<'v>(object: &'v Value, others: &[&'v Value]) -> Vec<&'v Value> {
    let mut family = vec![object];
    let mut next = 0;
    while let Some(owner) = family.get(next).map(|owner| text(owner, "/metadata/uid")) {
        next += 1;
        let is_owned = |other: &&&Value| {
            let owners = other.pointer("/metadata/ownerReferences").and_then(Value::as_array);
            let mut owners = owners.into_iter().flatten();
            !owner.is_empty() && owners.any(|it| text(it, "/uid") == owner)
        };
        let is_alive = |other: &&&Value| other.pointer("/metadata/deletionTimestamp").is_none();
        family.extend(others.iter().filter(is_owned).filter(is_alive));
    }
    family
}

/// Containers that wait or ended, a pod without a node, claims without a volume.
fn of_pod(pod: &Value, others: &[&Value], found: &mut Vec<Cause>) {
    let namespace = text(pod, "/metadata/namespace");
    let name = || name_of("Pod", namespace, text(pod, "/metadata/name"));
    for list in ["/status/initContainerStatuses", "/status/containerStatuses"] {
        for status in items(pod, list) {
            if let Some((reason, message)) = of_container(status) {
                add(found, name(), &reason, &message);
            }
        }
    }
    for condition in items(pod, "/status/conditions") {
        if text(condition, "/type") == "PodScheduled" && text(condition, "/status") == "False" {
            add(found, name(), text(condition, "/reason"), text(condition, "/message"));
        }
    }
    for volume in items(pod, "/spec/volumes") {
        let claim = text(volume, "/persistentVolumeClaim/claimName");
        let is_it = |other: &&&Value| {
            text(other, "/kind") == "PersistentVolumeClaim"
                && text(other, "/metadata/name") == claim
                && text(other, "/metadata/namespace") == namespace
        };
        if let Some(unbound) = others.iter().find(is_it) {
            let phase = text(unbound, "/status/phase");
            if phase != "Bound" {
                let object = name_of("PersistentVolumeClaim", namespace, claim);
                add(
                    found,
                    object,
                    if phase.is_empty() { "Pending" } else { phase },
                    "unbound volume",
                );
            }
        }
    }
}

/// Why a container does not run.
fn of_container(status: &Value) -> Option<(String, String)> {
    let waiting = text(status, "/state/waiting/reason");
    if !waiting.is_empty() && !STARTING.contains(&waiting) {
        let mut message = text(status, "/state/waiting/message").to_owned();
        let image = text(status, "/image");
        if waiting.contains("Image") && !message.contains(image) {
            let gap = if message.is_empty() { "" } else { ": " };
            message = format!("image {image:?}{gap}{message}");
        }
        let last = status.pointer("/lastState/terminated/exitCode").and_then(Value::as_i64);
        if let Some(code) = last {
            let gap = if message.is_empty() { "" } else { ", " };
            message = format!("{message}{gap}last exit code {code}");
        }
        return Some((waiting.to_owned(), message));
    }
    let ended = status.pointer("/state/terminated")?;
    let code = ended.get("exitCode").and_then(Value::as_i64).filter(|code| *code != 0)?;
    let reason = match text(ended, "/reason") {
        "" => "Error",
        reason => reason,
    };
    let message = text(ended, "/message");
    let gap = if message.is_empty() { "" } else { ": " };
    Some((reason.to_owned(), format!("exit code {code}{gap}{message}")))
}

/// A controller that cannot make pods: a quota, a webhook, a policy.
fn of_owner(owner: &Value, found: &mut Vec<Cause>) {
    for condition in items(owner, "/status/conditions") {
        if text(condition, "/type") == "ReplicaFailure" && text(condition, "/status") == "True" {
            let kind = text(owner, "/kind");
            let namespace = text(owner, "/metadata/namespace");
            let object = name_of(kind, namespace, text(owner, "/metadata/name"));
            add(found, object, text(condition, "/reason"), text(condition, "/message"));
        }
    }
}

fn add(found: &mut Vec<Cause>, object: String, reason: &str, message: &str) {
    let (reason, message) = (reason.to_owned(), message.trim().to_owned());
    if !found.iter().any(|cause| cause.reason == reason && cause.message == message) {
        found.push(Cause { object, reason, message });
    }
}

fn name_of(kind: &str, namespace: &str, name: &str) -> String {
    if namespace.is_empty() {
        format!("{kind}/{name}")
    } else {
        format!("{kind}/{namespace}/{name}")
    }
}

fn items<'v>(object: &'v Value, pointer: &str) -> &'v [Value] {
    object.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::causes;

    fn owned(kind: &str, name: &str, by: &str, rest: &Value) -> Value {
        let mut object = json!({"kind": kind, "metadata": {"name": name, "namespace": "apps", "uid": name,
            "ownerReferences": [{"uid": by}]}});
        object.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        object
    }

    fn pod(name: &str, status: &Value) -> Value {
        owned("Pod", name, "set", &json!({"status": status}))
    }

    fn waiting(reason: &str, message: &str) -> Value {
        json!({"containerStatuses": [{"image": "registry.test/web:9",
            "state": {"waiting": {"reason": reason, "message": message}}}]})
    }

    #[test]
    fn pods_owners_claims_and_events_say_why() {
        let unscheduled = json!({"conditions": [{"type": "PodScheduled", "status": "False",
            "reason": "Unschedulable", "message": "0/3 nodes are available: 3 Insufficient cpu."}]});
        let ended = json!({"containerStatuses": [{"state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]});
        let crashing = json!({"containerStatuses": [{"lastState": {"terminated": {"exitCode": 1}},
            "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}}}]});
        let quota = json!({"status": {"conditions": [{"type": "ReplicaFailure", "status": "True",
            "reason": "FailedCreate", "message": "pods \"web\" is forbidden: exceeded quota: small"}]}});
        let claiming = owned(
            "Pod",
            "a",
            "set",
            &json!({"spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}}),
        );
        let claim = json!({"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "apps"}, "status": {"phase": "Pending"}});
        let webhook = json!({"type": "Warning", "reason": "FailedCreate", "message": "failed calling webhook \"a\"",
            "involvedObject": {"kind": "ReplicaSet", "namespace": "apps", "name": "set", "uid": "set"}});
        let foreign = json!({"type": "Warning", "reason": "Failed", "message": "x", "involvedObject": {"uid": "other"}});
        let set = || owned("ReplicaSet", "set", "web", &json!({}));
        let cases: [(Vec<Value>, Vec<Value>, &[&str]); 8] = [
            (
                vec![
                    set(),
                    pod("a", &waiting("ErrImagePull", "")),
                    pod("b", &waiting("ErrImagePull", "")),
                ],
                vec![],
                &["Pod/apps/a: ErrImagePull: image \"registry.test/web:9\""],
            ),
            (
                vec![set(), pod("a", &unscheduled)],
                vec![],
                &["Pod/apps/a: Unschedulable: 0/3 nodes are available: 3 Insufficient cpu."],
            ),
            (vec![set(), pod("a", &ended)], vec![], &["Pod/apps/a: OOMKilled: exit code 137"]),
            (
                vec![set(), pod("a", &crashing)],
                vec![],
                &["Pod/apps/a: CrashLoopBackOff: back-off 10s, last exit code 1"],
            ),
            (
                vec![owned("ReplicaSet", "set", "web", &quota)],
                vec![],
                &[
                    "ReplicaSet/apps/set: FailedCreate: pods \"web\" is forbidden: exceeded quota: small",
                ],
            ),
            (
                vec![set(), claiming, claim],
                vec![],
                &["PersistentVolumeClaim/apps/data: Pending: unbound volume"],
            ),
            (
                vec![set()],
                vec![webhook, foreign],
                &["ReplicaSet/apps/set: FailedCreate: failed calling webhook \"a\""],
            ),
            (vec![set(), pod("a", &waiting("ContainerCreating", ""))], vec![], &[]),
        ];
        let web = json!({"kind": "Deployment", "metadata": {"name": "web", "namespace": "apps", "uid": "web"}});
        for (others, events, expected) in cases {
            let found: Vec<String> =
                causes(&web, &others, &events).iter().map(ToString::to_string).collect();
            assert_eq!(found, expected);
        }
        let other = json!({"kind": "Deployment", "metadata": {"name": "other", "uid": "other"}});
        assert_eq!(causes(&other, &[pod("a", &waiting("ErrImagePull", ""))], &[]), []);
    }
}
