//! The specification that Jobs and the templates of CronJobs share.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use super::job_policies;
use crate::kinds::pod_spec;
use crate::validation::{Errors, names, non_negative_fields, one_of_or_unset};
use crate::value::{at, fill, fill_absent, int, list_mut, number, present, slot, text};

/// Defaults that a template of a CronJob gets as well.
pub(super) fn defaults(spec: &mut Value) {
    for rule in list_mut(spec, "podFailurePolicy.rules") {
        for pattern in list_mut(rule, "onPodConditions") {
            fill(pattern, "status", "True");
        }
    }
    if let Some(template) = slot(spec, "template") {
        pod_spec::template_defaults(template);
    }
}

/// Defaults that only a Job gets.
pub(super) fn job_defaults(spec: &mut Value) {
    if !present(spec, "completions") && !present(spec, "parallelism") {
        fill(spec, "completions", 1);
    }
    fill(spec, "parallelism", 1);
    let limit = if present(spec, "backoffLimitPerIndex") { i32::MAX } else { 6 };
    fill(spec, "backoffLimit", limit);
    fill_absent(spec, "completionMode", "NonIndexed");
    fill(spec, "suspend", false);
    let policy = if present(spec, "podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
    fill_absent(spec, "podReplacementPolicy", policy);
    fill(spec, "manualSelector", false);
}

/// Validates a job specification apart from its selector.
pub(super) fn validate(spec: &Value, path: &Path) -> Errors {
    let mut errors = non_negative_fields(
        spec,
        &[
            "parallelism",
            "completions",
            "activeDeadlineSeconds",
            "backoffLimit",
            "ttlSecondsAfterFinished",
            "backoffLimitPerIndex",
            "maxFailedIndexes",
        ],
        path,
    );
    if present(spec, "maxFailedIndexes") && !present(spec, "backoffLimitPerIndex") {
        let detail = "when maxFailedIndexes is specified";
        errors.push(FieldError::required(&path.child("backoffLimitPerIndex"), detail));
    }
    if let Some(manager) = at(spec, "managedBy").as_str() {
        errors.extend(managed_by(manager, &path.child("managedBy")));
    }
    errors.extend(one_of_or_unset(spec, "completionMode", &["NonIndexed", "Indexed"], path));
    match text(spec, "completionMode") {
        "Indexed" => errors.extend(indexed(spec, path)),
        "NonIndexed" | "" => {
            for name in ["backoffLimitPerIndex", "maxFailedIndexes"] {
                if let Some(value) = int(spec, name) {
                    let detail = "requires indexed completion mode";
                    errors.push(FieldError::invalid(&path.child(name), value, detail));
                }
            }
        }
        _ => {}
    }
    errors.extend(job_policies::validate(spec, path));
    let template = at(spec, "template");
    errors.extend(pod_spec::validate_template(template, &path.child("template")));
    let place = path.child("template").child("spec").child("restartPolicy");
    match text(template, "spec.restartPolicy") {
        "Always" | "" => {
            errors.push(FieldError::required(&place, r#"valid values: "OnFailure", "Never""#));
        }
        "OnFailure" if present(spec, "podFailurePolicy") => errors.push(FieldError::invalid(
            &place,
            "OnFailure",
            r#"only "Never" is supported when podFailurePolicy is specified"#,
        )),
        "OnFailure" | "Never" => {}
        other => {
            errors.push(FieldError::not_supported(&place, other, &["OnFailure", "Never"]));
        }
    }
    errors
}

fn indexed(spec: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let (parallelism, completions) = (int(spec, "parallelism"), int(spec, "completions"));
    let failures = int(spec, "maxFailedIndexes");
    let mut too_big = |name: &str, value: i64, detail: String| {
        errors.push(FieldError::invalid(&path.child(name), value, detail));
    };
    if let Some(count) = parallelism.filter(|count| *count > 100_000) {
        let detail = "must be less than or equal to 100000 when completion mode is Indexed";
        too_big("parallelism", count, detail.to_owned());
    }
    if let (Some(count), Some(failures)) = (completions, failures)
        && failures > count
    {
        let detail = "must be less than or equal to completions";
        too_big("maxFailedIndexes", failures, detail.to_owned());
    }
    if let Some(failures) = failures.filter(|failures| *failures > 100_000) {
        too_big("maxFailedIndexes", failures, "must be less than or equal to 100000".to_owned());
    }
    if completions.is_none() {
        let detail = "when completion mode is Indexed";
        errors.insert(0, FieldError::required(&path.child("completions"), detail));
    }
    let many = completions.is_some_and(|count| count > 100_000);
    if many && present(spec, "backoffLimitPerIndex") {
        if failures.is_none() {
            let detail = "must be specified when completions is above 100000";
            errors.push(FieldError::required(&path.child("maxFailedIndexes"), detail));
        }
        for name in ["parallelism", "maxFailedIndexes"] {
            let value = number(spec, name);
            if value > 10_000 {
                let detail = "must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index";
                errors.push(FieldError::invalid(&path.child(name), value, detail));
            }
        }
    }
    errors
}

fn managed_by(manager: &str, path: &Path) -> Errors {
    let mut errors = domain_prefixed_path(manager, path);
    if manager.len() > 63 {
        errors.push(FieldError::too_long(path, 63));
    }
    errors
}

/// Validates a name like `example.com/controller`.
pub(crate) fn domain_prefixed_path(name: &str, path: &Path) -> Errors {
    let mut errors = Vec::new();
    match name.split_once('/') {
        _ if name.is_empty() => errors.push(FieldError::required(path, "")),
        Some((host, rest)) if !host.is_empty() && !rest.is_empty() => {
            for message in names::dns_subdomain(host) {
                errors.push(FieldError::invalid(path, host, message));
            }
            let good =
                |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
            if !rest.bytes().all(good) {
                let pattern = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+";
                let detail = names::pattern_message("Invalid path", pattern, &[]);
                errors.push(FieldError::invalid(path, rest, detail));
            }
        }
        _ => errors.push(FieldError::invalid(
            path,
            name,
            "must be a domain-prefixed path (such as \"acme.io/foo\")",
        )),
    }
    errors
}

/// Warnings of a job specification.
pub(super) fn warnings(spec: &Value, path: &Path) -> Vec<String> {
    let mut warnings = Vec::new();
    if text(spec, "completionMode") == "Indexed"
        && number(spec, "completions") > 100_000
        && number(spec, "parallelism") > 10_000
    {
        warnings.push(format!("{path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail"));
    }
    warnings.extend(pod_spec::template_warnings(at(spec, "template"), &path.child("template")));
    warnings
}
