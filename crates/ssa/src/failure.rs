//! What can go wrong, with the object it went wrong with and its class.

use std::fmt;

use kube::core::Status;
use sluice_base::causes;

use crate::change::ChangeSet;
use crate::class::ErrorClass;
use crate::object::ObjectKey;

/// The API server's refusal, or its silence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// It answered with a status.
    #[error("{message}")]
    Status {
        /// HTTP code.
        code: u16,
        /// Reason in one word, or nothing.
        reason: String,
        /// What it said.
        message: String,
        /// Reasons of the causes it named.
        causes: Vec<String>,
    },
    /// It serves no such kind.
    #[error("no matches for kind \"{kind}\" in version \"{api_version}\"")]
    NoMatch {
        /// The kind.
        kind: String,
        /// Group and version.
        api_version: String,
    },
    /// It did not answer, or not in a form that can be read.
    #[error("{0}")]
    Transport(String),
}

impl ApiError {
    /// Whether the object is not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Status { code: 404, .. })
    }

    /// Whether the server serves nothing at the path: what is known of the kind is no longer true.
    pub(crate) fn is_unknown_path(&self) -> bool {
        const WORDS: &str = "the server could not find the requested resource";
        // The server itself answers in plain text; its clients have made these words of it.
        matches!(self, Self::Status { code: 404, message, .. }
            if message == WORDS || message.starts_with("404 page not found"))
    }

    /// Whether another try without any change may do.
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

    /// Whether kubectl and Flux take it for an attempt to change what cannot be changed.
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

    /// Whose job it is.
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
            // `User "x" cannot patch resource "y"`; all else that is forbidden is admission's doing.
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
            // What the service says is all there is to say; the word in front of it is the client's.
            kube::Error::Service(inner) => Self::Transport(causes::joined(&*inner)),
            other => Self::Transport(causes::joined(&other)),
        }
    }
}

/// Where in the sources an object stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Path in the artifact.
    pub file: String,
    /// Line, from one.
    pub line: Option<usize>,
}

/// One object could not be brought to where it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which object, if it is one.
    pub object: Option<ObjectKey>,
    /// Whose job it is.
    pub class: ErrorClass,
    /// What happened, in Flux's words; names the object.
    pub message: String,
    /// Where it comes from, if that is known.
    pub place: Option<Place>,
}

impl Failure {
    /// A dry run was refused.
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

    /// Something else was refused.
    pub(crate) fn of(key: &ObjectKey, what: &str, error: &ApiError) -> Self {
        Self {
            object: Some(key.clone()),
            class: error.class(),
            message: format!("{key} {what}: {}", without_values(key, error)),
            place: None,
        }
    }
}

/// What an API server said about an object. About a Secret it may quote what it got in place of what it
/// expected; that is left out, because statuses and events are read by more people than Secrets are.
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

/// The class of several failures: of the first that is not just bad luck.
pub(crate) fn class_of(failures: &[Failure]) -> ErrorClass {
    let classes = failures.iter().map(|failure| failure.class);
    classes.into_iter().find(|it| *it != ErrorClass::Transient).unwrap_or(ErrorClass::Transient)
}

/// Objects could not be applied. What was done before is in `changes`.
#[derive(Clone, Debug, PartialEq)]
pub struct ApplyError {
    /// Each object that failed, in the order of applying.
    pub failures: Vec<Failure>,
    /// What was applied nevertheless.
    pub changes: ChangeSet,
    /// What may have been written or not: its write began, and failed.
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
