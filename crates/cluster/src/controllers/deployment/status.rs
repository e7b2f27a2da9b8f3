//! The status of a Deployment: counts, availability, progress.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Next, Pass, Sets, available_of, replicas_of};
use crate::controllers::condition;
use crate::status::Status;
use crate::{metadata, value};

/// The delay of the deadline check, because times in a status have no fractions.
const SLACK: Duration = Duration::from_secs(1);

impl Pass<'_> {
    /// Whether everything is updated and available.
    pub(super) fn is_complete(&self, status: &Value) -> bool {
        let wanted = self.replicas();
        value::number(status, "updatedReplicas") == wanted
            && value::number(status, "replicas") == wanted
            && value::number(status, "availableReplicas") == wanted
            && value::number(status, "observedGeneration")
                >= value::number(&self.deployment, "metadata.generation")
    }

    fn calculate(&self, sets: &Sets) -> Value {
        let sum = |field: &str| sets.all().map(|set| value::number(set, field)).sum::<i64>();
        let available: i64 = sets.all().map(available_of).sum();
        let unavailable = (sets.all().map(replicas_of).sum::<i64>() - available).max(0);
        let updated = sets.new.as_ref().map_or(0, |new| value::number(new, "status.replicas"));
        let old = &self.deployment["status"];
        let mut status = json!({
            "observedGeneration": value::number(&self.deployment, "metadata.generation"),
        });
        let counts = [
            ("replicas", sum("status.replicas")),
            ("updatedReplicas", updated),
            ("readyReplicas", sum("status.readyReplicas")),
            ("availableReplicas", available),
            ("unavailableReplicas", unavailable),
        ];
        for (field, count) in counts {
            if count != 0 {
                status[field] = count.into();
            }
        }
        status["terminatingReplicas"] = sum("status.terminatingReplicas").into();
        for field in ["collisionCount", "conditions"] {
            if let Some(found) = old.get(field) {
                status[field] = found.clone();
            }
        }
        let (state, reason, message) = if available >= self.replicas() - self.max_unavailable() {
            ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
        } else {
            (
                "False",
                "MinimumReplicasUnavailable",
                "Deployment does not have minimum availability.",
            )
        };
        let now = self.control.now();
        condition::set_progress(&mut status, "Available", state, reason, message, &now);
        status
    }

    /// Updates the counts only, when there is no rollout.
    pub(super) async fn sync_status(&mut self, sets: &Sets) -> Result<(), Status> {
        let status = self.calculate(sets);
        if value::same(&status, &self.deployment["status"]) {
            return Ok(());
        }
        self.deployment["status"] = status;
        self.write_status().await
    }

    /// Updates counts and progress.
    pub(super) async fn sync_rollout_status(&mut self, sets: &Sets) -> Result<Next, Status> {
        let mut status = self.calculate(sets);
        if !self.has_deadline() {
            condition::remove(&mut status, "Progressing");
        }
        let old = self.deployment["status"].clone();
        let current = condition::find(&old, "Progressing");
        let was_complete = value::number(&status, "replicas")
            == value::number(&status, "updatedReplicas")
            && current.is_some_and(|current| current["reason"] == "NewReplicaSetAvailable");
        if self.has_deadline() && !was_complete {
            self.judge_progress(sets, &old, &mut status);
        }
        match replica_failure(sets) {
            Some(failure) => {
                let now = self.control.now();
                let text = |field| value::text(failure, field);
                condition::set_progress(
                    &mut status,
                    "ReplicaFailure",
                    text("status"),
                    text("reason"),
                    text("message"),
                    &now,
                );
            }
            None => condition::remove(&mut status, "ReplicaFailure"),
        }
        if !value::same(&status, &old) {
            self.deployment["status"] = status;
            self.write_status().await?;
        }
        Ok(self.next_check())
    }

    fn judge_progress(&self, sets: &Sets, old: &Value, status: &mut Value) {
        let subject = match &sets.new {
            Some(new) => format!("ReplicaSet \"{}\"", metadata::name(new)),
            None => format!("Deployment \"{}\"", self.key.name),
        };
        let now = self.control.now();
        if self.is_complete(status) {
            let message = format!("{subject} has successfully progressed.");
            let reason = "NewReplicaSetAvailable";
            condition::set_progress(status, "Progressing", "True", reason, &message, &now);
        } else if progressed(old, status) {
            let since = condition::find(status, "Progressing")
                .filter(|current| current["status"] == "True")
                .map_or(now.as_str(), |current| value::text(current, "lastTransitionTime"))
                .to_owned();
            let condition = json!({
                "type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated",
                "message": format!("{subject} is progressing."),
                "lastUpdateTime": now, "lastTransitionTime": since,
            });
            condition::append(status, condition);
        } else if self.timed_out(status) {
            let message = format!("{subject} has timed out progressing.");
            let reason = "ProgressDeadlineExceeded";
            condition::set_progress(status, "Progressing", "False", reason, &message, &now);
        }
    }

    fn deadline(&self) -> Duration {
        let seconds = value::number(&self.deployment, "spec.progressDeadlineSeconds");
        Duration::from_secs(u64::try_from(seconds).unwrap_or_default())
    }

    fn timed_out(&self, status: &Value) -> bool {
        let Some(current) = condition::find(status, "Progressing") else { return false };
        match value::text(current, "reason") {
            "NewReplicaSetAvailable" => false,
            "ProgressDeadlineExceeded" => true,
            _ => self.control.since(value::text(current, "lastUpdateTime")) > self.deadline(),
        }
    }

    /// When to check the progress deadline, if there is one.
    fn next_check(&self) -> Next {
        let status = &self.deployment["status"];
        let Some(current) = condition::find(status, "Progressing") else { return Next::Wait };
        if !self.has_deadline()
            || self.is_complete(status)
            || current["reason"] == "ProgressDeadlineExceeded"
        {
            return Next::Wait;
        }
        let left = self.control.left(value::text(current, "lastUpdateTime"), self.deadline());
        Next::After(left.unwrap_or_default() + SLACK)
    }
}

/// Whether there are more updated, ready or available replicas than before, or fewer old ones.
fn progressed(old: &Value, new: &Value) -> bool {
    let grew = |field| value::number(new, field) > value::number(old, field);
    let outdated =
        |status| value::number(status, "replicas") - value::number(status, "updatedReplicas");
    grew("updatedReplicas")
        || outdated(new) < outdated(old)
        || grew("readyReplicas")
        || grew("availableReplicas")
}

/// Why pods could not be created; the current ReplicaSet's condition comes first.
fn replica_failure(sets: &Sets) -> Option<&Value> {
    sets.new
        .iter()
        .chain(&sets.old)
        .find_map(|set| condition::find(&set["status"], "ReplicaFailure"))
}
