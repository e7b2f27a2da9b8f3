//! Health of objects: Flux's rules for Jobs, custom CEL expressions, kstatus.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;
use sluice_api::shared::health::CustomHealthCheck;
use sluice_expr::flux::{Health, HealthCheck};
use sluice_kstatus::{Assessment, Status, assess, assess_job, with_pods};

use crate::object::{ObjectId, split_api_version};

/// Why health checks are invalid, with Flux's messages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HealthCheckError(String);

/// Expressions by group and kind; an empty kind matches all of a group.
#[derive(Debug, Default)]
pub struct HealthChecks(BTreeMap<(String, String), HealthCheck>);

/// The observed health of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The kstatus status.
    pub status: Status,
    /// The message for people; may be empty.
    pub message: String,
    /// Why the health could not be evaluated.
    pub error: Option<String>,
}

impl Seen {
    pub(crate) fn plain(status: Status, message: &str) -> Self {
        Self { status, message: message.to_owned(), error: None }
    }

    pub(crate) fn unknown(error: &impl ToString) -> Self {
        Self { status: Status::Unknown, message: String::new(), error: Some(error.to_string()) }
    }
}

impl From<Assessment> for Seen {
    fn from(assessment: Assessment) -> Self {
        Self { status: assessment.status, message: assessment.message, error: None }
    }
}

impl HealthChecks {
    /// Compiles expressions.
    pub fn compile(checks: &[CustomHealthCheck]) -> Result<Self, HealthCheckError> {
        let mut compiled = BTreeMap::new();
        for (index, check) in checks.iter().enumerate() {
            let (group, _) = split_api_version(&check.api_version);
            let kind = check.kind.clone().unwrap_or_default();
            let name = if group.is_empty() { kind.clone() } else { format!("{kind}.{group}") };
            let key = (group.to_owned(), kind);
            if compiled.contains_key(&key) {
                return Err(HealthCheckError(format!(
                    "duplicate custom health check for GroupKind {name} at healthchecks[{index}]"
                )));
            }
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            let expressions =
                HealthCheck::new(&check.current, &text(&check.in_progress), &text(&check.failed))
                    .map_err(|error| {
                    HealthCheckError(format!(
                        "failed to create custom status evaluator for \
                             healthchecks[{index}]: {error}"
                    ))
                })?;
            compiled.insert(key, expressions);
        }
        Ok(Self(compiled))
    }

    fn of(&self, id: &ObjectId) -> Option<&HealthCheck> {
        let key = |kind: &str| (id.group.clone(), kind.to_owned());
        self.0.get(&key(&id.kind)).or_else(|| self.0.get(&key("")))
    }

    /// Whether the health of an object in progress depends on its pods.
    pub(crate) fn needs_pods(&self, id: &ObjectId) -> bool {
        id.group == "apps"
            && matches!(id.kind.as_str(), "StatefulSet" | "ReplicaSet")
            && self.of(id).is_none()
    }

    /// Whether the health of an object can change with time alone.
    pub(crate) fn depends_on_time(&self, id: &ObjectId) -> bool {
        self.needs_pods(id) || id.group.is_empty() && id.kind == "Pod" && self.of(id).is_none()
    }

    /// Evaluates the health of an object; `pods` are its pods, if they count.
    pub(crate) fn see(
        &self,
        id: &ObjectId,
        object: &Value,
        pods: &[Value],
        now: Timestamp,
    ) -> Seen {
        if id.group == "batch" && id.kind == "Job" {
            return assess_job(object).map_or_else(|error| Seen::unknown(&error), Seen::from);
        }
        if let Some(check) = self.of(id) {
            return match check.evaluate(object) {
                Ok(Health::Current) => Seen::plain(Status::Current, ""),
                Ok(Health::InProgress) => Seen::plain(Status::InProgress, ""),
                Ok(Health::Failed) => Seen::plain(Status::Failed, ""),
                Err(error) => Seen::unknown(&error),
            };
        }
        match assess(object, now) {
            Ok(assessment) if self.needs_pods(id) => with_pods(assessment, pods, now).into(),
            Ok(assessment) => assessment.into(),
            Err(error) => Seen::unknown(&error),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::object::ObjectKey;

    fn check(kind: Option<&str>, current: &str) -> CustomHealthCheck {
        CustomHealthCheck {
            api_version: "example.com/v1".to_owned(),
            current: current.to_owned(),
            kind: kind.map(str::to_owned),
            ..CustomHealthCheck::default()
        }
    }

    #[test]
    fn the_kind_goes_before_its_group() {
        let checks = HealthChecks::compile(&[check(None, "false"), check(Some("Widget"), "true")]);
        let checks = checks.expect("they are good");
        let now = Timestamp::UNIX_EPOCH;
        for (kind, status) in [("Widget", Status::Current), ("Gadget", Status::InProgress)] {
            let object = json!({"apiVersion": "example.com/v2", "kind": kind});
            let id = ObjectKey::of(&object).id;
            assert_eq!(checks.see(&id, &object, &[], now).status, status);
        }
    }

    #[test]
    fn invalid_expressions_have_fluxs_messages() {
        let twice = HealthChecks::compile(&[check(Some("A"), "true"), check(Some("A"), "true")]);
        assert_eq!(
            twice.expect_err("twice").to_string(),
            "duplicate custom health check for GroupKind A.example.com at healthchecks[1]"
        );
        let none = HealthChecks::compile(&[check(Some("A"), "")]);
        assert_eq!(
            none.expect_err("empty").to_string(),
            "failed to create custom status evaluator for healthchecks[0]: expression Current not \
             specified"
        );
    }
}
