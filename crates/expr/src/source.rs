//! The text of an expression, positions in it, and the errors that refer to them.
//!
//! Messages and the snippet under an error are cel-go's, because the API server shows them to users as they
//! are.

use std::fmt;

/// The longest line an error shows.
const SNIPPET_LIMIT: usize = 16_384;
/// How many errors one expression reports.
pub(crate) const ERROR_LIMIT: usize = 100;

/// A character offset into the source, or the place of an error that has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// An offset in characters.
    At(usize),
    /// Nowhere: printed as line -1, column 0.
    Nowhere,
}

/// An expression's characters with the offsets its lines begin at.
#[derive(Debug)]
pub(crate) struct Source {
    /// The characters.
    pub(crate) text: Vec<char>,
    /// The offset of the second line, of the third, and so on.
    lines: Vec<usize>,
}

impl Source {
    pub(crate) fn new(text: &str) -> Self {
        let text: Vec<char> = text.chars().collect();
        let lines = (0..text.len()).filter(|&at| text[at] == '\n').map(|at| at + 1).collect();
        Self { text, lines }
    }

    /// The one-based line and zero-based column of an offset.
    fn position(&self, offset: usize) -> (usize, usize) {
        let line = self.lines.partition_point(|&start| start <= offset);
        let start = if line == 0 { 0 } else { self.lines[line - 1] };
        (line + 1, offset - start)
    }

    fn snippet(&self, line: usize) -> Option<String> {
        if self.text.is_empty() {
            return None;
        }
        let start = if line == 1 { 0 } else { *self.lines.get(line - 2)? };
        let end = self.lines.get(line - 1).map_or(self.text.len(), |next| next - 1);
        Some(self.text[start..end].iter().collect())
    }

    fn show(&self, issue: &Issue, out: &mut String) {
        let Place::At(offset) = issue.place else {
            out.push_str("ERROR: <input>:-1:0: ");
            out.push_str(&issue.message);
            return;
        };
        let (line, column) = self.position(offset);
        out.extend(["ERROR: <input>:", &line.to_string(), ":", &(column + 1).to_string(), ": "]);
        out.push_str(&issue.message);
        let Some(snippet) = self.snippet(line).filter(|text| text.len() <= SNIPPET_LIMIT) else {
            return;
        };
        let snippet = snippet.replace('\t', " ");
        out.push_str("\n | ");
        out.push_str(&snippet);
        out.push_str("\n | ");
        let mut rest = snippet.chars();
        for character in rest.by_ref().take(column) {
            out.push(if character.is_ascii() { '.' } else { '\u{ff0e}' });
        }
        let wide = rest.next().is_some_and(|character| !character.is_ascii());
        out.push(if wide { '\u{ff3e}' } else { '^' });
    }
}

/// One thing wrong with an expression.
#[derive(Debug, Clone)]
pub(crate) struct Issue {
    /// Where.
    pub(crate) place: Place,
    /// The message, as in cel-go.
    pub(crate) message: String,
}

/// The errors of one expression in the order they were found.
#[derive(Debug, Default)]
pub(crate) struct Issues {
    found: Vec<Issue>,
    count: usize,
}

impl Issues {
    pub(crate) fn report(&mut self, place: Place, message: impl Into<String>) {
        self.count += 1;
        if self.count <= ERROR_LIMIT {
            self.found.push(Issue { place, message: message.into() });
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The errors as one text, sorted by place.
    pub(crate) fn into_error(mut self, source: &Source) -> CompileError {
        self.found.sort_by_key(|issue| match issue.place {
            Place::Nowhere => (0, 0),
            Place::At(offset) => source.position(offset),
        });
        let mut text = String::new();
        for (index, issue) in self.found.iter().enumerate() {
            if index > 0 {
                text.push('\n');
            }
            source.show(issue, &mut text);
        }
        if self.count > ERROR_LIMIT {
            let more = self.count - ERROR_LIMIT;
            text.extend(["\n", &more.to_string(), " more errors were truncated"]);
        }
        CompileError { text, instantiation: false }
    }
}

/// Why an expression was refused, in the text cel-go formats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileError {
    text: String,
    instantiation: bool,
}

impl CompileError {
    /// An error of turning a checked expression into a program.
    pub(crate) fn instantiation(text: String) -> Self {
        Self { text, instantiation: true }
    }

    /// Whether the expression compiled and only its program could not be made.
    pub fn is_instantiation(&self) -> bool {
        self.instantiation
    }
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for CompileError {}
