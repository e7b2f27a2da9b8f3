//! The end of a Job: conditions `Complete` and `Failed`.

use std::time::Duration;

use serde_json::{Value, json};

use super::indexes::Indexes;
use super::{Look, Pods, SOURCE};
use crate::controllers::recorder::NewEvent;
use crate::controllers::{condition, pods};
use crate::value;

/// The result of a Job.
pub(super) struct Verdict {
    succeeds: bool,
    reason: &'static str,
    message: &'static str,
}

const REACHED: Verdict = Verdict {
    succeeds: true,
    reason: "CompletionsReached",
    message: "Reached expected number of succeeded pods",
};
const TOO_MANY_FAILURES: Verdict = Verdict {
    succeeds: false,
    reason: "BackoffLimitExceeded",
    message: "Job has reached the specified backoff limit",
};
const TOO_LATE: Verdict = Verdict {
    succeeds: false,
    reason: "DeadlineExceeded",
    message: "Job was active longer than specified deadline",
};

impl Look<'_> {
    /// The result of a finished Job; otherwise when its deadline is.
    pub(super) fn verdict(
        &self,
        status: &Value,
        pods: &Pods,
        indexes: &Indexes,
    ) -> (Option<Verdict>, Option<Duration>) {
        if condition::is_true(status, "SuccessCriteriaMet") {
            return (Some(REACHED), None);
        }
        if let Some(target) = condition::find(status, "FailureTarget") {
            let late = target["reason"] == TOO_LATE.reason;
            return (Some(if late { TOO_LATE } else { TOO_MANY_FAILURES }), None);
        }
        let limit = value::int(&self.job, "spec.backoffLimit").unwrap_or(6);
        let restarts: i64 =
            if value::text(&self.job, "spec.template.spec.restartPolicy") == "OnFailure" {
                pods.active.iter().map(|pod| pods::restarts(pod)).sum()
            } else {
                0
            };
        let failed = value::number(status, "failed");
        if failed > limit || (restarts > 0 && restarts >= limit.max(1)) {
            return (Some(TOO_MANY_FAILURES), None);
        }
        let mut check = None;
        let start = value::text(status, "startTime");
        if let Some(seconds) = value::int(&self.job, "spec.activeDeadlineSeconds")
            && !start.is_empty()
        {
            let wait = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
            check = self.control.left(start, wait);
            if check.is_none() {
                return (Some(TOO_LATE), None);
            }
        }
        let succeeded = value::number(status, "succeeded");
        let reached = match value::int(&self.job, "spec.completions") {
            Some(_) if indexes.is_used() => indexes.is_full(),
            Some(completions) => succeeded >= completions,
            None => succeeded > 0 && pods.active.is_empty(),
        };
        (reached.then_some(REACHED), check)
    }

    /// Sets the conditions: first `SuccessCriteriaMet` or `FailureTarget`, and once no pod is left the
    /// final one. Returns whether the Job is finished now.
    pub(super) fn conclude(&self, status: &mut Value, verdict: &Verdict, leaving: usize) -> bool {
        let now = self.control.now();
        let (target, end) = if verdict.succeeds {
            ("SuccessCriteriaMet", "Complete")
        } else {
            ("FailureTarget", "Failed")
        };
        if !condition::is_true(status, target) {
            set(status, target, "True", verdict.reason, verdict.message, &now);
        }
        if leaving > 0 {
            return false;
        }
        set(status, end, "True", verdict.reason, verdict.message, &now);
        if verdict.succeeds {
            status["completionTime"] = now.into();
        }
        true
    }

    pub(super) async fn record_end(&self, verdict: &Verdict) {
        let event = if verdict.succeeds {
            NewEvent::normal("Completed", "Job completed")
        } else {
            NewEvent::warning(verdict.reason, verdict.message)
        };
        self.control.record(SOURCE, &self.job, event).await;
    }
}

/// Sets a condition of a Job.
pub(super) fn set(
    status: &mut Value,
    kind: &str,
    state: &str,
    reason: &str,
    message: &str,
    now: &str,
) {
    condition::put(
        status,
        json!({
            "type": kind, "status": state, "reason": reason, "message": message,
            "lastProbeTime": now, "lastTransitionTime": now,
        }),
    );
}
