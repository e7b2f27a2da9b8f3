//! DaemonSets: a pod on every matching node.

use std::time::Duration;

use serde_json::{Value, json};

use super::control::{Actor, CONTROLLER_MANAGER, Control, Object};
use super::deployment::share;
use super::recorder::EventSource;
use super::scheduler;
use super::{Controller, Key, Next, Reconcile, hash, history, pods};
use crate::selector::LabelSelector;
use crate::store::{Event, GroupResource};
use crate::{metadata, value};

const SOURCE: EventSource<'static> = EventSource {
    actor: Actor {
        user: "system:serviceaccount:kube-system:daemon-set-controller",
        manager: CONTROLLER_MANAGER.manager,
    },
    component: "daemonset-controller",
    host: "",
};
const RETRY: Duration = Duration::from_secs(5);
const GENERATION: &str = "deprecated.daemonset.template.generation";
/// The taints that daemon pods tolerate.
const TOLERATED: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];

/// The DaemonSet controller.
pub(super) struct DaemonSetController;

impl Controller for DaemonSetController {
    fn wakes(&self, control: &Control, resource: &GroupResource, event: &Event) -> Vec<Key> {
        match (resource.group.as_str(), resource.resource.as_str()) {
            ("apps", "daemonsets") => vec![Key::of(resource, &event.key)],
            ("", "pods") => {
                pods::controller_key(&event.object.value, "apps", "DaemonSet", "daemonsets")
                    .into_iter()
                    .collect()
            }
            ("", "nodes") => control
                .objects("apps", "daemonsets", None)
                .iter()
                .map(|set| {
                    Key::new("apps", "daemonsets", metadata::namespace(set), metadata::name(set))
                })
                .collect(),
            _ => Vec::new(),
        }
    }

    fn reconcile<'a>(&'a self, control: &'a Control, key: &'a Key) -> Reconcile<'a> {
        Box::pin(async move {
            let Some(set) = control.object(key) else { return Next::Wait };
            let set = set.to_value();
            let selector = LabelSelector::from_object(&set["spec"]["selector"]);
            let Some(selector) = selector.filter(|selector| !selector.is_empty()) else {
                return Next::Wait;
            };
            let pods = pods::claim(control, SOURCE, &set, &selector).await;
            let collisions = value::int(&set, "status.collisionCount");
            let hash = hash::template(&set["spec"]["template"], collisions);
            let label = history::HASH_LABEL;
            let Ok(revision) = history::current(control, SOURCE.actor, &set, &hash, label).await
            else {
                return Next::After(RETRY);
            };
            let hash = metadata::entry(&revision, "labels", history::HASH_LABEL)
                .unwrap_or_default()
                .to_owned();
            let look = Look { control, set: &set, hash: &hash };
            let mut failed = false;
            if !metadata::is_terminating(&set) {
                failed = !look.manage(&pods).await;
                look.roll(&pods).await;
            }
            let current = control.controlled("", "pods", &set);
            let status = look.status(&current);
            if !value::same(&status, &set["status"]) {
                let _ = control
                    .update(SOURCE.actor, key, "status", &mut |set| {
                        set["status"] = status.clone();
                    })
                    .await;
            }
            let mut live = vec![hash.as_str()];
            live.extend(current.iter().map(|pod| hash_of(pod)));
            history::truncate(control, SOURCE.actor, &set, &live).await;
            if failed {
                return Next::After(RETRY);
            }
            let least = value::number(&set, "spec.minReadySeconds");
            let next = current
                .iter()
                .filter_map(|pod| pods::until_available(control, pod, least))
                .filter(|left| !left.is_zero())
                .min();
            next.map_or(Next::Wait, Next::After)
        })
    }
}

fn hash_of(pod: &Value) -> &str {
    metadata::entry(pod, "labels", history::HASH_LABEL).unwrap_or_default()
}

/// The node of a daemon pod, also before it is bound.
fn node_of(pod: &Value) -> &str {
    let bound = value::text(pod, "spec.nodeName");
    if !bound.is_empty() {
        return bound;
    }
    let required =
        value::at(pod, "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution");
    value::list(required, "nodeSelectorTerms")
        .iter()
        .flat_map(|term| value::list(term, "matchFields"))
        .find(|field| field["key"] == "metadata.name")
        .and_then(|field| field["values"][0].as_str())
        .unwrap_or_default()
}

/// One pass over a DaemonSet.
struct Look<'a> {
    control: &'a Control,
    set: &'a Value,
    hash: &'a str,
}

impl Look<'_> {
    fn nodes(&self) -> Vec<Object> {
        self.control.objects("", "nodes", None)
    }

    /// The pod of the set for a node.
    fn pod(&self, node: &str) -> Value {
        let mut pod = pods::from_template(self.set, &self.set["spec"]["template"]);
        pod["metadata"]["labels"][history::HASH_LABEL] = self.hash.into();
        let generation = metadata::entry(self.set, "annotations", GENERATION).unwrap_or("1");
        pod["metadata"]["labels"]["pod-template-generation"] = generation.into();
        let mut tolerations = value::list(&pod, "spec.tolerations").to_vec();
        let mut borne: Vec<(&str, &str)> = TOLERATED.to_vec();
        if value::flag(&pod, "spec.hostNetwork") {
            borne.push(("node.kubernetes.io/network-unavailable", "NoSchedule"));
        }
        tolerations.extend(
            borne
                .into_iter()
                .map(|(key, effect)| json!({"key": key, "operator": "Exists", "effect": effect})),
        );
        pod["spec"]["tolerations"] = tolerations.into();
        let here = json!({"key": "metadata.name", "operator": "In", "values": [node]});
        let path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
        let mut terms = value::list(&pod, path).to_vec();
        if terms.is_empty() {
            terms.push(json!({}));
        }
        for term in &mut terms {
            term["matchFields"] = json!([here]);
        }
        value::set(&mut pod, path, terms);
        pod
    }

    /// Whether a daemon pod should run on a node, and whether a running one may continue.
    fn fits(&self, node: &Value) -> (bool, bool) {
        let pod = self.pod(metadata::name(node));
        if !scheduler::node_matches(&pod, node) {
            return (false, false);
        }
        let repels = |effects: &[&str]| {
            value::list(node, "spec.taints").iter().any(|taint| {
                effects.contains(&value::text(taint, "effect"))
                    && !scheduler::tolerates(&pod, taint)
            })
        };
        (!repels(&["NoSchedule", "NoExecute"]), !repels(&["NoExecute"]))
    }

    /// Creates missing daemon pods and deletes superfluous and misplaced ones.
    async fn manage(&self, found: &[Object]) -> bool {
        let mut well = true;
        for node in self.nodes() {
            let name = metadata::name(&node);
            let here: Vec<&Object> = found
                .iter()
                .filter(|pod| node_of(pod) == name && !metadata::is_terminating(pod))
                .collect();
            let leaving =
                found.iter().any(|pod| node_of(pod) == name && metadata::is_terminating(pod));
            let (run, stay) = self.fits(&node);
            if run && here.is_empty() && !leaving {
                let created = pods::create(self.control, SOURCE, self.set, self.pod(name)).await;
                well &= created.is_ok();
            }
            let mut kept = 0;
            for pod in here {
                let failed = pods::phase(pod) == "Failed" || pods::phase(pod) == "Succeeded";
                if !stay || failed || kept > 0 {
                    pods::delete(self.control, SOURCE, self.set, pod).await;
                } else {
                    kept += 1;
                }
            }
        }
        let nodes = self.nodes();
        for pod in found.iter().filter(|pod| !metadata::is_terminating(pod)) {
            if nodes.iter().all(|node| metadata::name(node) != node_of(pod)) {
                pods::delete(self.control, SOURCE, self.set, pod).await;
            }
        }
        well
    }

    /// Replaces daemon pods of an older template, within `maxUnavailable`.
    async fn roll(&self, found: &[Object]) {
        if self.set["spec"]["updateStrategy"]["type"] == "OnDelete" {
            return;
        }
        let least = value::number(self.set, "spec.minReadySeconds");
        let wanted = self.nodes().iter().filter(|node| self.fits(node).0).count();
        let wanted = i64::try_from(wanted).unwrap_or_default();
        let allowed = value::at(self.set, "spec.updateStrategy.rollingUpdate.maxUnavailable");
        let allowed = if allowed.is_null() { 1 } else { share(allowed, wanted, true).max(1) };
        let available = |pod: &Value| {
            pods::is_available(self.control, pod, least) && !metadata::is_terminating(pod)
        };
        let up = found.iter().filter(|pod| available(pod)).count();
        let mut spare = allowed - (wanted - i64::try_from(up).unwrap_or_default());
        let old =
            found.iter().filter(|pod| hash_of(pod) != self.hash && !metadata::is_terminating(pod));
        for pod in old {
            if available(pod) {
                if spare <= 0 {
                    continue;
                }
                spare -= 1;
            }
            pods::delete(self.control, SOURCE, self.set, pod).await;
        }
    }

    fn status(&self, found: &[Object]) -> Value {
        let least = value::number(self.set, "spec.minReadySeconds");
        let (mut desired, mut current, mut ready, mut updated, mut available, mut misplaced) =
            (0_i64, 0_i64, 0_i64, 0_i64, 0_i64, 0_i64);
        for node in self.nodes() {
            let here: Vec<&Object> =
                found.iter().filter(|pod| node_of(pod) == metadata::name(&node)).collect();
            if !self.fits(&node).0 {
                misplaced += i64::from(!here.is_empty());
                continue;
            }
            desired += 1;
            let Some(pod) =
                here.iter().min_by_key(|pod| metadata::text(pod, "creationTimestamp").to_owned())
            else {
                continue;
            };
            current += 1;
            if pods::is_ready(pod) && !metadata::is_terminating(pod) {
                ready += 1;
                available += i64::from(pods::is_available(self.control, pod, least));
            }
            updated += i64::from(hash_of(pod) == self.hash);
        }
        let mut status = json!({
            "currentNumberScheduled": current,
            "desiredNumberScheduled": desired,
            "numberMisscheduled": misplaced,
            "numberReady": ready,
            "observedGeneration": value::number(self.set, "metadata.generation"),
        });
        for (field, number) in [
            ("updatedNumberScheduled", updated),
            ("numberAvailable", available),
            ("numberUnavailable", desired - available),
        ] {
            if number != 0 {
                status[field] = number.into();
            }
        }
        status
    }
}
