//! Deployments: a ReplicaSet per template, and rollouts from one to the next.

mod recreate;
mod revision;
mod rolling;
mod scaling;
mod status;

use std::time::Duration;

use serde_json::Value;

use super::control::{Actor, CONTROLLER_MANAGER, Control};
use super::pods;
use super::recorder::{EventSource, NewEvent};
use super::{Controller, Key, Next, Reconcile, condition};
use crate::selector::LabelSelector;
use crate::status::Status;
use crate::store::{Event, GroupResource};
use crate::{metadata, value};

const SOURCE: EventSource<'static> = EventSource {
    actor: Actor {
        user: "system:serviceaccount:kube-system:deployment-controller",
        manager: CONTROLLER_MANAGER.manager,
    },
    component: "deployment-controller",
    host: "",
};
/// The delay after a failed write.
const RETRY: Duration = Duration::from_secs(1);
/// No deadline, or no history limit: the largest 32-bit number.
const UNLIMITED: i64 = i32::MAX as i64;

/// The deployment controller.
pub(super) struct DeploymentController;

impl Controller for DeploymentController {
    fn wakes(&self, control: &Control, resource: &GroupResource, event: &Event) -> Vec<Key> {
        let object = &event.object.value;
        match (resource.group.as_str(), resource.resource.as_str()) {
            ("apps", "deployments") => vec![Key::of(resource, &event.key)],
            ("apps", "replicasets") => {
                let mut out: Vec<Key> =
                    event.states().into_iter().filter_map(key_of_owner).collect();
                if pods::controller_of(object).is_none() {
                    out.extend(selecting(control, object));
                }
                out.sort();
                out.dedup();
                out
            }
            // Recreate waits for the last old pod.
            ("", "pods") if event.change == crate::store::Change::Deleted => {
                pods::controller_key(object, "apps", "ReplicaSet", "replicasets")
                    .and_then(|set| control.object(&set))
                    .and_then(|set| key_of_owner(&set))
                    .into_iter()
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    fn reconcile<'a>(&'a self, control: &'a Control, key: &'a Key) -> Reconcile<'a> {
        Box::pin(async move {
            let Some(deployment) = control.object(key) else { return Next::Wait };
            match sync(control, key, deployment.to_value()).await {
                Ok(next) => next,
                Err(status) => {
                    tracing::debug!(%status, deployment = %key.name, "not synced");
                    Next::After(RETRY)
                }
            }
        })
    }
}

fn key_of_owner(set: &Value) -> Option<Key> {
    pods::controller_key(set, "apps", "Deployment", "deployments")
}

/// The Deployments with a selector that matches a ReplicaSet.
fn selecting(control: &Control, set: &Value) -> Vec<Key> {
    control.selecting("apps", "deployments", &[set], |deployment| {
        LabelSelector::from_object(&deployment["spec"]["selector"])
            .filter(|selector| !selector.is_empty())
    })
}

/// One pass over a Deployment. The copy of it is kept up to date with what the pass writes.
struct Pass<'a> {
    control: &'a Control,
    key: &'a Key,
    deployment: Value,
}

/// A Deployment's ReplicaSets: that of the current template, if there is one, and the others from
/// the oldest to the youngest.
struct Sets {
    new: Option<Value>,
    old: Vec<Value>,
}

impl Sets {
    fn all(&self) -> impl Iterator<Item = &Value> {
        self.old.iter().chain(self.new.as_ref())
    }
}

async fn sync(control: &Control, key: &Key, deployment: Value) -> Result<Next, Status> {
    let mut pass = Pass { control, key, deployment };
    let selector = LabelSelector::from_object(&pass.deployment["spec"]["selector"]);
    let Some(selector) = selector.filter(|selector| !selector.is_empty()) else {
        let message = "This deployment is selecting all pods. A non-empty selector is required.";
        control.record(SOURCE, &pass.deployment, NewEvent::warning("SelectingAll", message)).await;
        return Ok(Next::Wait);
    };
    let sets = pass.owned(&selector).await;
    if metadata::is_terminating(&pass.deployment) {
        let sets = pass.sync_revision(sets, false).await?;
        pass.sync_status(&sets).await?;
        return Ok(Next::Wait);
    }
    pass.check_paused().await?;
    if value::flag(&pass.deployment, "spec.paused") || pass.is_scaling(&sets) {
        return pass.scale(sets).await;
    }
    if pass.is_rolling() { pass.roll(sets).await } else { pass.recreate(sets).await }
}

impl Pass<'_> {
    /// The ReplicaSets of the Deployment, from the oldest to the youngest.
    async fn owned(&self, selector: &LabelSelector) -> Vec<Value> {
        let deployment = &self.deployment;
        let mut out = Vec::new();
        for set in self.control.claimable("apps", "replicasets", deployment, selector) {
            if pods::is_controlled_by(&set, deployment) {
                out.push(set.to_value());
            } else if pods::controller_of(&set).is_none()
                && selector.matches(&set)
                && !metadata::is_terminating(deployment)
                && !metadata::is_terminating(&set)
            {
                let key = key_of_set(&set);
                if pods::adopt(self.control, SOURCE, &key, deployment).await
                    && let Some(adopted) = self.control.object(&key)
                {
                    out.push(adopted.to_value());
                }
            }
        }
        sort_by_age(&mut out);
        out
    }

    fn replicas(&self) -> i64 {
        value::int(&self.deployment, "spec.replicas").unwrap_or(1)
    }

    fn is_rolling(&self) -> bool {
        value::text(&self.deployment, "spec.strategy.type") != "Recreate"
    }

    fn has_deadline(&self) -> bool {
        value::int(&self.deployment, "spec.progressDeadlineSeconds")
            .is_some_and(|seconds| seconds != UNLIMITED)
    }

    /// `maxSurge` and `maxUnavailable` as numbers of pods.
    fn fenceposts(&self) -> (i64, i64) {
        let update = value::at(&self.deployment, "spec.strategy.rollingUpdate");
        let surge = share(&update["maxSurge"], self.replicas(), true);
        let unavailable = share(&update["maxUnavailable"], self.replicas(), false);
        if surge == 0 && unavailable == 0 { (0, 1) } else { (surge, unavailable) }
    }

    fn max_surge(&self) -> i64 {
        if self.is_rolling() { self.fenceposts().0 } else { 0 }
    }

    fn max_unavailable(&self) -> i64 {
        if !self.is_rolling() || self.replicas() == 0 {
            return 0;
        }
        self.fenceposts().1.min(self.replicas())
    }

    /// Writes status and annotations of the copy.
    async fn write_status(&mut self) -> Result<(), Status> {
        let wanted = self.deployment["status"].clone();
        let annotations = self.deployment["metadata"]["annotations"].clone();
        let written = self
            .control
            .update(SOURCE.actor, self.key, "status", &mut |deployment| {
                deployment["status"] = wanted.clone();
                metadata::set(deployment, "annotations", annotations.clone());
            })
            .await?;
        self.deployment = written.as_ref().clone();
        Ok(())
    }

    /// Sets the `Progressing` condition when the Deployment is paused or resumed, so that a pause does
    /// not count against the progress deadline.
    async fn check_paused(&mut self) -> Result<(), Status> {
        if !self.has_deadline() {
            return Ok(());
        }
        let reason = condition::find(&self.deployment["status"], "Progressing")
            .map_or("", |condition| value::text(condition, "reason"));
        if reason == "ProgressDeadlineExceeded" {
            return Ok(());
        }
        let was_paused = reason == "DeploymentPaused";
        let paused = value::flag(&self.deployment, "spec.paused");
        if paused == was_paused {
            return Ok(());
        }
        let (reason, message) = if paused {
            ("DeploymentPaused", "Deployment is paused")
        } else {
            ("DeploymentResumed", "Deployment is resumed")
        };
        let now = self.control.now();
        let status = &mut self.deployment["status"];
        condition::set_progress(status, "Progressing", "Unknown", reason, message, &now);
        self.write_status().await
    }
}

fn key_of_set(set: &Value) -> Key {
    Key::new("apps", "replicasets", metadata::namespace(set), metadata::name(set))
}

/// From the oldest to the youngest; by name within a second.
fn sort_by_age(sets: &mut [Value]) {
    sets.sort_by(|left, right| {
        let made = |set| metadata::text(set, "creationTimestamp");
        made(left).cmp(made(right)).then_with(|| metadata::name(left).cmp(metadata::name(right)))
    });
}

fn replicas_of(set: &Value) -> i64 {
    value::int(set, "spec.replicas").unwrap_or(1)
}

fn available_of(set: &Value) -> i64 {
    value::number(set, "status.availableReplicas")
}

/// A number of pods, or a percentage of `total`.
pub(super) fn share(wanted: &Value, total: i64, round_up: bool) -> i64 {
    match wanted {
        Value::String(text) => {
            let percent: i64 = text.trim_end_matches('%').parse().unwrap_or(0);
            let product = percent.saturating_mul(total);
            if round_up { product.saturating_add(99) / 100 } else { product / 100 }
        }
        other => other.as_i64().unwrap_or(0),
    }
}
