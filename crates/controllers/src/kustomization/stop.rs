//! Why a pass ends before its end, and what the conditions and events say then.

use sluice_api::crd::CustomResource as _;
use sluice_api::kustomize::kustomization::Kustomization;
use sluice_api::names::reasons::{BUILD_FAILED, HEALTH_CHECK_CANCELED, INVALID_CEL_EXPRESSION};
use sluice_base::duration::GoDuration;
use sluice_runtime::error::ApiError;
use sluice_runtime::events::Severity;
use sluice_runtime::metrics::names::FAILURES;
use sluice_runtime::queue::Next;
use sluice_ssa::{ErrorClass, Failure};
use tracing::{error, info};

use super::Kustomizations;
use super::pass::Pass;
use super::{source_text, timing};

/// In front of errors that no retry mends.
const TERMINAL: &str = "Reconciliation failed terminally due to configuration error";

/// How many failed objects are listed one by one.
const MOST_OBJECTS: usize = 100;

/// An object that could not be brought to where it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ObjectFailure {
    pub(super) object: String,
    pub(super) class: ErrorClass,
    pub(super) message: String,
}

impl ObjectFailure {
    fn of(failure: &Failure) -> Option<Self> {
        let object = failure.object.as_ref()?.to_string();
        Some(Self { object, class: failure.class, message: failure.message.clone() })
    }
}

/// Why a pass ended before its end.
pub(super) enum Stop {
    /// A failure: said in Ready, told as an event, tried again after the retry interval.
    /// What is told may differ from what Ready says.
    Failed {
        reason: &'static str,
        class: ErrorClass,
        message: String,
        told: Option<String>,
        /// The objects that failed, each with a class of its own.
        each: Vec<ObjectFailure>,
    },
    /// Nothing that a retry mends: said in Ready and Stalled.
    Terminal { reason: &'static str, message: String },
    /// Something has to come first: said in Ready, looked at again soon, or when it comes.
    Waiting { reason: &'static str, message: String, event: Option<String>, next: Next },
    /// There is something newer to apply.
    Superseded,
    /// The source has another artifact than the one that was waited for, or stored it again.
    Outdated,
    /// The API server could not be used; tried again with growing pauses.
    Api(ApiError),
}

impl From<ApiError> for Stop {
    fn from(error: ApiError) -> Self {
        Self::Api(error)
    }
}

impl Stop {
    pub(super) fn failed(reason: &'static str, message: impl Into<String>) -> Self {
        let class = ErrorClass::of_reason(reason).unwrap_or(ErrorClass::DesiredState);
        Self::classed(class, reason, message)
    }

    /// Objects that failed, each with a class of its own, of which one stands for all.
    pub(super) fn of_objects(
        class: ErrorClass,
        reason: &'static str,
        message: impl Into<String>,
        failures: &[Failure],
    ) -> Self {
        let named = failures.iter().filter_map(ObjectFailure::of);
        let each = named.take(MOST_OBJECTS).collect();
        Self::Failed { reason, class, message: message.into(), told: None, each }
    }

    /// A failure of which more is known than its reason.
    pub(super) fn classed(
        class: ErrorClass,
        reason: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self::Failed { reason, class, message: message.into(), told: None, each: Vec::new() }
    }

    /// Whose job it is to fix it, where anything is to be fixed.
    fn class(&self) -> Option<ErrorClass> {
        match self {
            Self::Failed { class, .. } => Some(*class),
            Self::Terminal { reason, .. } | Self::Waiting { reason, .. } => {
                ErrorClass::of_reason(reason)
            }
            Self::Superseded | Self::Outdated => None,
            Self::Api(error) if error.code() == Some(403) => Some(ErrorClass::Rbac),
            Self::Api(_) => Some(ErrorClass::Transient),
        }
    }

    /// An expression that is wrong.
    pub(super) fn expression(error: &dyn std::fmt::Display) -> Self {
        Self::Terminal { reason: INVALID_CEL_EXPRESSION, message: format!("{TERMINAL}: {error}") }
    }
}

impl std::fmt::Display for Stop {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Failed { message, .. }
            | Self::Terminal { message, .. }
            | Self::Waiting { message, .. } => formatter.write_str(message),
            Self::Superseded | Self::Outdated => formatter.write_str("there is something newer"),
            Self::Api(error) => error.fmt(formatter),
        }
    }
}

/// What a failed build is called.
pub(super) fn build_failed(message: impl Into<String>) -> Stop {
    Stop::failed(BUILD_FAILED, message)
}

impl Kustomizations {
    /// Says in the conditions how it went.
    pub(super) fn conclude(&self, pass: &mut Pass<'_>, outcome: Result<(), Stop>) -> Next {
        pass.conditions.set_now(self.context.clock.now());
        pass.class = outcome.as_ref().err().and_then(Stop::class);
        let class = pass.class.map(ErrorClass::as_str);
        if let Some(class) = class {
            self.context.metrics.add(&FAILURES, &[class, Kustomization::DEFINITION.kind], 1.0);
        }
        let spec = &pass.object.spec;
        let retry = timing::retry_interval(spec);
        match outcome {
            Ok(()) => {
                let took = GoDuration::from_nanos(
                    i64::try_from(pass.elapsed().as_nanos()).unwrap_or(i64::MAX),
                );
                let message =
                    format!("Reconciliation finished in {took}, next run in {}", spec.interval);
                info!(object = %pass.key, revision = %pass.revision, "{message}");
                pass.success_event(&message);
                let jitter = self.context.settings.interval_jitter;
                Next::After(timing::next_interval(spec, jitter, (self.context.chance)()))
            }
            Err(Stop::Failed { reason, message, told, each, .. }) => {
                pass.conditions.mark_not_ready(reason, &message);
                let told = told.unwrap_or(message);
                for one in &each {
                    let ObjectFailure { object: resource, class, message } = one;
                    error!(object = %pass.key, revision = %pass.revision, resource, errorClass = class.as_str(), error = message, "Object failed");
                }
                pass.failures = each;
                error!(object = %pass.key, revision = %pass.revision, errorClass = class, error = told, "Reconciliation failed");
                pass.event(Severity::Error, &told);
                Next::After(retry)
            }
            Err(Stop::Terminal { reason, message }) => {
                pass.conditions.mark_not_ready(reason, &message);
                pass.conditions.mark_stalled(reason, &message);
                if reason == INVALID_CEL_EXPRESSION {
                    pass.status.observed_generation = pass.object.metadata.generation;
                }
                pass.event(Severity::Error, &message);
                Next::Event
            }
            Err(Stop::Waiting { reason, message, event, next }) => {
                pass.conditions.mark_not_ready(reason, &message);
                info!(object = %pass.key, errorClass = class, "{message}");
                if let Some(event) = event {
                    pass.event(Severity::Info, &event);
                }
                next
            }
            Err(Stop::Superseded) => {
                let trigger = self.canceled_by(&pass.key);
                let trigger = trigger.unwrap_or_else(|| source_text(&pass.object));
                let message = format!("New reconciliation triggered by {trigger}");
                pass.conditions.mark_not_ready(HEALTH_CHECK_CANCELED, &message);
                pass.event(
                    Severity::Info,
                    &format!(
                        "Health checks canceled due to new reconciliation triggered by {trigger}"
                    ),
                );
                Next::After(std::time::Duration::ZERO)
            }
            Err(Stop::Outdated) => {
                info!(object = %pass.key, "the source was stored anew while its artifact was fetched");
                Next::After(std::time::Duration::ZERO)
            }
            Err(Stop::Api(error)) => {
                error!(object = %pass.key, errorClass = class, %error, "Reconciliation failed");
                Next::Backoff
            }
        }
    }
}
