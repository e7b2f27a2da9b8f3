//! Whose job it is to fix a failure.

use sluice_api::names::reasons;
use sluice_api::names::sluice::reasons::{HISTORY_REWRITTEN, HISTORY_UNKNOWN};

/// Whose job it is to fix a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorClass {
    /// What was fetched is not usable.
    Source,
    /// What is asked for is wrong in itself.
    DesiredState,
    /// A policy of the cluster, or of its operator, refuses it.
    Policy,
    /// The account may not do it.
    Rbac,
    /// Something else has to be there first.
    Dependency,
    /// There is no room for it.
    Quota,
    /// It was applied, and does not get well.
    Health,
    /// The cluster did not answer as it should; another try may do.
    Transient,
}

impl ErrorClass {
    /// The class in one word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::DesiredState => "desired-state",
            Self::Policy => "policy",
            Self::Rbac => "rbac",
            Self::Dependency => "dependency",
            Self::Quota => "quota",
            Self::Health => "health",
            Self::Transient => "transient",
        }
    }

    /// The class that a condition's reason tells alone. Where objects were refused it takes the refusals to
    /// know, and nothing is said here.
    pub fn of_reason(reason: &str) -> Option<Self> {
        let class = match reason {
            reasons::ARTIFACT_FAILED
            | reasons::GIT_OPERATION_FAILED
            | reasons::BUCKET_OPERATION_FAILED
            | reasons::OCI_ARTIFACT_PULL_FAILED
            | reasons::OCI_ARTIFACT_LAYER_OPERATION_FAILED
            | reasons::READ_OPERATION_FAILED
            | reasons::AUTHENTICATION_FAILED
            | reasons::SOURCE_FETCH_FAILED => Self::Source,
            reasons::BUILD_FAILED
            | reasons::INVALID_CEL_EXPRESSION
            | reasons::URL_INVALID
            | reasons::INVALID_STS_CONFIGURATION
            | reasons::INVALID_PROVIDER_CONFIGURATION
            | reasons::VALIDATION_FAILED => Self::DesiredState,
            reasons::ACCESS_DENIED
            | reasons::FEATURE_GATE_DISABLED
            | reasons::VERIFICATION_ERROR
            | HISTORY_REWRITTEN
            | HISTORY_UNKNOWN => Self::Policy,
            reasons::DEPENDENCY_NOT_READY => Self::Dependency,
            reasons::HEALTH_CHECK_FAILED => Self::Health,
            _ => return None,
        };
        Some(class)
    }
}
