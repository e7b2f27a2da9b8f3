//! Pod failure, success and replacement policies of a Job.

use serde_json::Value;
use sluice_schema::field::{ErrorType, FieldError, Path};

use crate::kinds::internal;
use crate::validation::{Errors, invalid_raw, named, names, non_negative, one_of_or_unset};
use crate::value::{at, int, list, number, present, text};

/// Validates the policies of a job specification.
pub(super) fn validate(spec: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let failure = at(spec, "podFailurePolicy");
    if !failure.is_null() {
        errors.extend(failure_policy(spec, &path.child("podFailurePolicy").child("rules")));
    }
    let success = at(spec, "successPolicy");
    if !success.is_null() {
        let path = path.child("successPolicy");
        if text(spec, "completionMode") == "Indexed" {
            errors.extend(success_policy(spec, &path.child("rules")));
        } else {
            let printed = internal::print("SuccessPolicy", success);
            errors.push(invalid_raw(&path, &printed, "requires indexed completion mode"));
        }
    }
    let policies: &[&str] =
        if failure.is_null() { &["Failed", "TerminatingOrFailed"] } else { &["Failed"] };
    errors.extend(one_of_or_unset(spec, "podReplacementPolicy", policies, path));
    errors
}

fn failure_policy(spec: &Value, path: &Path) -> Errors {
    let rules = list(spec, "podFailurePolicy.rules");
    let mut errors = Vec::new();
    if rules.len() > 20 {
        errors.push(FieldError::too_many(path, rules.len(), 20));
    }
    let containers: Vec<_> = ["template.spec.containers", "template.spec.initContainers"]
        .iter()
        .flat_map(|field| list(spec, field))
        .map(|container| text(container, "name"))
        .collect();
    for (index, rule) in rules.iter().enumerate() {
        let path = path.index(index);
        let actions = ["Count", "FailIndex", "FailJob", "Ignore"];
        let action = text(rule, "action");
        if action.is_empty() {
            let detail = r#"valid values: ["Count" "FailIndex" "FailJob" "Ignore"]"#;
            errors.push(FieldError::required(&path.child("action"), detail));
        } else if action == "FailIndex" {
            if !present(spec, "backoffLimitPerIndex") {
                let detail = "requires the backoffLimitPerIndex to be set";
                errors.push(FieldError::invalid(&path.child("action"), action, detail));
            }
        } else {
            errors.extend(one_of_or_unset(rule, "action", &actions, &path));
        }
        let codes = at(rule, "onExitCodes");
        let conditions = list(rule, "onPodConditions");
        if !codes.is_null() {
            errors.extend(exit_codes(codes, &containers, &path.child("onExitCodes")));
        }
        errors.extend(pod_conditions(conditions, &path.child("onPodConditions")));
        let detail = match (codes.is_null(), conditions.is_empty()) {
            (false, false) => "specifying both OnExitCodes and OnPodConditions is not supported",
            (true, true) => "specifying one of OnExitCodes and OnPodConditions is required",
            _ => continue,
        };
        errors.push(without_value(&path, detail));
    }
    errors
}

/// An `Invalid` error that shows no value.
pub(super) fn without_value(path: &Path, detail: &str) -> FieldError {
    FieldError {
        kind: ErrorType::Invalid,
        field: path.to_string(),
        value: None,
        detail: detail.to_owned(),
    }
}

fn pod_conditions(conditions: &[Value], path: &Path) -> Errors {
    let mut errors = Vec::new();
    if conditions.len() > 20 {
        errors.push(FieldError::too_many(path, conditions.len(), 20));
    }
    for (index, pattern) in conditions.iter().enumerate() {
        let path = path.index(index);
        errors.extend(named(names::qualified_name, text(pattern, "type"), &path.child("type")));
        errors.extend(one_of_or_unset(pattern, "status", &["False", "True", "Unknown"], &path));
    }
    errors
}

fn exit_codes(codes: &Value, containers: &[&str], path: &Path) -> Errors {
    let mut errors = Vec::new();
    if text(codes, "operator").is_empty() {
        let detail = r#"valid values: ["In" "NotIn"]"#;
        errors.push(FieldError::required(&path.child("operator"), detail));
    } else {
        errors.extend(one_of_or_unset(codes, "operator", &["In", "NotIn"], path));
    }
    if let Some(name) = at(codes, "containerName").as_str()
        && !containers.contains(&name)
    {
        errors.push(FieldError::invalid(
            &path.child("containerName"),
            name,
            "must be one of the container or initContainer names in the pod template",
        ));
    }
    let path = path.child("values");
    let values: Vec<i64> =
        list(codes, "values").iter().map(|code| code.as_i64().unwrap_or_default()).collect();
    if values.is_empty() {
        let shown = at(codes, "values").clone();
        errors.push(FieldError::invalid(&path, shown, "at least one value is required"));
    } else if values.len() > 255 {
        errors.push(FieldError::too_many(&path, values.len(), 255));
    }
    for (index, code) in values.iter().enumerate() {
        let path = path.index(index);
        if text(codes, "operator") == "In" && *code == 0 {
            errors.push(FieldError::invalid(&path, 0, "must not be 0 for the In operator"));
        }
        if values[..index].contains(code) {
            errors.push(FieldError::duplicate(&path, *code));
        }
    }
    if !values.is_sorted() {
        errors.push(FieldError::invalid(&path, at(codes, "values").clone(), "must be ordered"));
    }
    errors
}

fn success_policy(spec: &Value, path: &Path) -> Errors {
    let rules = list(spec, "successPolicy.rules");
    let mut errors = Vec::new();
    if rules.is_empty() {
        let detail = "at least one rules must be specified when the successPolicy is specified";
        errors.push(FieldError::required(path, detail));
    }
    if rules.len() > 20 {
        errors.push(FieldError::too_many(path, rules.len(), 20));
    }
    let completions = number(spec, "completions");
    for (index, rule) in rules.iter().enumerate() {
        let path = path.index(index);
        let (count, indexes) = (int(rule, "succeededCount"), at(rule, "succeededIndexes").as_str());
        if count.is_none() && indexes.is_none() {
            let detail = "at least one of succeededCount or succeededIndexes must be specified";
            errors.push(FieldError::required(&path, detail));
        }
        let mut total = 0;
        if let Some(indexes) = indexes {
            match indexes_total(indexes, completions) {
                Ok(found) => total = found,
                Err(why) => errors.push(FieldError::invalid(
                    &path.child("succeededIndexes"),
                    indexes,
                    format!("error parsing succeededIndexes: {why}"),
                )),
            }
        }
        let Some(count) = count else { continue };
        let path = path.child("succeededCount");
        errors.extend(non_negative(count, &path));
        let mut above = |limit: i64, what: &str| {
            let detail = format!("must be less than or equal to {limit} (the number of {what})");
            errors.push(FieldError::invalid(&path, count, detail));
        };
        if count > completions {
            above(completions, "specified completions");
        }
        if indexes.is_some() && count > total {
            above(total, "indexes in the specified succeededIndexes field");
        }
    }
    errors
}

/// How many indexes a list like `1,3-5` names.
pub(super) fn indexes_total(text: &str, completions: i64) -> Result<i64, String> {
    let number = |text: &str| match text.parse::<i64>() {
        Err(_) => Err(format!("cannot convert string to integer for index: {text:?}")),
        Ok(index) if index >= completions => Err(format!("too large index: {text:?}")),
        Ok(index) => Ok(index),
    };
    let order =
        |before: i64, now: i64| format!("non-increasing order, previous: {before}, current: {now}");
    let mut total = 0;
    let mut last = None;
    for part in text.split(',').filter(|_| !text.is_empty()) {
        let limits: Vec<_> = part.split('-').collect();
        let (from, to) = match limits.as_slice() {
            [one] => (number(one)?, number(one)?),
            [from, to] => {
                let (from, to) = (number(from)?, number(to)?);
                if from >= to {
                    return Err(order(from, to));
                }
                (from, to)
            }
            _ => {
                return Err(format!(
                    "the fragment {part:?} violates the requirement that an index interval can have at most two parts separated by '-'"
                ));
            }
        };
        if let Some(last) = last.filter(|last| *last >= from) {
            return Err(order(last, from));
        }
        total += to - from + 1;
        last = Some(to);
    }
    Ok(total)
}
