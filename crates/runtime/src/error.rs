//! Why the API server could not be used, with what was asked of it.

use sluice_base::causes;

use crate::key::Key;

/// A request that failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {verb} {kind} {key}: {}", reason(source))]
pub struct ApiError {
    /// What was asked.
    pub verb: &'static str,
    /// Of which kind.
    pub kind: String,
    /// Of which object.
    pub key: Key,
    /// What came back; its text is part of this one's.
    pub source: Box<kube::Error>,
}

impl ApiError {
    /// A failed request.
    pub fn new(verb: &'static str, kind: &str, key: &Key, source: kube::Error) -> Self {
        Self { verb, kind: kind.to_owned(), key: key.clone(), source: Box::new(source) }
    }

    /// The HTTP status, where the server answered.
    pub fn code(&self) -> Option<u16> {
        match &*self.source {
            kube::Error::Api(status) => Some(status.code),
            _ => None,
        }
    }

    /// Whether the object is not there.
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(404)
    }
}

fn reason(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        kube::Error::Service(inner) => causes::joined(&**inner),
        other => causes::joined(other),
    }
}
