//! How a command ends: 0 fine, 1 findings or not ready, 2 it could not be done.
//!
//! Commands that Flux has as well fail as Flux's do, so that scripts keep working: one line behind a
//! mark, and 1.

use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;

/// What a command found, if it could do its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything is as it should be.
    Fine,
    /// A finding, which was reported.
    Findings,
}

/// Why a command could not do its work, with what to do about it.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
    hint: Option<String>,
    manner: Manner,
}

/// The style of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Ours,
    /// With this exit code.
    Flux(u8),
}

impl Failure {
    /// A failure that nothing else caused.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None, hint: None, manner: Manner::Ours }
    }

    /// A failure that `source` caused.
    pub(crate) fn caused(
        message: impl Into<String>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self {
            message: message.into(),
            source: Some(source.into()),
            hint: None,
            manner: Manner::Ours,
        }
    }

    /// A failure of a command that Flux has as well, in Flux's words.
    pub(crate) fn flux(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None, hint: None, manner: Manner::Flux(1) }
    }

    /// In Flux's style.
    #[must_use]
    pub(crate) fn told_as_flux(mut self) -> Self {
        self.manner = Manner::Flux(1);
        self
    }

    /// The same, with the exit code of a comparison that could not be done.
    #[must_use]
    pub(crate) fn of_comparison(mut self) -> Self {
        self.manner = Manner::Flux(2);
        self
    }

    /// In the style of our own commands.
    #[must_use]
    pub(crate) fn told_as_ours(mut self) -> Self {
        self.manner = Manner::Ours;
        self
    }

    /// What happened, without its causes.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// With advice.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Ends the program: prints a failure on stderr, the cause chain in one line, the hint below it.
pub(crate) fn report(result: Result<Outcome, Failure>) -> ExitCode {
    match result {
        Ok(Outcome::Fine) => ExitCode::SUCCESS,
        Ok(Outcome::Findings) => ExitCode::from(1),
        Err(failure) => {
            let (mark, code) = match failure.manner {
                Manner::Ours => ("error:", 2),
                Manner::Flux(code) => ("✗", code),
            };
            let mut line = format!("{mark} {}", failure.message);
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
            ExitCode::from(code)
        }
    }
}
