//! Jobs: pods that run to completion.

mod finish;
mod indexes;

use std::time::Duration;

use serde_json::{Value, json};

use self::indexes::Indexes;
use super::control::{Actor, CONTROLLER_MANAGER, Control, Object};
use super::recorder::{EventSource, NewEvent};
use super::{Controller, Key, Next, Reconcile, condition, pods};
use crate::selector::LabelSelector;
use crate::store::{Event, GroupResource};
use crate::write::{DeleteOptions, Propagation};
use crate::{metadata, value};

const SOURCE: EventSource<'static> = EventSource {
    actor: Actor {
        user: "system:serviceaccount:kube-system:job-controller",
        manager: CONTROLLER_MANAGER.manager,
    },
    component: "job-controller",
    host: "",
};
const FINALIZER: &str = "batch.kubernetes.io/job-tracking";
const INDEX: &str = "batch.kubernetes.io/job-completion-index";
const RETRY: Duration = Duration::from_secs(5);
/// The first and the longest back-off after a failed pod, in seconds.
const BACK_OFF: (u64, u64) = (10, 600);

/// The Job controller, with the TTL controller for finished Jobs.
pub(super) struct JobController;

impl Controller for JobController {
    fn wakes(&self, _: &Control, resource: &GroupResource, event: &Event) -> Vec<Key> {
        match (resource.group.as_str(), resource.resource.as_str()) {
            ("batch", "jobs") => vec![Key::of(resource, &event.key)],
            ("", "pods") => pods::controller_key(&event.object.value, "batch", "Job", "jobs")
                .into_iter()
                .collect(),
            _ => Vec::new(),
        }
    }

    fn reconcile<'a>(&'a self, control: &'a Control, key: &'a Key) -> Reconcile<'a> {
        Box::pin(async move {
            let Some(job) = control.object(key) else { return Next::Wait };
            let mut look = Look { control, key, job: job.to_value() };
            if is_over(&look.job) {
                look.release_pods().await;
                return look.expire().await;
            }
            let manager = value::text(&look.job, "spec.managedBy");
            if !manager.is_empty() && manager != "kubernetes.io/job-controller" {
                return Next::Wait;
            }
            look.sync().await
        })
    }
}

/// Whether the Job has succeeded or failed for good.
pub(super) fn is_over(job: &Value) -> bool {
    condition::is_true(&job["status"], "Complete") || condition::is_true(&job["status"], "Failed")
}

struct Look<'a> {
    control: &'a Control,
    key: &'a Key,
    job: Value,
}

/// A Job's pods, by state.
struct Pods {
    active: Vec<Object>,
    ready: usize,
    leaving: usize,
    /// Finished and not counted yet.
    succeeded: Vec<Object>,
    failed: Vec<Object>,
}

impl Look<'_> {
    async fn pods(&self) -> Vec<Object> {
        match LabelSelector::from_object(&self.job["spec"]["selector"]) {
            Some(selector) => pods::claim(self.control, SOURCE, &self.job, &selector).await,
            None => Vec::new(),
        }
    }

    async fn sync(&mut self) -> Next {
        let found = self.pods().await;
        let pods = sort(found);
        let old = self.job["status"].clone();
        let mut status = old.clone();
        let suspended = value::flag(&self.job, "spec.suspend");
        if value::text(&status, "startTime").is_empty() && !suspended {
            status["startTime"] = self.control.now().into();
        }
        let mut indexes = Indexes::of(&self.job);
        indexes.take(&pods.succeeded);
        add(&mut status, "failed", pods.failed.len());
        if indexes.is_used() {
            indexes.write(&mut status);
        } else {
            add(&mut status, "succeeded", pods.succeeded.len());
        }
        let (verdict, check) = self.verdict(&status, &pods, &indexes);
        let mut active = pods.active.len();
        let mut leaving = pods.leaving;
        let mut next = check.map_or(Next::Wait, Next::After);
        let ended = verdict.is_some();
        if ended || suspended {
            for pod in &pods.active {
                pods::delete(self.control, SOURCE, &self.job, pod).await;
            }
            leaving += active;
            active = 0;
        } else if !metadata::is_terminating(&self.job) {
            let (made, removed, wait) = self.manage(&status, &pods, &indexes).await;
            active = active + made - removed;
            leaving += removed;
            if let Some(wait) = wait {
                next = match next {
                    Next::After(check) => Next::After(check.min(wait)),
                    _ => Next::After(wait),
                };
            }
        }
        self.judge_suspension(&mut status, suspended).await;
        set(&mut status, "active", active);
        status["ready"] = if ended || suspended { 0 } else { pods.ready }.into();
        status["terminating"] = leaving.into();
        status["uncountedTerminatedPods"] = json!({});
        let finished = match &verdict {
            Some(verdict) => self.conclude(&mut status, verdict, leaving),
            None => false,
        };
        if !value::same(&status, &old) {
            let written = self
                .control
                .update(SOURCE.actor, self.key, "status", &mut |job| {
                    job["status"] = status.clone();
                })
                .await;
            if written.is_err() {
                return Next::After(RETRY);
            }
        }
        for pod in pods.succeeded.iter().chain(&pods.failed) {
            self.release(pod).await;
        }
        if let (true, Some(verdict)) = (finished, &verdict) {
            self.record_end(verdict).await;
        }
        next
    }

    /// Sets the condition `Suspended` and records an event when it changes.
    async fn judge_suspension(&self, status: &mut Value, suspended: bool) {
        let now = self.control.now();
        let was = condition::is_true(status, "Suspended");
        if suspended && !was {
            value::remove(status, "startTime");
            let reason = "JobSuspended";
            finish::set(status, "Suspended", "True", reason, "Job suspended", &now);
            let event = NewEvent::normal("Suspended", "Job suspended");
            self.control.record(SOURCE, &self.job, event).await;
        } else if !suspended && was {
            status["startTime"] = now.as_str().into();
            let reason = "JobResumed";
            finish::set(status, "Suspended", "False", reason, "Job resumed", &now);
            let event = NewEvent::normal("Resumed", "Job resumed");
            self.control.record(SOURCE, &self.job, event).await;
        }
    }

    /// Creates missing pods and deletes superfluous ones. Returns the number of each, and when to
    /// reconcile again.
    async fn manage(
        &self,
        status: &Value,
        pods: &Pods,
        indexes: &Indexes,
    ) -> (usize, usize, Option<Duration>) {
        let active = pods.active.len();
        let parallelism = value::int(&self.job, "spec.parallelism").unwrap_or(1);
        let parallelism = usize::try_from(parallelism).unwrap_or(0);
        let succeeded = usize::try_from(value::number(status, "succeeded")).unwrap_or(0);
        let wanted = match value::int(&self.job, "spec.completions") {
            Some(completions) => {
                let left = usize::try_from(completions).unwrap_or(0).saturating_sub(succeeded);
                left.min(parallelism)
            }
            // A work queue gets no new pods after the first success.
            None if succeeded > 0 => active,
            None => parallelism,
        };
        if active > wanted {
            let mut surplus = pods.active.clone();
            pods::sort_for_deletion(&mut surplus, &[]);
            for pod in surplus.iter().take(active - wanted) {
                pods::delete(self.control, SOURCE, &self.job, pod).await;
            }
            return (0, active - wanted, None);
        }
        if active == wanted {
            return (0, 0, None);
        }
        if let Some(wait) = self.back_off(status, pods) {
            return (0, 0, Some(wait));
        }
        let mut made = 0;
        let places = indexes.free(&pods.active, wanted - active);
        for place in 0..wanted - active {
            let pod = self.pod(places.get(place).copied());
            if pods::create(self.control, SOURCE, &self.job, pod).await.is_err() {
                return (made, 0, Some(RETRY));
            }
            made += 1;
        }
        (made, 0, None)
    }

    /// The back-off after the last failure.
    fn back_off(&self, status: &Value, pods: &Pods) -> Option<Duration> {
        let failures = u32::try_from(value::number(status, "failed")).unwrap_or(0);
        if failures == 0 {
            return None;
        }
        let all = self.control.controlled("", "pods", &self.job);
        let last = all
            .iter()
            .filter(|pod| pods::phase(pod) == "Failed")
            .chain(&pods.failed)
            .filter_map(|pod| finished_at(pod))
            .max()?;
        let (least, most) = BACK_OFF;
        let wait = least.saturating_mul(1 << (failures - 1).min(20)).min(most);
        self.control.left(last, Duration::from_secs(wait))
    }

    fn pod(&self, index: Option<i64>) -> Value {
        let mut pod = pods::from_template(&self.job, &self.job["spec"]["template"]);
        pod["metadata"]["finalizers"] = json!([FINALIZER]);
        if let Some(index) = index {
            let name = metadata::name(&self.job);
            metadata::set(&mut pod, "generateName", format!("{name}-{index}-"));
            indexes::mark(&mut pod, INDEX, index);
            if value::text(&pod, "spec.hostname").is_empty() {
                pod["spec"]["hostname"] = format!("{name}-{index}").into();
            }
        }
        pod
    }

    /// Removes the tracking finalizer of a counted pod.
    async fn release(&self, pod: &Value) {
        if metadata::finalizers(pod).all(|name| name != FINALIZER) {
            return;
        }
        let _ = self
            .control
            .update(SOURCE.actor, &pods::key(pod), "", &mut |pod| {
                let kept: Vec<String> = metadata::finalizers(pod)
                    .filter(|name| *name != FINALIZER)
                    .map(str::to_owned)
                    .collect();
                let kept = if kept.is_empty() { Value::Null } else { json!(kept) };
                metadata::set(pod, "finalizers", kept);
            })
            .await;
    }

    async fn release_pods(&self) {
        for pod in self.pods().await {
            self.release(&pod).await;
        }
    }

    /// Deletes a finished Job when its TTL is over.
    async fn expire(&self) -> Next {
        let Some(seconds) = value::int(&self.job, "spec.ttlSecondsAfterFinished") else {
            return Next::Wait;
        };
        let since = ["Complete", "Failed"]
            .into_iter()
            .find_map(|kind| condition::find(&self.job["status"], kind))
            .map_or("", |condition| value::text(condition, "lastTransitionTime"));
        let wait = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
        if let Some(left) = self.control.left(since, wait) {
            return Next::After(left);
        }
        if !metadata::is_terminating(&self.job) {
            let options = DeleteOptions {
                propagation: Some(Propagation::Foreground),
                ..DeleteOptions::default()
            };
            let uid = metadata::uid(&self.job);
            let _ = self.control.delete(SOURCE.actor, self.key, options, uid).await;
        }
        Next::Wait
    }
}

fn sort(found: Vec<Object>) -> Pods {
    let mut out = Pods {
        active: Vec::new(),
        ready: 0,
        leaving: 0,
        succeeded: Vec::new(),
        failed: Vec::new(),
    };
    for pod in found {
        let tracked = metadata::finalizers(&pod).any(|name| name == FINALIZER);
        match pods::phase(&pod) {
            "Succeeded" if tracked => out.succeeded.push(pod),
            "Failed" if tracked => out.failed.push(pod),
            "Succeeded" | "Failed" => {}
            // A pod that is deleted while it runs counts as failed once it has terminated; one without a
            // node at once.
            _ if metadata::is_terminating(&pod) => {
                if tracked && value::text(&pod, "spec.nodeName").is_empty() {
                    out.failed.push(pod);
                } else {
                    out.leaving += 1;
                }
            }
            _ => {
                out.ready += usize::from(pods::is_ready(&pod));
                out.active.push(pod);
            }
        }
    }
    out
}

fn finished_at(pod: &Value) -> Option<&str> {
    value::list(pod, "status.containerStatuses")
        .iter()
        .map(|status| value::text(status, "state.terminated.finishedAt"))
        .max()
        .filter(|text| !text.is_empty())
}

/// Adds to a count; zero stays absent.
fn add(status: &mut Value, field: &str, more: usize) {
    let sum = value::number(status, field) + i64::try_from(more).unwrap_or_default();
    set(status, field, usize::try_from(sum).unwrap_or_default());
}

fn set(status: &mut Value, field: &str, count: usize) {
    value::remove(status, field);
    if count > 0 {
        value::set(status, field, count);
    }
}
