//! Parse errors, with go-yaml's messages.

use std::fmt;

use crate::node::Position;

/// Why a text could not be read; its `Display` is the text that go-yaml gives.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is not YAML.
    Syntax {
        /// The line that go-yaml names, counted from one; it names none for the first line.
        line: Option<usize>,
        /// What is wrong.
        problem: String,
        /// Where, if that is known better than by the line: the start of what does not end, or the
        /// character that is wrong. go-yaml's line may be one less.
        at: Option<Position>,
    },
    /// The text is YAML, but some of its values cannot be taken as they are.
    Values(Vec<String>),
    /// What was read has no form where it should go, such as an infinity in JSON.
    Unsupported(String),
}

impl Error {
    /// A problem without a place.
    pub(crate) fn problem(problem: impl Into<String>) -> Self {
        Self::Syntax { line: None, problem: problem.into(), at: None }
    }

    /// The place of the error, as well as it is known.
    pub fn position(&self) -> Option<Position> {
        match self {
            Self::Syntax { at: Some(at), .. } => Some(*at),
            _ => self.line().map(|line| Position { line, column: 1 }),
        }
    }

    /// The line the error names, counted from one.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::Syntax { line, .. } => *line,
            Self::Values(problems) => {
                let rest = problems.first()?.strip_prefix("line ")?;
                rest.split_once(':')?.0.parse().ok()
            }
            Self::Unsupported(_) => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { line: Some(line), problem, .. } => {
                write!(formatter, "yaml: line {line}: {problem}")
            }
            Self::Syntax { line: None, problem, .. } => write!(formatter, "yaml: {problem}"),
            Self::Values(problems) => {
                write!(formatter, "yaml: unmarshal errors:\n  {}", problems.join("\n  "))
            }
            Self::Unsupported(problem) => formatter.write_str(problem),
        }
    }
}
