//! The status of a Job: counters that only grow, conditions that exclude each other.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use super::job_policies::{indexes_total, without_value};
use crate::validation::{Errors, non_negative_fields};
use crate::value::{at, flag, int, is_zero, list, number, text, texts};

fn holds(job: &Value, condition: &str) -> bool {
    list(job, "status.conditions")
        .iter()
        .any(|found| text(found, "type") == condition && text(found, "status") == "True")
}

/// Validates a change of a Job's status.
pub(super) fn validate(job: &Value, old: &Value) -> Errors {
    let path = Path::new("status");
    let status = at(job, "status");
    let counts = ["active", "succeeded", "failed", "ready", "terminating"];
    let mut errors = non_negative_fields(status, &counts, &path);
    errors.extend(uncounted(status, &path.child("uncountedTerminatedPods")));
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
    errors.extend(indexes(job, &path));
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
    let (started, before) = (at(status, "startTime"), at(old, "status.startTime"));
    if !before.is_null() && started != before && !flag(job, "spec.suspend") {
        let detail = "startTime cannot be removed for unsuspended job";
        errors.push(FieldError::required(&path.child("startTime"), detail));
    }
    if holds(old, "SuccessCriteriaMet") && !met {
        let detail = "cannot disable the SuccessCriteriaMet=True condition";
        errors.push(without_value(&conditions, detail));
    }
    errors
}

fn uncounted(status: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let mut seen = Vec::new();
    for name in ["succeeded", "failed"] {
        let uids = texts(status, &format!("uncountedTerminatedPods.{name}"));
        for (index, uid) in uids.into_iter().enumerate() {
            let path = path.child(name).index(index);
            if uid.is_empty() {
                errors.push(FieldError::invalid(&path, uid, "must not be empty"));
            } else if seen.contains(&uid) {
                errors.push(FieldError::duplicate(&path, uid));
            } else {
                seen.push(uid);
            }
        }
    }
    errors
}

fn indexes(job: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let completions = int(job, "spec.completions");
    let per_index = !at(job, "spec.backoffLimitPerIndex").is_null();
    for name in ["completedIndexes", "failedIndexes"] {
        let found = text(job, &format!("status.{name}"));
        if let Some(completions) = completions.filter(|_| name == "completedIndexes" || per_index)
            && let Err(why) = indexes_total(found, completions)
        {
            let detail = format!("error parsing {name}: {why}");
            errors.push(FieldError::invalid(&path.child(name), found, detail));
        }
    }
    let completed = text(job, "status.completedIndexes");
    if !completed.is_empty() && text(job, "spec.completionMode") != "Indexed" {
        let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
        errors.push(FieldError::invalid(&path.child("completedIndexes"), completed, detail));
    }
    let failed = at(job, "status.failedIndexes");
    if !per_index && !failed.is_null() {
        let detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
        errors.push(FieldError::invalid(&path.child("failedIndexes"), failed.clone(), detail));
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
