//! Exit codes: 0 fine, 1 findings or not ready, 2 the command failed.
//!
//! Commands that Flux has too fail like Flux's, so that scripts keep working: one line with a mark, and exit code 1.

use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;

/// The result of a command that succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Without findings.
    Fine,
    /// A finding, which was reported.
    Findings,
}

/// Why a command failed, with a hint.
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
    /// A failure without a cause.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None, hint: None, manner: Manner::Ours }
    }

    /// A failure with a cause.
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

    /// A failure of a command that Flux has too, with Flux's message.
    pub(crate) fn flux(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None, hint: None, manner: Manner::Flux(1) }
    }

    /// In Flux's style.
    #[must_use]
    pub(crate) fn in_flux_style(mut self) -> Self {
        self.manner = Manner::Flux(1);
        self
    }

    /// The same, with the exit code of a failed comparison.
    #[must_use]
    pub(crate) fn of_comparison(mut self) -> Self {
        self.manner = Manner::Flux(2);
        self
    }

    /// In the style of our own commands.
    #[must_use]
    pub(crate) fn in_own_style(mut self) -> Self {
        self.manner = Manner::Ours;
        self
    }

    /// The message, without its causes.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Adds a hint.
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
            // stderr is closed.
            let _ = writeln!(stderr, "{line}");
            if let Some(hint) = failure.hint {
                let _ = writeln!(stderr, "hint: {hint}");
            }
            ExitCode::from(code)
        }
    }
}
