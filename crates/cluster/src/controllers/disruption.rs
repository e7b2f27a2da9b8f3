//! PodDisruptionBudgets: how many pods may be evicted now.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::control::{Actor, CONTROLLER_MANAGER, Control, Object};
use super::deployment::share;
use super::recorder::{EventSource, NewEvent};
use super::{Controller, Key, Next, Reconcile, condition, pods};
use crate::selector::LabelSelector;
use crate::store::{Event, GroupResource};
use crate::{metadata, value};

const SOURCE: EventSource<'static> = EventSource {
    actor: Actor {
        user: "system:serviceaccount:kube-system:disruption-controller",
        manager: CONTROLLER_MANAGER.manager,
    },
    component: "controllermanager",
    host: "",
};

/// The disruption controller.
pub(super) struct DisruptionController;

impl Controller for DisruptionController {
    fn wakes(&self, control: &Control, resource: &GroupResource, event: &Event) -> Vec<Key> {
        match (resource.group.as_str(), resource.resource.as_str()) {
            ("policy", "poddisruptionbudgets") => vec![Key::of(resource, &event.key)],
            ("", "pods") => {
                control.selecting("policy", "poddisruptionbudgets", &event.states(), |budget| {
                    LabelSelector::from_object(&budget["spec"]["selector"])
                })
            }
            _ => Vec::new(),
        }
    }

    fn reconcile<'a>(&'a self, control: &'a Control, key: &'a Key) -> Reconcile<'a> {
        Box::pin(async move {
            let Some(budget) = control.object(key) else { return Next::Wait };
            let selector = LabelSelector::from_object(&budget["spec"]["selector"]);
            let mut pods = selector.map_or_else(Vec::new, |selector| {
                control.selected("", "pods", &key.namespace, &selector)
            });
            pods.retain(|pod| !pods::is_finished(pod));
            if pods.is_empty() {
                let event = NewEvent::normal("NoPods", "No matching pods found");
                if budget["status"]["observedGeneration"] != budget["metadata"]["generation"] {
                    control.record(SOURCE, &budget, event).await;
                }
            }
            let status = status(control, &budget, &pods);
            if !value::same(&status, &budget["status"]) {
                let _ = control
                    .update(SOURCE.actor, key, "status", &mut |budget| {
                        budget["status"] = status.clone();
                    })
                    .await;
            }
            Next::Wait
        })
    }
}

fn status(control: &Control, budget: &Value, pods: &[Object]) -> Value {
    let count = i64::try_from(pods.len()).unwrap_or_default();
    let most = value::at(budget, "spec.maxUnavailable");
    let least = value::at(budget, "spec.minAvailable");
    let (expected, desired) = if !most.is_null() {
        let expected = wanted_by_owners(control, pods);
        (expected, (expected - share(most, expected, true)).max(0))
    } else if least.is_string() {
        let expected = wanted_by_owners(control, pods);
        (expected, share(least, expected, true))
    } else {
        (count, least.as_i64().unwrap_or(0))
    };
    let healthy =
        pods.iter().filter(|pod| pods::is_ready(pod) && !metadata::is_terminating(pod)).count();
    let healthy = i64::try_from(healthy).unwrap_or_default();
    let allowed = if expected <= 0 { 0 } else { (healthy - desired).max(0) };
    let generation = value::number(budget, "metadata.generation");
    let mut status = json!({
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "disruptionsAllowed": allowed,
        "expectedPods": expected,
        "observedGeneration": generation,
    });
    if let Some(conditions) = budget["status"].get("conditions") {
        status["conditions"] = conditions.clone();
    }
    let (state, reason) =
        if allowed > 0 { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
    condition::set(&mut status, "DisruptionAllowed", state, reason, "", &control.now());
    for condition in value::list_mut(&mut status, "conditions") {
        condition["observedGeneration"] = generation.into();
    }
    status
}

/// The number of pods that the controllers of these pods want together.
fn wanted_by_owners(control: &Control, pods: &[Object]) -> i64 {
    let mut wanted: BTreeMap<String, i64> = BTreeMap::new();
    for pod in pods {
        let Some(owner) = pods::controller_of(pod) else { continue };
        let uid = value::text(owner, "uid").to_owned();
        if wanted.contains_key(&uid) {
            continue;
        }
        let (group, plural) = match value::text(owner, "kind") {
            "ReplicaSet" => ("apps", "replicasets"),
            "StatefulSet" => ("apps", "statefulsets"),
            "ReplicationController" => ("", "replicationcontrollers"),
            _ => continue,
        };
        let namespace = metadata::namespace(pod);
        let Some(set) =
            control.object(&Key::new(group, plural, namespace, value::text(owner, "name")))
        else {
            continue;
        };
        // For a ReplicaSet of a Deployment, the Deployment's replicas count.
        let deployment = pods::controller_key(&set, "apps", "Deployment", "deployments")
            .and_then(|key| control.object(&key));
        let owner = deployment.as_ref().unwrap_or(&set);
        let replicas = value::int(owner, "spec.replicas").unwrap_or(1);
        wanted.insert(uid, 0);
        wanted.insert(metadata::uid(owner).to_owned(), replicas);
    }
    wanted.values().sum()
}
