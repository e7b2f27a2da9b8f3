//! Build errors: each cause with file, line, object and hint.

use std::fmt;

use sluice_yaml::Position;

/// What the engine's functions return.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// One cause.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file, as the file tree names it.
    pub file: Option<String>,
    /// The position in the file.
    pub position: Option<Position>,
    /// The object or field.
    pub object: Option<String>,
    /// The message, kustomize's where it has one.
    pub message: String,
    /// The hint.
    pub hint: Option<String>,
    /// The kustomization directories that led here, outermost first.
    pub through: Vec<String>,
    /// kustomize's message, if ours is better.
    pub(crate) wording: Option<String>,
    /// kustomize's prefixes, outermost first.
    pub(crate) wrappings: Vec<Wrapping>,
}

/// A prefix of a message, which may be quoted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrapping {
    words: String,
    quotes: bool,
}

impl Diagnostic {
    /// kustomize's whole message with all prefixes.
    pub fn original_message(&self) -> String {
        let words = self.wording.as_ref().unwrap_or(&self.message).clone();
        self.wrappings.iter().rev().fold(words, |inner, wrapping| {
            let words = &wrapping.words;
            if wrapping.quotes { format!("{words} {inner:?}") } else { format!("{words}: {inner}") }
        })
    }
}

/// Why a build failed; has at least one cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    first: Box<Diagnostic>,
    rest: Vec<Diagnostic>,
}

impl Failure {
    /// A failure with one cause.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self::from(Diagnostic { message: message.into(), ..Diagnostic::default() })
    }

    /// The causes, in the order in which they were found.
    pub fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        std::iter::once(&*self.first).chain(&self.rest)
    }

    /// All causes in kustomize's and Flux's texts, one per line. If there are several, each is followed by its position, if
    /// known; a single one is unchanged.
    pub fn words(&self) -> String {
        self.lines().map(|(words, _)| words).collect::<Vec<_>>().join("\n")
    }

    /// The lines of [`Failure::words`], each with its cause.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (String, &Diagnostic)> {
        let only = self.rest.is_empty();
        self.diagnostics().map(move |cause| {
            let words = cause.original_message();
            let line = match (&cause.file, cause.position) {
                (Some(file), Some(Position { line, column })) if !only && line > 0 => {
                    format!("{words} ({file}:{line}:{column})")
                }
                _ => words,
            };
            (line, cause)
        })
    }

    fn each(mut self, change: impl Fn(&mut Diagnostic)) -> Self {
        change(&mut self.first);
        self.rest.iter_mut().for_each(change);
        self
    }

    /// Prefixes every message.
    pub(crate) fn context(self, words: impl fmt::Display) -> Self {
        self.each(|cause| cause.message = format!("{words}: {}", cause.message))
    }

    /// Adds a prefix of kustomize; our own messages show the directories instead.
    pub(crate) fn wrapped(self, words: impl fmt::Display) -> Self {
        self.wrap(words, false)
    }

    /// Like [`Failure::wrapped`], with the message in quotes.
    pub(crate) fn quoted(self, words: impl fmt::Display) -> Self {
        self.wrap(words, true)
    }

    fn wrap(self, words: impl fmt::Display, quotes: bool) -> Self {
        self.each(|cause| {
            cause.wrappings.insert(0, Wrapping { words: words.to_string(), quotes });
        })
    }

    /// Keeps kustomize's message so far, if our message differs.
    pub(crate) fn wording(self, wording: impl Fn(&Diagnostic) -> String) -> Self {
        self.each(|cause| {
            cause.wording = Some(wording(cause));
            cause.wrappings.clear();
        })
    }

    /// kustomize's message; it reports one cause.
    pub(crate) fn original_message(&self) -> String {
        self.first.original_message()
    }

    /// Sets the file of causes without one.
    pub(crate) fn in_file(self, file: &str) -> Self {
        self.each(|cause| {
            cause.file.get_or_insert_with(|| file.to_owned());
        })
    }

    /// Makes the file names of causes that are relative to a directory absolute.
    pub(crate) fn below(self, directory: &str) -> Self {
        self.each(|cause| {
            if let Some(file) = &mut cause.file
                && !file.starts_with('/')
                && !crate::loader::is_url(file)
            {
                *file = crate::loader::path::join(directory, file);
            }
        })
    }

    /// Sets file and position of causes without a file.
    pub(crate) fn in_file_at(self, file: &str, position: Position) -> Self {
        self.each(|cause| {
            if cause.file.is_none() {
                cause.file = Some(file.to_owned());
                cause.position = Some(position);
            }
        })
    }

    /// Sets the position of causes without one.
    pub(crate) fn at(self, position: Position) -> Self {
        self.each(|cause| {
            if position.line > 0 {
                cause.position.get_or_insert(position);
            }
        })
    }

    /// Sets the position of all causes, because theirs is not one of the file.
    pub(crate) fn moved_to(self, position: Position) -> Self {
        self.each(|cause| cause.position = Some(position))
    }

    /// Sets the object of causes without one.
    pub(crate) fn about(self, object: impl fmt::Display) -> Self {
        self.each(|cause| {
            cause.object.get_or_insert_with(|| object.to_string());
        })
    }

    /// Sets the hint of causes without one.
    pub(crate) fn hint(self, hint: impl fmt::Display) -> Self {
        self.each(|cause| {
            cause.hint.get_or_insert_with(|| hint.to_string());
        })
    }

    /// Adds a directory through which the causes were reached; inner ones come first.
    pub(crate) fn through(self, directory: &str) -> Self {
        self.each(|cause| cause.through.insert(0, directory.to_owned()))
    }

    /// Removes duplicate causes.
    pub(crate) fn without_repeats(self) -> Self {
        let mut seen = std::collections::HashSet::new();
        let mut is_new = |cause: &Diagnostic| {
            let Diagnostic { file, position, object, message, .. } = cause;
            let position = position.map(|Position { line, column }| (line, column));
            seen.insert((file.clone(), position, object.clone(), message.clone()))
        };
        is_new(&self.first);
        let rest = self.rest.into_iter().filter(|cause| is_new(cause)).collect();
        Self { first: self.first, rest }
    }

    /// Joins two failures.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.rest.push(*other.first);
        self.rest.extend(other.rest);
        self
    }
}

/// Collects independent failures, so that all are reported at once.
#[derive(Debug, Default)]
pub(crate) struct Gathered(Option<Failure>);

impl Gathered {
    /// The value of a result; its failure is kept.
    pub(crate) fn take<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|failure| self.add(failure)).ok()
    }

    /// Keeps a failure.
    pub(crate) fn add(&mut self, failure: Failure) {
        self.0 = Some(match self.0.take() {
            Some(before) => before.and(failure),
            None => failure,
        });
    }

    /// All failures, if there were any.
    pub(crate) fn finish(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}

impl From<Diagnostic> for Failure {
    fn from(cause: Diagnostic) -> Self {
        Self { first: Box::new(cause), rest: Vec::new() }
    }
}

impl From<sluice_yaml::Error> for Failure {
    fn from(error: sluice_yaml::Error) -> Self {
        let position = error.position();
        Diagnostic { position, message: error.to_string(), ..Diagnostic::default() }.into()
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(formatter, "{file}:")?;
            if let Some(Position { line, column }) = self.position {
                write!(formatter, "{line}:{column}:")?;
            }
            formatter.write_str(" ")?;
        }
        if let Some(object) = &self.object {
            write!(formatter, "{object}: ")?;
        }
        formatter.write_str(&self.message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, cause) in self.diagnostics().enumerate() {
            if index > 0 {
                formatter.write_str("\n")?;
            }
            write!(formatter, "{cause}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::{Failure, Gathered};

    #[test]
    fn the_innermost_place_wins_and_causes_add_up() {
        let mut all = Gathered::default();
        assert_eq!(all.take(Ok(1)), Some(1));
        let first =
            Failure::new("no such field").in_file("a.yaml").in_file("b.yaml").context("patch");
        assert_eq!(all.take::<()>(Err(first)), None);
        all.add(Failure::new("other").about("Deployment/web"));
        let failure = all.finish().expect_err("two were added");
        assert_eq!(failure.to_string(), "a.yaml: patch: no such field\nDeployment/web: other");
    }
}
