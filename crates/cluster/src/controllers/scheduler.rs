//! The scheduler: binds each pod to a node, or reports why it cannot.

mod affinity;
mod fit;
mod load;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

pub(super) use self::affinity::node_matches;
pub(super) use self::fit::tolerates;
use self::fit::{Machine, Machines};
use self::load::Load;
use super::control::{Actor, Control};
use super::{Controller, Key, Next, Reconcile, condition, pods};
use crate::store::{Change, Event, GroupResource};
use crate::{metadata, value};

const ACTOR: Actor = Actor { user: "system:kube-scheduler", manager: "kube-scheduler" };
const NAME: &str = "default-scheduler";
/// The annotation that names the node for a provisioner.
pub(super) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// The scheduler.
#[derive(Default)]
pub(super) struct Scheduler {
    /// The pending pods.
    waiting: Mutex<BTreeSet<Key>>,
    load: Mutex<Load>,
}

impl Controller for Scheduler {
    fn wakes(&self, _: &Control, resource: &GroupResource, event: &Event) -> Vec<Key> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let object = &event.object.value;
        match (resource.group.as_str(), resource.resource.as_str()) {
            ("", "pods") => {
                let key = Key::of(resource, &event.key);
                let pod = (event.change != Change::Deleted).then_some(&event.object.value);
                self.load.lock().unwrap_or_else(PoisonError::into_inner).follow(&key, pod);
                let waits = event.change != Change::Deleted && wants_node(object);
                if waits {
                    waiting.insert(key.clone());
                    // The scheduler's own status writes do not queue the pod again.
                    let same = event.previous.as_ref().is_some_and(|previous| {
                        previous.value["spec"] == object["spec"]
                            && previous.value["metadata"]["labels"] == object["metadata"]["labels"]
                    });
                    return if same { Vec::new() } else { vec![key] };
                }
                waiting.remove(&key);
                let frees = event.change == Change::Deleted || pods::is_finished(object);
                if frees { waiting.iter().cloned().collect() } else { Vec::new() }
            }
            ("", "nodes" | "persistentvolumes" | "persistentvolumeclaims")
            | ("storage.k8s.io", "storageclasses") => waiting.iter().cloned().collect(),
            _ => Vec::new(),
        }
    }

    fn reconcile<'a>(&'a self, control: &'a Control, key: &'a Key) -> Reconcile<'a> {
        Box::pin(async move {
            let Some(pod) = control.object(key).filter(|pod| wants_node(pod)) else {
                return Next::Wait;
            };
            let verdict = {
                let load = self.load.lock().unwrap_or_else(PoisonError::into_inner);
                place(control, &pod, &load)
            };
            match verdict {
                Verdict::On(node) => bind(control, key, &pod, &node).await,
                Verdict::AwaitsVolumes(node, claims) => {
                    for claim in claims {
                        select_node(control, &claim, &node).await;
                    }
                }
                Verdict::Nowhere(message) => refuse(control, key, &pod, &message).await,
            }
            Next::Wait
        })
    }
}

fn wants_node(pod: &Value) -> bool {
    value::text(pod, "spec.nodeName").is_empty()
        && matches!(value::text(pod, "spec.schedulerName"), "" | NAME)
        && value::list(pod, "spec.schedulingGates").is_empty()
        && pods::is_active(pod)
}

enum Verdict {
    On(String),
    /// A node is chosen; these claims get their volumes first.
    AwaitsVolumes(String, Vec<Key>),
    Nowhere(String),
}

/// Chooses the emptiest of the nodes that fit.
fn place(control: &Control, pod: &Value, load: &Load) -> Verdict {
    let machines = Machines::new(control.objects("", "nodes", None), load);
    let total = machines.list.len();
    let nowhere = |why: &str| {
        Verdict::Nowhere(if total == 0 {
            "no nodes available to schedule pods".to_owned()
        } else {
            format!("0/{total} nodes are available: {why}")
        })
    };
    if total == 0 {
        return nowhere("");
    }
    let unhelpful = format!(
        "preemption: 0/{total} nodes are available: {total} Preemption is not helpful for scheduling."
    );
    let volumes = match fit::volumes(control, pod) {
        Ok(volumes) => volumes,
        Err(why) => return nowhere(&format!("{why}. {unhelpful}")),
    };
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let mut helpful = 0;
    let mut fitting: Vec<&Machine<'_>> = Vec::new();
    for machine in &machines.list {
        match fit::obstacle(pod, machine, &machines, &volumes) {
            None => fitting.push(machine),
            Some(obstacle) => {
                helpful += usize::from(obstacle.preemption_helps);
                for reason in obstacle.reasons {
                    *reasons.entry(reason).or_default() += 1;
                }
            }
        }
    }
    let owner = pods::controller_of(pod).map(|owner| value::text(owner, "uid"));
    let best = fitting.into_iter().min_by_key(|machine| {
        let siblings = owner.map_or(0, |uid| machine.load.controlled_by(uid));
        (
            affinity::penalty(pod, machine),
            siblings,
            machine.load.len(),
            metadata::name(&machine.node).to_owned(),
        )
    });
    let Some(best) = best else {
        let mut texts: Vec<String> =
            reasons.into_iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        texts.sort();
        let mut after = Vec::new();
        if helpful > 0 {
            after.push(format!("{helpful} No preemption victims found for incoming pod"));
        }
        if total > helpful {
            after.push(format!("{} Preemption is not helpful for scheduling", total - helpful));
        }
        return nowhere(&format!(
            "{}. no new claims to deallocate, preemption: 0/{total} nodes are available: {}.",
            texts.join(", "),
            after.join(", ")
        ));
    };
    let node = metadata::name(&best.node).to_owned();
    if volumes.unbound.is_empty() {
        Verdict::On(node)
    } else {
        Verdict::AwaitsVolumes(node, volumes.unbound)
    }
}

async fn bind(control: &Control, key: &Key, pod: &Value, node: &str) {
    if let Err(status) = control.bind(ACTOR, key, node).await {
        tracing::debug!(%status, pod = %key.name, "not bound");
        return;
    }
    let message = format!("Successfully assigned {}/{} to {node}", key.namespace, key.name);
    record(control, pod, "Normal", "Scheduled", "Binding", &message).await;
}

async fn select_node(control: &Control, claim: &Key, node: &str) {
    let _ = control
        .update(ACTOR, claim, "", &mut |claim| {
            let metadata = metadata::of_mut(claim);
            let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
            annotations[SELECTED_NODE] = node.into();
        })
        .await;
}

async fn refuse(control: &Control, key: &Key, pod: &Value, message: &str) {
    let known = condition::find(&pod["status"], "PodScheduled")
        .is_some_and(|condition| condition["message"] == message);
    if known {
        return;
    }
    let now = control.now();
    let written = control
        .update(ACTOR, key, "status", &mut |pod| {
            let status = &mut pod["status"];
            condition::set_pod(status, "PodScheduled", false, "Unschedulable", message, &now);
        })
        .await;
    if written.is_ok() {
        record(control, pod, "Warning", "FailedScheduling", "Scheduling", message).await;
    }
}

/// Records an Event of `events.k8s.io`: with `eventTime` and `action`, without a source.
async fn record(
    control: &Control,
    pod: &Value,
    kind: &str,
    reason: &str,
    action: &str,
    message: &str,
) {
    let event = json!({
        "metadata": {"name": control.event_name(pod), "namespace": metadata::namespace(pod)},
        "involvedObject": {
            "kind": "Pod", "apiVersion": "v1", "namespace": metadata::namespace(pod),
            "name": metadata::name(pod), "uid": metadata::uid(pod),
            "resourceVersion": metadata::text(pod, "resourceVersion"),
        },
        "reason": reason,
        "message": message,
        "action": action,
        "source": {},
        "firstTimestamp": null,
        "lastTimestamp": null,
        "type": kind,
        "eventTime": control.now_micros(),
        "reportingComponent": NAME,
        "reportingInstance": format!("{NAME}-control-plane"),
    });
    control.file_event(ACTOR, metadata::namespace(pod), event).await;
}
