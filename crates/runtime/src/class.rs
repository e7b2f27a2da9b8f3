//! Classes of failures: which kind of change fixes them.

use sluice_api::names::reasons;
use sluice_api::names::sluice::reasons::{HISTORY_REWRITTEN, HISTORY_UNKNOWN};

/// The class of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorClass {
    /// The fetched artifact is not usable.
    Source,
    /// The desired state is invalid.
    DesiredState,
    /// A policy of the cluster or of its operator denies it.
    Policy,
    /// The service account lacks a right.
    Rbac,
    /// A dependency is missing or not ready.
    Dependency,
    /// A quota is exceeded.
    Quota,
    /// It was applied, but does not become healthy.
    Health,
    /// A temporary failure of the cluster; a retry may help.
    Transient,
}

impl ErrorClass {
    /// The class as one word.
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

    /// The class of a condition's reason, if the reason alone determines it. Where objects were refused, it depends
    /// on their errors.
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
