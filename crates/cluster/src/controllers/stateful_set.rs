//! StatefulSets: pods with ordinals, created one after another.

mod pod;

use std::time::Duration;

use serde_json::{Value, json};

use super::control::{Actor, CONTROLLER_MANAGER, Control, Object};
use super::recorder::{EventSource, NewEvent};
use super::{Controller, Key, Next, Reconcile, history, pods};
use crate::selector::LabelSelector;
use crate::store::{Event, GroupResource};
use crate::write::DeleteOptions;
use crate::{metadata, value};

const SOURCE: EventSource<'static> = EventSource {
    actor: Actor {
        user: "system:serviceaccount:kube-system:statefulset-controller",
        manager: CONTROLLER_MANAGER.manager,
    },
    component: "statefulset-controller",
    host: "",
};
const RETRY: Duration = Duration::from_secs(5);

/// The StatefulSet controller.
pub(super) struct StatefulSetController;

impl Controller for StatefulSetController {
    fn wakes(&self, _: &Control, resource: &GroupResource, event: &Event) -> Vec<Key> {
        match (resource.group.as_str(), resource.resource.as_str()) {
            ("apps", "statefulsets") => vec![Key::of(resource, &event.key)],
            ("", "pods") => {
                pods::controller_key(&event.object.value, "apps", "StatefulSet", "statefulsets")
                    .into_iter()
                    .collect()
            }
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
            let mut pods = pods::claim(control, SOURCE, &set, &selector).await;
            pods.retain(|pod| pod::ordinal(&set, pod).is_some());
            let collisions = value::number(&set, "status.collisionCount");
            let hash = history::data_hash(&set["spec"]["template"], collisions);
            let label = "controller.kubernetes.io/hash";
            let Ok(update) = history::current(control, SOURCE.actor, &set, &hash, label).await
            else {
                return Next::After(RETRY);
            };
            let mut sync = Sync::new(control, &set, &update);
            let next =
                if metadata::is_terminating(&set) { Next::Wait } else { sync.arrange(&pods).await };
            let pods = current_pods(control, &set);
            let status = sync.status(&pods);
            if !value::same(&status, &set["status"]) {
                let _ = control
                    .update(SOURCE.actor, key, "status", &mut |set| {
                        set["status"] = status.clone();
                    })
                    .await;
            }
            let live =
                [value::text(&status, "currentRevision"), value::text(&status, "updateRevision")];
            let mut live = live.to_vec();
            live.extend(pods.iter().map(|pod| revision_of(pod)));
            history::truncate(control, SOURCE.actor, &set, &live).await;
            next
        })
    }
}

fn current_pods(control: &Control, set: &Value) -> Vec<Object> {
    let mut pods = control.controlled("", "pods", set);
    pods.retain(|found| pod::ordinal(set, found).is_some());
    pods
}

fn revision_of(pod: &Value) -> &str {
    metadata::entry(pod, "labels", history::HASH_LABEL).unwrap_or_default()
}

/// One pass over a StatefulSet.
struct Sync<'a> {
    control: &'a Control,
    set: &'a Value,
    update: &'a Value,
    /// The name of the revision that pods had before the update.
    current: String,
    least: i64,
}

impl<'a> Sync<'a> {
    fn new(control: &'a Control, set: &'a Value, update: &'a Value) -> Self {
        let current = match value::text(set, "status.currentRevision") {
            "" => metadata::name(update),
            name => name,
        };
        Self {
            control,
            set,
            update,
            current: current.to_owned(),
            least: value::number(set, "spec.minReadySeconds"),
        }
    }

    fn healthy(&self, pod: &Value) -> bool {
        pods::phase(pod) == "Running"
            && pods::is_available(self.control, pod, self.least)
            && !metadata::is_terminating(pod)
    }

    /// When a ready pod will count as available.
    fn wait_for(&self, pod: &Value) -> Next {
        match pods::until_available(self.control, pod, self.least) {
            Some(left) if !left.is_zero() => Next::After(left),
            _ => Next::Wait,
        }
    }

    /// Creates, replaces and deletes pods, one at a time unless the policy is `Parallel`.
    async fn arrange(&mut self, found: &[Object]) -> Next {
        let set = self.set;
        let start = value::number(set, "spec.ordinals.start");
        let wanted = value::int(set, "spec.replicas").unwrap_or(1);
        let ordered = value::text(set, "spec.podManagementPolicy") != "Parallel";
        let ordinal = |pod: &Value| pod::ordinal(set, pod).unwrap_or(-1);
        for place in start..start + wanted {
            let pod = found.iter().find(|pod| ordinal(pod) == place);
            match pod {
                None => {
                    if !self.create(place).await {
                        return Next::After(RETRY);
                    }
                    if ordered {
                        return Next::Wait;
                    }
                }
                Some(pod) if metadata::is_terminating(pod) => {
                    if ordered {
                        return Next::Wait;
                    }
                }
                Some(pod) if pods::is_finished(pod) => {
                    self.delete(pod).await;
                    if ordered {
                        return Next::Wait;
                    }
                }
                Some(pod) if ordered && !self.healthy(pod) => return self.wait_for(pod),
                Some(_) => {}
            }
        }
        let mut condemned: Vec<&Object> = found
            .iter()
            .filter(|pod| ordinal(pod) < start || ordinal(pod) >= start + wanted)
            .collect();
        condemned.sort_by_key(|pod| -ordinal(pod));
        for pod in condemned {
            if metadata::is_terminating(pod) {
                if ordered {
                    return Next::Wait;
                }
                continue;
            }
            self.delete(pod).await;
            if ordered {
                return Next::Wait;
            }
        }
        self.update(found, start, wanted).await
    }

    /// Replaces pods of an older revision, from the highest ordinal down.
    async fn update(&mut self, found: &[Object], start: i64, wanted: i64) -> Next {
        if self.set["spec"]["updateStrategy"]["type"] == "OnDelete" {
            return Next::Wait;
        }
        let partition = value::number(self.set, "spec.updateStrategy.rollingUpdate.partition");
        for place in (start + partition..start + wanted).rev() {
            let pod = found.iter().find(|pod| pod::ordinal(self.set, pod) == Some(place));
            let Some(pod) = pod else { return Next::Wait };
            if metadata::is_terminating(pod) {
                return Next::Wait;
            }
            if revision_of(pod) != metadata::name(self.update) {
                self.delete(pod).await;
                return Next::Wait;
            }
            if !self.healthy(pod) {
                return self.wait_for(pod);
            }
        }
        Next::Wait
    }

    /// The template and the revision of the pod with an ordinal.
    fn template(&self, place: i64) -> (Value, String) {
        let start = value::number(self.set, "spec.ordinals.start");
        let partition = value::number(self.set, "spec.updateStrategy.rollingUpdate.partition");
        let newest = metadata::name(self.update);
        if place < start + partition && self.current != newest {
            let old = history::of(self.control, self.set);
            let old = old.iter().find(|revision| metadata::name(revision) == self.current);
            if let Some(old) = old {
                let mut template = old["data"]["spec"]["template"].clone();
                value::remove(&mut template, "$patch");
                return (template, self.current.clone());
            }
        }
        (self.set["spec"]["template"].clone(), newest.to_owned())
    }

    async fn create(&self, place: i64) -> bool {
        let (template, revision) = self.template(place);
        let pod = pod::new(self.set, &template, &revision, place);
        let (name, set) = (metadata::name(&pod).to_owned(), metadata::name(self.set));
        for claim in pod::claims(self.set, place) {
            if !self.make_claim(claim, &name).await {
                return false;
            }
        }
        let resource = GroupResource::new("", "pods");
        let namespace = metadata::namespace(self.set);
        match self.control.create(SOURCE.actor, &resource, namespace, pod).await {
            Ok(_) => {
                let message = format!("Create Pod {name} in StatefulSet {set} successful");
                self.record(NewEvent::normal("SuccessfulCreate", &message)).await;
                true
            }
            Err(status) if status.reason == "AlreadyExists" || pods::namespace_ends(&status) => {
                true
            }
            Err(status) => {
                let message =
                    format!("Create Pod {name} in StatefulSet {set} failed error: {status}");
                self.record(NewEvent::warning("FailedCreate", &message)).await;
                false
            }
        }
    }

    async fn make_claim(&self, claim: Value, pod: &str) -> bool {
        let name = metadata::name(&claim).to_owned();
        let namespace = metadata::namespace(self.set);
        let resource = GroupResource::new("", "persistentvolumeclaims");
        if self
            .control
            .object(&Key {
                resource: resource.clone(),
                namespace: namespace.to_owned(),
                name: name.clone(),
            })
            .is_some()
        {
            return true;
        }
        let set = metadata::name(self.set);
        match self.control.create(SOURCE.actor, &resource, namespace, claim).await {
            Ok(_) => {
                let message = format!("Create Claim {name} Pod {pod} in StatefulSet {set} success");
                self.record(NewEvent::normal("SuccessfulCreate", &message)).await;
                true
            }
            Err(status) => {
                let message = format!(
                    "Create Claim {name} for Pod {pod} in StatefulSet {set} failed error: {status}"
                );
                self.record(NewEvent::warning("FailedCreate", &message)).await;
                false
            }
        }
    }

    async fn delete(&self, pod: &Value) {
        let (name, set) = (metadata::name(pod), metadata::name(self.set));
        let options = DeleteOptions::default();
        if self
            .control
            .delete(SOURCE.actor, &pods::key(pod), options, metadata::uid(pod))
            .await
            .is_ok()
        {
            let message = format!("Delete Pod {name} in StatefulSet {set} successful");
            self.record(NewEvent::normal("SuccessfulDelete", &message)).await;
        }
    }

    async fn record(&self, event: NewEvent<'_>) {
        self.control.record(SOURCE, self.set, event).await;
    }

    fn status(&self, found: &[Object]) -> Value {
        let count = |test: &dyn Fn(&Value) -> bool| {
            i64::try_from(found.iter().filter(|pod| test(pod)).count()).unwrap_or_default()
        };
        let alive = |pod: &Value| !metadata::is_terminating(pod);
        let newest = metadata::name(self.update);
        let running = |pod: &Value| pods::phase(pod) == "Running" && pods::is_ready(pod);
        let replicas = count(&|_| true);
        let ready = count(&running);
        let updated = count(&|pod| alive(pod) && revision_of(pod) == newest);
        let mut current = count(&|pod| alive(pod) && revision_of(pod) == self.current);
        let mut current_revision = self.current.clone();
        let rolling = self.set["spec"]["updateStrategy"]["type"] != "OnDelete";
        if rolling && updated == replicas && ready == replicas {
            current = updated;
            newest.clone_into(&mut current_revision);
        }
        let mut status = json!({
            "observedGeneration": value::number(self.set, "metadata.generation"),
            "replicas": replicas,
            "availableReplicas": count(&|pod| running(pod) && pods::is_available(self.control, pod, self.least)),
            "currentRevision": current_revision,
            "updateRevision": newest,
            "collisionCount": value::number(self.set, "status.collisionCount"),
        });
        for (field, number) in
            [("readyReplicas", ready), ("currentReplicas", current), ("updatedReplicas", updated)]
        {
            if number > 0 {
                status[field] = number.into();
            }
        }
        status
    }
}
