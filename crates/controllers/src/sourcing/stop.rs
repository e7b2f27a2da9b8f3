//! Why a pass over a source ends before its end.

use sluice_api::names::conditions::{FETCH_FAILED, SOURCE_VERIFIED, STORAGE_OPERATION_FAILED};
use sluice_runtime::error::ApiError;
use sluice_ssa::ErrorClass;

/// Why a pass ended before its end.
#[derive(Debug)]
pub enum Stop {
    /// A failure: said in a condition, told as an event, tried again with growing pauses; or never, if only
    /// another spec helps.
    Failed {
        /// The condition that says it.
        condition: &'static str,
        /// Why, in one word.
        reason: String,
        /// What happened.
        message: String,
        /// Whether trying again is of no use.
        stalls: bool,
    },
    /// Something else has to come first.
    Waiting {
        /// The condition that says it.
        condition: &'static str,
        /// Why, in one word.
        reason: &'static str,
        /// For what.
        message: String,
    },
    /// The API server could not be used.
    Api(ApiError),
}

impl From<ApiError> for Stop {
    fn from(error: ApiError) -> Self {
        Self::Api(error)
    }
}

impl Stop {
    /// Whose job it is to fix it.
    pub(super) fn class(&self) -> ErrorClass {
        match self {
            Self::Failed { condition: STORAGE_OPERATION_FAILED, .. } | Self::Api(_) => {
                ErrorClass::Transient
            }
            Self::Failed { condition: SOURCE_VERIFIED, .. } => ErrorClass::Policy,
            Self::Failed { reason, .. } => {
                ErrorClass::of_reason(reason).unwrap_or(ErrorClass::Source)
            }
            Self::Waiting { .. } => ErrorClass::Dependency,
        }
    }

    fn failed(condition: &'static str, reason: &str, message: impl Into<String>) -> Self {
        let (reason, message) = (reason.to_owned(), message.into());
        Self::Failed { condition, reason, message, stalls: false }
    }

    /// The source could not be read.
    pub(crate) fn fetch(reason: &str, message: impl Into<String>) -> Self {
        Self::failed(FETCH_FAILED, reason, message)
    }

    /// The artifact could not be made or kept.
    pub(crate) fn storage(reason: &str, message: impl Into<String>) -> Self {
        Self::failed(STORAGE_OPERATION_FAILED, reason, message)
    }

    /// The spec cannot be used.
    pub(crate) fn stalled(reason: &str, message: impl Into<String>) -> Self {
        let (reason, message) = (reason.to_owned(), message.into());
        Self::Failed { condition: FETCH_FAILED, reason, message, stalls: true }
    }

    /// A signature is missing or wrong.
    pub(crate) fn unverified(reason: &str, message: String, stalls: bool) -> Self {
        Self::Failed { condition: SOURCE_VERIFIED, reason: reason.to_owned(), message, stalls }
    }
}
