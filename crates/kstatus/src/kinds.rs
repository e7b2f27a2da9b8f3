//! The rules of the built-in kinds, by group and kind whatever the version.

pub(crate) mod batch;
pub(crate) mod core;
mod definition;
mod workloads;

use jiff::Timestamp;
use serde_json::Value;

use crate::Assessment;
use crate::fields::{self, FieldError};

type Rule = fn(&Value, Timestamp) -> Result<Assessment, FieldError>;

/// The rule of the object's kind, if it has one.
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

/// The generation was observed, or this would not have been asked: the controller has counted.
#[expect(clippy::unnecessary_wraps, reason = "rules share one signature")]
fn budget(_: &Value, _: Timestamp) -> Result<Assessment, FieldError> {
    Ok(Assessment::current("AllowedDisruptions has been computed."))
}
