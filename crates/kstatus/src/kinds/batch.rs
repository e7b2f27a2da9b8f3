//! Jobs: in kstatus a running one is current, in Flux it is in progress.

use jiff::Timestamp;
use serde_json::Value;

use crate::Assessment;
use crate::fields::{FieldError, conditions, integer_or, text_or};

/// kstatus: a Job is current as soon as it runs.
pub(super) fn started(object: &Value, _: Timestamp) -> Result<Assessment, FieldError> {
    let job = Job::of(object);
    if let Some(ended) = job.ended(object)? {
        return Ok(ended);
    }
    if !job.started {
        return Ok(Assessment::in_progress("JobNotStarted", "Job not started"));
    }
    Ok(Assessment::current(job.progress()))
}

/// Flux: a Job is current when it has completed or is suspended.
pub(crate) fn to_completion(object: &Value) -> Result<Assessment, FieldError> {
    if object.pointer("/spec/suspend") == Some(&Value::Bool(true)) {
        return Ok(Assessment::current("Job is suspended"));
    }
    let job = Job::of(object);
    if let Some(ended) = job.ended(object)? {
        return Ok(ended);
    }
    if !job.started {
        let message = format!("Job not started. active: 0/{}", job.parallelism);
        return Ok(Assessment::in_progress("JobNotStarted", message));
    }
    Ok(Assessment::in_progress("JobInProgress", job.progress()))
}

/// The counts of a Job.
struct Job {
    parallelism: i64,
    completions: i64,
    succeeded: i64,
    active: i64,
    failed: i64,
    started: bool,
}

impl Job {
    fn of(object: &Value) -> Self {
        let parallelism = integer_or(object, "/spec/parallelism", 1);
        Self {
            parallelism,
            completions: integer_or(object, "/spec/completions", parallelism),
            succeeded: integer_or(object, "/status/succeeded", 0),
            active: integer_or(object, "/status/active", 0),
            failed: integer_or(object, "/status/failed", 0),
            started: !text_or(object, "/status/startTime", "").is_empty(),
        }
    }

    fn ended(&self, object: &Value) -> Result<Option<Assessment>, FieldError> {
        for condition in conditions(object)? {
            if condition.is("Complete", "True") {
                return Ok(Some(Assessment::current(format!(
                    "Job Completed. succeeded: {}/{}",
                    self.succeeded, self.completions
                ))));
            }
            if condition.is("Failed", "True") {
                let message = format!("Job Failed. failed: {}/{}", self.failed, self.completions);
                return Ok(Some(Assessment::failed("JobFailed", message)));
            }
        }
        Ok(None)
    }

    fn progress(&self) -> String {
        format!(
            "Job in progress. success:{}, active: {}, failed: {}",
            self.succeeded, self.active, self.failed
        )
    }
}
