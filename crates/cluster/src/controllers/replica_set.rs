//! ReplicaSets and ReplicationControllers: create and delete pods to match `spec.replicas`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::control::{Actor, CONTROLLER_MANAGER, Control, Object};
use super::pods;
use super::recorder::EventSource;
use super::{Controller, Key, Next, Reconcile, condition};
use crate::selector::LabelSelector;
use crate::status::Status;
use crate::store::{Event, GroupResource};
use crate::{metadata, value};

/// The most pods that one pass creates or deletes.
const BURST: usize = 500;
/// The delay after a failed write.
const RETRY: Duration = Duration::from_secs(5);

/// The controller of one of the two kinds.
pub(super) struct ReplicaController {
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    source: EventSource<'static>,
}

/// ReplicaSets.
pub(super) const REPLICA_SETS: ReplicaController = ReplicaController {
    group: "apps",
    kind: "ReplicaSet",
    plural: "replicasets",
    source: EventSource {
        actor: Actor {
            user: "system:serviceaccount:kube-system:replicaset-controller",
            manager: CONTROLLER_MANAGER.manager,
        },
        component: "replicaset-controller",
        host: "",
    },
};

/// ReplicationControllers.
pub(super) const REPLICATION_CONTROLLERS: ReplicaController = ReplicaController {
    group: "",
    kind: "ReplicationController",
    plural: "replicationcontrollers",
    source: EventSource {
        actor: Actor {
            user: "system:serviceaccount:kube-system:replication-controller",
            manager: CONTROLLER_MANAGER.manager,
        },
        component: "replication-controller",
        host: "",
    },
};

impl Controller for ReplicaController {
    fn wakes(&self, control: &Control, resource: &GroupResource, event: &Event) -> Vec<Key> {
        if resource.group == self.group && resource.resource == self.plural {
            return vec![Key::of(resource, &event.key)];
        }
        if !resource.group.is_empty() || resource.resource != "pods" {
            return Vec::new();
        }
        let pod = &event.object.value;
        let mut out: Vec<Key> = event
            .states()
            .into_iter()
            .filter_map(|pod| pods::controller_key(pod, self.group, self.kind, self.plural))
            .collect();
        if pods::controller_of(pod).is_none() && pods::is_active(pod) {
            out.extend(control.selecting(self.group, self.plural, &[pod], selector));
        }
        out.sort();
        out.dedup();
        out
    }

    fn reconcile<'a>(&'a self, control: &'a Control, key: &'a Key) -> Reconcile<'a> {
        Box::pin(async move {
            let Some(set) = control.object(key) else { return Next::Wait };
            let Some(selector) = selector(&set).filter(|selector| !selector.is_empty()) else {
                return Next::Wait;
            };
            let claimed = pods::claim(control, self.source, &set, &selector).await;
            let (leaving, rest): (Vec<Object>, Vec<Object>) =
                claimed.into_iter().partition(|pod| pods::is_terminating(pod));
            let active: Vec<Object> = rest.into_iter().filter(|pod| pods::is_active(pod)).collect();
            let failure = if metadata::is_terminating(&set) {
                None
            } else {
                self.manage(control, &set, &active).await.err()
            };
            let status = self.status(control, &set, &active, leaving.len(), failure.as_ref());
            if !value::same(&status, &set["status"]) {
                let _ = control
                    .update(self.source.actor, key, "status", &mut |set| {
                        set["status"] = status.clone();
                    })
                    .await;
            }
            if failure.is_some() {
                return Next::After(RETRY);
            }
            let least = value::number(&set, "spec.minReadySeconds");
            let next = active
                .iter()
                .filter_map(|pod| pods::until_available(control, pod, least))
                .filter(|left| !left.is_zero())
                .min();
            next.map_or(Next::Wait, Next::After)
        })
    }
}

/// The selector; a ReplicationController has a plain map.
fn selector(set: &Value) -> Option<LabelSelector> {
    let selector = &set["spec"]["selector"];
    if set["kind"] == "ReplicationController" {
        let labels = if selector.is_null() {
            &set["spec"]["template"]["metadata"]["labels"]
        } else {
            selector
        };
        return LabelSelector::from_object(&json!({"matchLabels": labels}));
    }
    LabelSelector::from_object(selector)
}

impl ReplicaController {
    /// Creates missing pods, or deletes superfluous ones.
    async fn manage(
        &self,
        control: &Control,
        set: &Value,
        active: &[Object],
    ) -> Result<(), Status> {
        let wanted = usize::try_from(value::int(set, "spec.replicas").unwrap_or(1)).unwrap_or(0);
        if active.len() < wanted {
            for _ in 0..(wanted - active.len()).min(BURST) {
                let pod = pods::from_template(set, &set["spec"]["template"]);
                pods::create(control, self.source, set, pod).await?;
            }
        } else if active.len() > wanted {
            let surplus = (active.len() - wanted).min(BURST);
            let mut candidates = active.to_vec();
            if surplus < candidates.len() {
                let related = self.related(control, set);
                pods::sort_for_deletion(&mut candidates, &related);
            }
            for pod in candidates.iter().take(surplus) {
                pods::delete(control, self.source, set, pod).await;
            }
        }
        Ok(())
    }

    /// The pods of all sets that have the same controller as this one.
    fn related(&self, control: &Control, set: &Value) -> Vec<Object> {
        let namespace = metadata::namespace(set);
        let mut sets = vec![set.clone()];
        if let Some(owner) = pods::controller_of(set) {
            let owner = json!({"metadata": {"namespace": namespace, "uid": owner["uid"]}});
            let others = control.controlled(self.group, self.plural, &owner);
            let others = others.iter().filter(|other| metadata::uid(other) != metadata::uid(set));
            sets.extend(others.map(Object::to_value));
        }
        let mut pods: BTreeMap<String, Object> = BTreeMap::new();
        for selector in sets.iter().filter_map(selector) {
            let named = control.selected("", "pods", namespace, &selector);
            pods.extend(named.into_iter().map(|pod| (metadata::name(&pod).to_owned(), pod)));
        }
        pods.into_values().collect()
    }

    fn status(
        &self,
        control: &Control,
        set: &Value,
        active: &[Object],
        leaving: usize,
        failure: Option<&Status>,
    ) -> Value {
        let least = value::number(set, "spec.minReadySeconds");
        let labels = LabelSelector::from_object(
            &json!({"matchLabels": set["spec"]["template"]["metadata"]["labels"]}),
        );
        let count = |test: &dyn Fn(&Value) -> bool| active.iter().filter(|pod| test(pod)).count();
        let labeled = count(&|pod| labels.as_ref().is_some_and(|labels| labels.matches(pod)));
        let mut status = set["status"].clone();
        if !status.is_object() {
            status = json!({});
        }
        status["replicas"] = active.len().into();
        let counts = [
            ("fullyLabeledReplicas", labeled),
            ("readyReplicas", count(&|pod| pods::is_ready(pod))),
            ("availableReplicas", count(&|pod| pods::is_available(control, pod, least))),
        ];
        for (field, number) in counts {
            value::remove(&mut status, field);
            if number > 0 {
                status[field] = number.into();
            }
        }
        if self.kind == "ReplicaSet" {
            status["terminatingReplicas"] = leaving.into();
        }
        status["observedGeneration"] =
            metadata::of(set).get("generation").cloned().unwrap_or(1.into());
        match failure {
            Some(failure) if condition::find(&status, "ReplicaFailure").is_none() => {
                let reason = if active.len()
                    < usize::try_from(value::int(set, "spec.replicas").unwrap_or(1)).unwrap_or(0)
                {
                    "FailedCreate"
                } else {
                    "FailedDelete"
                };
                condition::append(
                    &mut status,
                    json!({
                        "type": "ReplicaFailure", "status": "True", "reason": reason,
                        "message": failure.message, "lastTransitionTime": control.now(),
                    }),
                );
            }
            Some(_) => {}
            None => condition::remove(&mut status, "ReplicaFailure"),
        }
        status
    }
}
