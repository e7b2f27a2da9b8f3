//! CronJobs: a Job at each scheduled time of the cluster's clock, in UTC.

use std::time::Duration;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sluice_base::clock::Clock as _;
use sluice_base::time;

use super::control::{Actor, CONTROLLER_MANAGER, Control, Object};
use super::recorder::{EventSource, NewEvent};
use super::{Controller, Key, Next, Reconcile, condition, job, pods};
use crate::kinds::batch::schedule;
use crate::store::{Event, GroupResource};
use crate::write::{DeleteOptions, Propagation};
use crate::{metadata, value};

const SOURCE: EventSource<'static> = EventSource {
    actor: Actor {
        user: "system:serviceaccount:kube-system:cronjob-controller",
        manager: CONTROLLER_MANAGER.manager,
    },
    component: "cronjob-controller",
    host: "",
};
const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";
const RETRY: Duration = Duration::from_secs(5);
const MINUTE: SignedDuration = SignedDuration::from_mins(1);
/// How far ahead the next time is searched: a leap day can be eight years away.
const HORIZON_DAYS: i64 = 366 * 8;

/// The CronJob controller.
pub(super) struct CronJobController;

impl Controller for CronJobController {
    fn wakes(&self, _: &Control, resource: &GroupResource, event: &Event) -> Vec<Key> {
        match (resource.group.as_str(), resource.resource.as_str()) {
            ("batch", "cronjobs") => vec![Key::of(resource, &event.key)],
            ("batch", "jobs") => {
                pods::controller_key(&event.object.value, "batch", "CronJob", "cronjobs")
                    .into_iter()
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    fn reconcile<'a>(&'a self, control: &'a Control, key: &'a Key) -> Reconcile<'a> {
        Box::pin(async move {
            let Some(cron) = control.object(key) else { return Next::Wait };
            if metadata::is_terminating(&cron) {
                return Next::Wait;
            }
            let mut look = Look { control, key, status: cron["status"].clone(), cron };
            look.sync().await
        })
    }
}

struct Look<'a> {
    control: &'a Control,
    key: &'a Key,
    cron: Object,
    status: Value,
}

impl Look<'_> {
    fn jobs(&self) -> Vec<Object> {
        let mut jobs = self.control.controlled("batch", "jobs", &self.cron);
        jobs.sort_by_key(|job| metadata::text(job, "creationTimestamp").to_owned());
        jobs
    }

    async fn sync(&mut self) -> Next {
        if !self.status.is_object() {
            self.status = json!({});
        }
        self.follow_jobs().await;
        self.clean_up().await;
        let next = self.fire().await;
        if !value::same(&self.status, &self.cron["status"]) {
            let status = self.status.clone();
            let _ = self
                .control
                .update(SOURCE.actor, self.key, "status", &mut |cron| {
                    cron["status"] = status.clone();
                })
                .await;
        }
        next
    }

    /// Updates the list of active Jobs.
    async fn follow_jobs(&mut self) {
        let jobs = self.jobs();
        let mut active = value::list(&self.status, "active").to_vec();
        let mut kept = Vec::new();
        for reference in active.drain(..) {
            let found = jobs.iter().find(|job| reference["uid"] == metadata::uid(job));
            match found {
                None => {
                    let message =
                        format!("Active job went missing: {}", value::text(&reference, "name"));
                    self.record(NewEvent::normal("MissingJob", &message)).await;
                }
                Some(job) if job::is_over(job) => {
                    let complete = condition::is_true(&job["status"], "Complete");
                    let end = if complete { "Complete" } else { "Failed" };
                    let name = metadata::name(job);
                    let message = format!("Saw completed job: {name}, condition: {end}");
                    self.record(NewEvent::normal("SawCompletedJob", &message)).await;
                    if complete {
                        let at = value::text(job, "status.completionTime");
                        if at > value::text(&self.status, "lastSuccessfulTime") {
                            self.status["lastSuccessfulTime"] = at.into();
                        }
                    }
                }
                Some(_) => kept.push(reference),
            }
        }
        self.set_active(kept);
    }

    fn set_active(&mut self, active: Vec<Value>) {
        value::remove(&mut self.status, "active");
        if !active.is_empty() {
            self.status["active"] = active.into();
        }
    }

    /// Deletes the oldest finished Jobs beyond the history limits.
    async fn clean_up(&self) {
        let jobs = self.jobs();
        for (end, field, otherwise) in [
            ("Complete", "spec.successfulJobsHistoryLimit", 3),
            ("Failed", "spec.failedJobsHistoryLimit", 1),
        ] {
            let limit = value::int(&self.cron, field).unwrap_or(otherwise);
            let over: Vec<&Object> = jobs
                .iter()
                .filter(|job| condition::is_true(&job["status"], end))
                .filter(|job| !metadata::is_terminating(job))
                .collect();
            let surplus = over.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
            for job in over.into_iter().take(surplus) {
                self.delete(job).await;
            }
        }
    }

    async fn delete(&self, job: &Value) {
        let name = metadata::name(job);
        let key = Key::new("batch", "jobs", &self.key.namespace, name);
        let options = DeleteOptions {
            propagation: Some(Propagation::Background),
            ..DeleteOptions::default()
        };
        if self.control.delete(SOURCE.actor, &key, options, metadata::uid(job)).await.is_ok() {
            let message = format!("Deleted job {name}");
            self.record(NewEvent::normal("SuccessfulDelete", &message)).await;
        }
    }

    /// Creates the Job of the last scheduled time, and returns when the next one is.
    async fn fire(&mut self) -> Next {
        if value::flag(&self.cron, "spec.suspend") {
            return Next::Wait;
        }
        let Some(schedule) = Schedule::parse(value::text(&self.cron, "spec.schedule")) else {
            return Next::Wait;
        };
        let now = self.control.state.clock.now();
        let last = match value::text(&self.status, "lastScheduleTime") {
            "" => metadata::text(&self.cron, "creationTimestamp"),
            last => last,
        };
        let mut from = time::parse(last).unwrap_or(now);
        let deadline = value::int(&self.cron, "spec.startingDeadlineSeconds");
        if let Some(seconds) = deadline
            && let Ok(earliest) = now.checked_sub(SignedDuration::from_secs(seconds))
        {
            from = from.max(earliest);
        }
        let mut due = None;
        let mut next = schedule.after(from);
        while let Some(moment) = next.filter(|moment| *moment <= now) {
            due = Some(moment);
            next = schedule.after(moment);
        }
        let next = next.map_or(Next::Wait, Next::At);
        let Some(due) = due else { return next };
        let policy = value::text(&self.cron, "spec.concurrencyPolicy");
        let active = value::list(&self.status, "active").to_vec();
        if policy == "Forbid" && !active.is_empty() {
            let message = "Not starting job because prior execution is running and concurrency policy is Forbid";
            self.record(NewEvent::normal("JobAlreadyActive", message)).await;
            return next;
        }
        if policy == "Replace" {
            for job in self.jobs() {
                if active.iter().any(|reference| reference["uid"] == metadata::uid(&job)) {
                    self.delete(&job).await;
                }
            }
            self.set_active(Vec::new());
        }
        if self.start(due).await { next } else { Next::After(RETRY) }
    }

    async fn start(&mut self, due: Timestamp) -> bool {
        let template = &self.cron["spec"]["jobTemplate"];
        let minutes = due.as_second() / 60;
        let name = format!("{}-{minutes}", self.key.name);
        let mut job = json!({
            "metadata": {
                "name": name,
                "namespace": self.key.namespace,
                "annotations": template["metadata"]["annotations"].as_object().cloned().unwrap_or_default(),
                "ownerReferences": [pods::controller_reference(&self.cron)],
            },
            "spec": template["spec"],
        });
        job["metadata"]["annotations"][SCHEDULED] = time::format_seconds(due).into();
        if let Some(labels) = template["metadata"].get("labels") {
            job["metadata"]["labels"] = labels.clone();
        }
        let jobs = GroupResource::new("batch", "jobs");
        let made = self.control.create(SOURCE.actor, &jobs, &self.key.namespace, job).await;
        let job = match made {
            Ok(job) => job,
            Err(status) if status.reason == "AlreadyExists" || pods::namespace_ends(&status) => {
                self.status["lastScheduleTime"] = time::format_seconds(due).into();
                return true;
            }
            Err(status) => {
                let message = format!("Error creating job: {status}");
                self.record(NewEvent::warning("FailedCreate", &message)).await;
                return false;
            }
        };
        let message = format!("Created job {name}");
        self.record(NewEvent::normal("SuccessfulCreate", &message)).await;
        let mut active = value::list(&self.status, "active").to_vec();
        active.push(json!({
            "apiVersion": "batch/v1", "kind": "Job", "name": name,
            "namespace": self.key.namespace, "uid": metadata::uid(&job),
            "resourceVersion": metadata::text(&job, "resourceVersion"),
        }));
        self.set_active(active);
        self.status["lastScheduleTime"] = time::format_seconds(due).into();
        true
    }

    async fn record(&self, event: NewEvent<'_>) {
        self.control.record(SOURCE, &self.cron, event).await;
    }
}

/// A schedule: bits of minutes, hours, days, months and weekdays.
struct Schedule {
    bits: [u64; 5],
    /// Whether a day must match by date and by weekday; otherwise one of them is enough.
    both_days: bool,
}

impl Schedule {
    fn parse(text: &str) -> Option<Self> {
        let bits = schedule::parse(text).ok()?;
        let fields: Vec<&str> = text.split_whitespace().collect();
        let open =
            |place: usize| fields.get(place).is_none_or(|field| field.starts_with(['*', '?']));
        Some(Self { bits, both_days: fields.len() != 5 || open(2) || open(4) })
    }

    fn has(&self, field: usize, number: i64) -> bool {
        u32::try_from(number).is_ok_and(|number| self.bits[field] >> number & 1 == 1)
    }

    fn day_fits(&self, moment: &DateTime) -> bool {
        let date = self.has(2, moment.day().into());
        let weekday = self.has(4, moment.weekday().to_sunday_zero_offset().into());
        let day = if self.both_days { date && weekday } else { date || weekday };
        day && self.has(3, moment.month().into())
    }

    /// The first scheduled time after a moment; `None` if there is none within the horizon.
    fn after(&self, moment: Timestamp) -> Option<Timestamp> {
        let minute = Timestamp::from_second(moment.as_second().div_euclid(60) * 60).ok()?;
        let mut at = minute.checked_add(MINUTE).ok()?;
        let end = at.checked_add(SignedDuration::from_hours(24 * HORIZON_DAYS)).ok()?;
        while at < end {
            let civil = TimeZone::UTC.to_datetime(at);
            let step = if !self.day_fits(&civil) {
                let passed = i64::from(civil.hour()) * 60 + i64::from(civil.minute());
                SignedDuration::from_mins(24 * 60 - passed)
            } else if !self.has(1, civil.hour().into()) {
                SignedDuration::from_mins(60 - i64::from(civil.minute()))
            } else if !self.has(0, civil.minute().into()) {
                MINUTE
            } else {
                return Some(at);
            };
            at = at.checked_add(step).ok()?;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_time_is_the_first_that_fits() {
        let cases = [
            ("*/5 * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z"),
            ("30 2 * * *", "2026-01-01T02:30:00Z", "2026-01-02T02:30:00Z"),
            ("0 0 1 * 1", "2026-01-02T00:00:00Z", "2026-01-05T00:00:00Z"),
            ("0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"),
            ("@hourly", "2026-12-31T23:59:59Z", "2027-01-01T00:00:00Z"),
        ];
        for (text, from, expected) in cases {
            let next = Schedule::parse(text).unwrap().after(time::parse(from).unwrap()).unwrap();
            assert_eq!(time::format_seconds(next), expected, "{text}");
        }
        assert!(Schedule::parse("0 0 31 2 *").unwrap().after(Timestamp::UNIX_EPOCH).is_none());
    }
}
