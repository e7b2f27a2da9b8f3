//! Rules of the built-in kinds, by group and kind, for all versions.

pub(crate) mod batch;
pub(crate) mod core;
mod definition;
mod workloads;

use jiff::Timestamp;
use serde_json::Value;

use crate::Assessment;
use crate::fields::{self, FieldError};

type Rule = fn(&Value, Timestamp) -> Result<Assessment, FieldError>;

/// The rule of the object's kind, if there is one.
pub(crate) fn rule(object: &Value) -> Option<Rule> {
    let rule: Rule = match (fields::api_group(object)?, fields::kind(object)) {
        ("", "Service") => core::service,
        ("", "Pod") => core::pod,
        ("", "PersistentVolumeClaim") => core::claim,
        ("", "Secret" | "ConfigMap") | ("batch", "CronJob") => always_ready,
        ("apps", "StatefulSet") => workloads::stateful_set,
        ("apps" | "extensions", "DaemonSet") => workloads::daemon_set,
        ("apps" | "extensions", "Deployment") => workloads::deployment,
        ("apps" | "extensions", "ReplicaSet") => workloads::replica_set,
        ("policy", "PodDisruptionBudget") => budget,
        ("batch", "Job") => batch::started,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definition::custom_resource,
        _ => return None,
    };
    Some(rule)
}

#[expect(clippy::unnecessary_wraps, reason = "rules share one signature")]
fn always_ready(_: &Value, _: Timestamp) -> Result<Assessment, FieldError> {
    Ok(Assessment::current("Resource is always ready"))
}

/// The generation is observed when this is called, so the controller has set the counts.
#[expect(clippy::unnecessary_wraps, reason = "rules share one signature")]
fn budget(_: &Value, _: Timestamp) -> Result<Assessment, FieldError> {
    Ok(Assessment::current("AllowedDisruptions has been computed."))
}
