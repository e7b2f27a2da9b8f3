//! Failures, with the object and the class.

use std::fmt;

use kube::core::Status;
use sluice_base::causes;
use sluice_base::place::Place;

use crate::change::ChangeSet;
use crate::object::ObjectKey;
use sluice_runtime::class::ErrorClass;

/// An error of the API server or of the connection to it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// An error status.
    #[error("{message}")]
    Status {
        /// HTTP code.
        code: u16,
        /// The reason, or empty.
        reason: String,
        /// The message.
        message: String,
        /// The reasons of its causes.
        causes: Vec<String>,
    },
    /// The kind is not served.
    #[error("no matches for kind \"{kind}\" in version \"{api_version}\"")]
    NoMatch {
        /// The kind.
        kind: String,
        /// Group and version.
        api_version: String,
    },
    /// No response, or an unreadable one.
    #[error("{0}")]
    Transport(String),
}

impl ApiError {
    /// Whether the object does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Status { code: 404, .. })
    }

    /// Whether the path does not exist: the discovered resource is outdated.
    pub(crate) fn is_unknown_path(&self) -> bool {
        const WORDS: &str = "the server could not find the requested resource";
        // The server's response is plain text, from which its clients make this message.
        matches!(self, Self::Status { code: 404, message, .. }
            if message == WORDS || message.starts_with("404 page not found"))
    }

    /// Whether a retry without any change may help.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Status { code, .. } => *code == 429 || *code >= 500,
            Self::NoMatch { .. } => false,
            Self::Transport(_) => true,
        }
    }

    pub(crate) fn code(&self) -> u16 {
        match self {
            Self::Status { code, .. } => *code,
            _ => 0,
        }
    }

    /// Whether kubectl and Flux treat it as a change of an immutable field.
    pub(crate) fn is_immutable(&self) -> bool {
        if let Self::Status { reason, .. } = self
            && matches!(reason.as_str(), "Conflict" | "Invalid")
        {
            return true;
        }
        let text = self.to_string();
        ["is immutable", "immutable field"].iter().any(|words| text.contains(words))
    }

    /// The reason in brackets after "dry-run failed".
    fn reason(&self) -> &str {
        match self {
            Self::Status { causes, .. }
                if causes.iter().any(|cause| cause == "FieldManagerConflict") =>
            {
                "FieldManagerConflict"
            }
            Self::Status { reason, .. } => reason,
            _ => "",
        }
    }

    /// The class.
    pub fn class(&self) -> ErrorClass {
        let (code, message, causes) = match self {
            Self::NoMatch { .. } => return ErrorClass::Dependency,
            Self::Transport(_) => return ErrorClass::Transient,
            Self::Status { code, message, causes, .. } => (*code, message.as_str(), causes),
        };
        if message.contains("failed calling webhook") {
            return ErrorClass::Dependency;
        }
        if message.contains("object is being deleted") {
            return ErrorClass::Transient;
        }
        if message.contains("denied the request") || message.contains("ValidatingAdmissionPolicy") {
            return ErrorClass::Policy;
        }
        match code {
            401 => ErrorClass::Rbac,
            403 if causes.iter().any(|cause| cause == "NamespaceTerminating") => {
                ErrorClass::Dependency
            }
            403 if message.contains("exceeded quota") || message.contains("failed quota") => {
                ErrorClass::Quota
            }
            // `User "x" cannot patch resource "y"`; any other 403 comes from admission.
            403 if message.contains(" cannot ") || message.contains("attempting to grant") => {
                ErrorClass::Rbac
            }
            403 => ErrorClass::Policy,
            404 => ErrorClass::Dependency,
            429 | 500.. => ErrorClass::Transient,
            _ => ErrorClass::DesiredState,
        }
    }
}

impl From<&Status> for ApiError {
    fn from(status: &Status) -> Self {
        Self::Status {
            code: status.code,
            reason: status.reason.clone(),
            message: status.message.clone(),
            causes: status
                .details
                .iter()
                .flat_map(|details| &details.causes)
                .map(|cause| cause.reason.clone())
                .collect(),
        }
    }
}

impl From<kube::Error> for ApiError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::from(&*status),
            // Without the client's own prefix.
            kube::Error::Service(inner) => Self::Transport(causes::joined(&*inner)),
            other => Self::Transport(causes::joined(&other)),
        }
    }
}

/// A failure with one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The object, if there is one.
    pub object: Option<ObjectKey>,
    /// The class.
    pub class: ErrorClass,
    /// Flux's message, which names the object.
    pub message: String,
    /// The file and line of the object, if known.
    pub place: Option<Place>,
}

impl Failure {
    /// A failed dry run.
    pub(crate) fn dry_run(key: &ObjectKey, error: &ApiError) -> Self {
        let said = without_values(key, error);
        let message = if error.is_not_found() {
            let what =
                if key.id.namespace.is_empty() { "namespace not specified" } else { "not found" };
            format!("{key} {what}: {said}")
        } else {
            match error.reason() {
                "" => format!("{key} dry-run failed: {said}"),
                reason => format!("{key} dry-run failed ({reason}): {said}"),
            }
        };
        let class = if error.is_not_found() && key.id.namespace.is_empty() {
            ErrorClass::DesiredState
        } else {
            error.class()
        };
        Self { object: Some(key.clone()), class, message, place: None }
    }

    /// Another failed request.
    pub(crate) fn of(key: &ObjectKey, what: &str, error: &ApiError) -> Self {
        Self {
            object: Some(key.clone()),
            class: error.class(),
            message: format!("{key} {what}: {}", without_values(key, error)),
            place: None,
        }
    }
}

/// The API server's message about an object. About a Secret it may quote an invalid value; that is removed,
/// because more people can read statuses and events than Secrets.
fn without_values(key: &ObjectKey, error: &ApiError) -> String {
    let said = error.to_string();
    if key.id.kind != "Secret" || !key.id.group.is_empty() {
        return said;
    }
    let lines = said.split('\n').map(|line| match line.split_once(", got ") {
        Some((expected, _)) => format!("{expected}, got (hidden)"),
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The class of several failures: of the first that is not transient.
pub(crate) fn class_of(failures: &[Failure]) -> ErrorClass {
    let classes = failures.iter().map(|failure| failure.class);
    classes.into_iter().find(|it| *it != ErrorClass::Transient).unwrap_or(ErrorClass::Transient)
}

/// Objects could not be applied. `changes` has what was done before.
#[derive(Clone, Debug, PartialEq)]
pub struct ApplyError {
    /// The objects that failed, in the order of applying.
    pub failures: Vec<Failure>,
    /// The objects that were applied.
    pub changes: ChangeSet,
    /// The objects with a write that failed, so that it is not known whether it happened.
    pub in_doubt: Vec<ObjectKey>,
}

impl ApplyError {
    /// The class that decides what to do.
    pub fn class(&self) -> ErrorClass {
        class_of(&self.failures)
    }
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, failure) in self.failures.iter().enumerate() {
            let gap = if index == 0 { "" } else { "\n" };
            write!(f, "{gap}{failure}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ApplyError {}
