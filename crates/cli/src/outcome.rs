//! How a command ends: 0 fine, 1 findings or not ready, 2 it could not be done.

use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;

/// What a command found, if it could do its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything is as it should be.
    Fine,
    /// Something is not, and was told.
    Findings,
}

/// Why a command could not do its work, with what to do about it.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
    hint: Option<String>,
}

impl Failure {
    /// A failure that nothing else caused.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None, hint: None }
    }

    /// A failure that `source` caused.
    pub(crate) fn caused(
        message: impl Into<String>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self { message: message.into(), source: Some(source.into()), hint: None }
    }

    /// With advice.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Ends the program: tells a failure on stderr, the cause chain in one line, the hint below it.
pub(crate) fn report(result: Result<Outcome, Failure>) -> ExitCode {
    match result {
        Ok(Outcome::Fine) => ExitCode::SUCCESS,
        Ok(Outcome::Findings) => ExitCode::from(1),
        Err(failure) => {
            let mut line = format!("error: {}", failure.message);
            let mut cause = failure.source.as_deref().map(|source| source as &dyn Error);
            while let Some(error) = cause {
                line.push_str(": ");
                line.push_str(&error.to_string());
                cause = error.source();
            }
            let mut stderr = std::io::stderr().lock();
            // Nothing is left to do if stderr is gone.
            let _ = writeln!(stderr, "{line}");
            if let Some(hint) = failure.hint {
                let _ = writeln!(stderr, "hint: {hint}");
            }
            ExitCode::from(2)
        }
    }
}
