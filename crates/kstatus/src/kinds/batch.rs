//! Jobs: kstatus' reading, where one that runs is current, and Flux's, where it is not.

use jiff::Timestamp;
use serde_json::Value;

use crate::Assessment;
use crate::fields::{FieldError, conditions, integer_or, text_or};

/// A Job is current as soon as it runs.
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

/// A Job is current when it is done, or is not to run.
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

/// The numbers of a Job.
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
