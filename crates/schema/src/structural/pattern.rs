//! A `pattern` of a schema, compiled once and kept with its error.

use regex::Regex;
use sluice_base::go::regexp;

/// A regular expression in Go's syntax.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: String,
    compiled: Result<Regex, String>,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Pattern {
    /// Compiles `text`; a pattern that does not compile keeps its error.
    pub fn new(text: &str) -> Self {
        let compiled = regexp::compile(text).map_err(|error| error.to_string());
        Self { text: text.to_owned(), compiled }
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The compiled pattern, or why Go refuses it.
    pub fn regex(&self) -> Result<&Regex, &str> {
        self.compiled.as_ref().map_err(String::as_str)
    }
}
