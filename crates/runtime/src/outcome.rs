//! How a pass ends before its end: one type for every kind.
//!
//! A step of a pass returns `Result<T, Stop>`; the whole pass returns `Result<Next, Stop>`. What conditions, events,
//! logs and metrics say about a [`Stop`] is decided once, in [`crate::pass`].

use sluice_base::place::Place;

use crate::class::ErrorClass;
use crate::error::ApiError;
use crate::events::Severity;
use crate::gate::Hold;
use crate::queue::Next;

/// Why a pass ended before its end.
#[derive(Debug)]
pub enum Stop {
    /// Something went wrong.
    Failed(Box<Failure>),
    /// Something else has to come first.
    Waiting(Box<Waiting>),
    /// The gate of a Topology holds it.
    Held(Hold),
    /// What the pass works on was replaced in the meantime: it begins again at once. Says what was replaced.
    Restart(&'static str),
    /// The API server could not be used; tried again with backoff.
    Api(ApiError),
}

/// Something went wrong: a condition and an event report it.
#[derive(Debug)]
pub struct Failure {
    /// Who has to fix it.
    pub class: ErrorClass,
    /// The reason of the condition and the event.
    pub reason: String,
    /// The message of the condition.
    pub message: String,
    /// The message of the event, if it differs.
    pub event: Option<String>,
    /// The condition that reports it beside Ready, in kinds that have several.
    pub condition: Option<&'static str>,
    /// When it is tried again.
    pub retry: Retry,
    /// The objects that failed, each with a class of its own.
    pub objects: Vec<FailedObject>,
}

/// When a pass that failed is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// As the kind does it: with backoff, or after its retry interval.
    Usual,
    /// Then.
    At(Next),
    /// Only another spec helps: the object is stalled.
    Never,
}

/// An object that could not be brought to its desired state, or a file that could not be built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedObject {
    /// Kind, namespace and name; nothing for a file.
    pub object: Option<String>,
    /// Who has to fix it.
    pub class: ErrorClass,
    /// What happened to it.
    pub message: String,
    /// Where it is written, if that is known.
    pub place: Option<Place>,
    /// What its pods and events say: `Pod/apps/web-1: ErrImagePull: ...`.
    pub causes: Vec<String>,
}

/// Where failed objects are written, one in a line: the object, its file and line, and the patch that changed it last.
pub(crate) fn places(objects: &[FailedObject]) -> Option<String> {
    lines(objects, |one| one.place.iter().map(ToString::to_string).collect())
}

/// What pods and events of failed objects say, one in a line.
pub(crate) fn causes(objects: &[FailedObject]) -> Option<String> {
    lines(objects, |one| one.causes.clone())
}

fn lines(objects: &[FailedObject], of: impl Fn(&FailedObject) -> Vec<String>) -> Option<String> {
    let mut lines = Vec::new();
    for one in objects {
        lines.extend(of(one).into_iter().map(|line| match &one.object {
            Some(object) => format!("{object}: {line}"),
            None => line,
        }));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Something else has to come first.
#[derive(Debug)]
pub struct Waiting {
    /// Who has to act, if anybody has to.
    pub class: Option<ErrorClass>,
    /// The reason of the condition and the event.
    pub reason: &'static str,
    /// The message of the condition.
    pub message: String,
    /// The event, if there is one.
    pub event: Option<(Severity, String)>,
    /// The condition that reports it beside Ready, in kinds that have several.
    pub condition: Option<&'static str>,
    /// When it is looked at again, at the latest.
    pub next: Next,
}

impl Failure {
    /// A failure that is tried again as the kind does it.
    pub fn new(class: ErrorClass, reason: &str, message: impl Into<String>) -> Self {
        Self {
            class,
            reason: reason.to_owned(),
            message: message.into(),
            event: None,
            condition: None,
            retry: Retry::Usual,
            objects: Vec::new(),
        }
    }

    /// Whether only another spec helps.
    pub fn stalls(&self) -> bool {
        self.retry == Retry::Never
    }
}

impl Waiting {
    /// A wait without an event. The reason decides the class.
    pub fn new(reason: &'static str, message: impl Into<String>, next: Next) -> Self {
        Self {
            class: ErrorClass::of_reason(reason),
            reason,
            message: message.into(),
            event: None,
            condition: None,
            next,
        }
    }

    /// The same, with an event.
    #[must_use]
    pub fn with_event(mut self, severity: Severity, message: impl Into<String>) -> Self {
        self.event = Some((severity, message.into()));
        self
    }
}

impl Stop {
    /// A failure. The reason decides the class; one that says nothing is about the desired state.
    pub fn failed(reason: &str, message: impl Into<String>) -> Self {
        let class = ErrorClass::of_reason(reason).unwrap_or(ErrorClass::DesiredState);
        Self::classed(class, reason, message)
    }

    /// A failure of which more is known than its reason.
    pub fn classed(class: ErrorClass, reason: &str, message: impl Into<String>) -> Self {
        Failure::new(class, reason, message).into()
    }

    /// A failure that only another spec ends.
    pub fn stalled(reason: &str, message: impl Into<String>) -> Self {
        let class = ErrorClass::of_reason(reason).unwrap_or(ErrorClass::DesiredState);
        Failure { retry: Retry::Never, ..Failure::new(class, reason, message) }.into()
    }

    /// Who has to act, if anybody has to.
    pub fn class(&self) -> Option<ErrorClass> {
        match self {
            Self::Failed(failure) => Some(failure.class),
            Self::Waiting(waiting) => waiting.class,
            Self::Held(_) | Self::Restart(_) => None,
            Self::Api(error) if error.code() == Some(403) => Some(ErrorClass::Rbac),
            Self::Api(_) => Some(ErrorClass::Transient),
        }
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

impl From<Waiting> for Stop {
    fn from(waiting: Waiting) -> Self {
        Self::Waiting(Box::new(waiting))
    }
}

impl From<ApiError> for Stop {
    fn from(error: ApiError) -> Self {
        Self::Api(error)
    }
}

impl std::fmt::Display for Stop {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Failed(failure) => formatter.write_str(&failure.message),
            Self::Waiting(waiting) => formatter.write_str(&waiting.message),
            Self::Held(hold) => formatter.write_str(&hold.message),
            Self::Restart(replaced) => formatter.write_str(replaced),
            Self::Api(error) => error.fmt(formatter),
        }
    }
}
