//! The status of a Job: counters that only grow, conditions that exclude each other.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use super::job_policies::without_value;
use crate::validation::{Errors, non_negative_fields};
use crate::value::{at, int, is_zero, list, number, text};

fn holds(job: &Value, condition: &str) -> bool {
    list(job, "status.conditions")
        .iter()
        .any(|found| text(found, "type") == condition && text(found, "status") == "True")
}

/// What is wrong with a change of a Job's status.
pub(super) fn validate(job: &Value, old: &Value) -> Errors {
    let path = Path::new("status");
    let status = at(job, "status");
    let counts = ["active", "succeeded", "failed", "ready", "terminating"];
    let mut errors = non_negative_fields(status, &counts, &path);
    let conditions = path.child("conditions");
    let (complete, failed) = (holds(job, "Complete"), holds(job, "Failed"));
    let (met, target) = (holds(job, "SuccessCriteriaMet"), holds(job, "FailureTarget"));
    let finished = complete || failed;
    let mut exclusive = |wrong: bool, detail: &str| {
        if wrong {
            errors.push(without_value(&conditions, detail));
        }
    };
    exclusive(complete && failed, "cannot set Complete=True and Failed=true conditions");
    exclusive(complete && target, "cannot set Complete=True and FailureTarget=true conditions");
    errors.extend(times(job, complete, &path));
    let mut exclusive = |wrong: bool, detail: &str| {
        if wrong {
            errors.push(without_value(&conditions, detail));
        }
    };
    exclusive(
        failed && !target && !holds(old, "Failed"),
        "cannot set Failed=True condition without the FailureTarget=true condition",
    );
    exclusive(
        complete && !met && !holds(old, "Complete"),
        "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
    );
    if finished {
        if number(status, "active") > 0 {
            let detail = "active>0 is invalid for finished job";
            errors.push(FieldError::invalid(
                &path.child("active"),
                number(status, "active"),
                detail,
            ));
        }
        if at(status, "startTime").is_null() {
            let detail = "startTime is required for finished job";
            errors.push(FieldError::required(&path.child("startTime"), detail));
        }
    }
    if let Some(ready) = int(status, "ready")
        && ready > number(status, "active")
    {
        let detail = "cannot set more ready pods than active";
        errors.push(FieldError::invalid(&path.child("ready"), ready, detail));
    }
    let mut exclusive = |wrong: bool, detail: &str| {
        if wrong {
            errors.push(without_value(&conditions, detail));
        }
    };
    exclusive(met && failed, "cannot set SuccessCriteriaMet=True and Failed=true conditions");
    exclusive(
        met && target,
        "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
    );
    for condition in ["Failed", "Complete", "FailureTarget"] {
        exclusive(
            holds(old, condition) && !holds(job, condition),
            &format!("cannot disable the terminal {condition}=True condition"),
        );
    }
    for name in ["failed", "succeeded"] {
        let (now, before) = (number(status, name), number(at(old, "status"), name));
        if now < before {
            let detail = format!("cannot decrease the {name} counter");
            errors.push(FieldError::invalid(&path.child(name), now, detail));
        }
    }
    if holds(old, "SuccessCriteriaMet") && !met {
        let detail = "cannot disable the SuccessCriteriaMet=True condition";
        errors.push(without_value(&conditions, detail));
    }
    errors
}

fn times(job: &Value, complete: bool, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let place = path.child("completionTime");
    let done = at(job, "status.completionTime");
    if !is_zero(done) && !complete {
        let detail = "cannot set completionTime when there is no Complete=True condition";
        errors.push(FieldError::invalid(&place, done.clone(), detail));
    }
    if is_zero(done) && complete {
        let detail = "completionTime is required for Complete jobs";
        errors.push(FieldError::required(&place, detail));
    }
    let started = text(job, "status.startTime");
    if !started.is_empty() && done.as_str().is_some_and(|done| done < started) {
        let detail = "must be equal to or after `startTime`";
        errors.push(FieldError::invalid(&place, done.clone(), detail));
    }
    errors
}
