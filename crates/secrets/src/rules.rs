//! Which values of a document are encrypted, by their path and the comments above them.

use regex::Regex;
use sluice_base::go::regexp;

/// The rule of a document.
#[derive(Debug, Clone)]
pub(crate) enum Rule {
    /// All except below field names with this suffix.
    UnencryptedSuffix(String),
    /// Only below field names with this suffix.
    EncryptedSuffix(String),
    /// All except below matching field names.
    UnencryptedNames(Pattern),
    /// Only below matching field names.
    EncryptedNames(Pattern),
    /// All except below a matching comment.
    UnencryptedComments(Pattern),
    /// Only below a matching comment.
    EncryptedComments(Pattern),
}

/// A regular expression in Go's syntax; one that Go refuses matches nothing.
#[derive(Debug, Clone)]
pub(crate) struct Pattern(Option<Regex>);

impl Pattern {
    pub(crate) fn new(text: &str) -> Self {
        Self(regexp::compile(text).ok())
    }

    fn matches(&self, text: &str) -> bool {
        self.0.as_ref().is_some_and(|expression| expression.is_match(text))
    }
}

/// The comments above the current value, one list per level: whether each of them matches.
#[derive(Default)]
pub(crate) struct Above {
    levels: Vec<Vec<bool>>,
}

impl Above {
    pub(crate) fn enter(&mut self) {
        self.levels.push(Vec::new());
    }

    pub(crate) fn leave(&mut self) {
        self.levels.pop();
    }

    pub(crate) fn comment(&mut self, rule: &Rule, text: &[u8]) {
        let matches = match rule {
            Rule::UnencryptedComments(pattern) | Rule::EncryptedComments(pattern) => {
                pattern.matches(&String::from_utf8_lossy(text))
            }
            _ => false,
        };
        if let Some(level) = self.levels.last_mut() {
            level.push(matches);
        }
    }

    /// Ends the comments above a value.
    pub(crate) fn value(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            level.clear();
        }
    }

    fn any(&self) -> bool {
        self.levels.iter().flatten().any(|matches| *matches)
    }

    /// The same, without the last comment.
    fn any_before_last(&self) -> bool {
        let Some((last, outer)) = self.levels.split_last() else { return false };
        let last = last.split_last().map_or(&last[..], |(_, before)| before);
        outer.iter().flatten().chain(last).any(|matches| *matches)
    }
}

impl Rule {
    /// Whether the value, or comment, at a path is encrypted.
    pub(crate) fn encrypts(&self, path: &[String], above: &Above, is_comment: bool) -> bool {
        match self {
            Self::UnencryptedSuffix(suffix) => !path.iter().any(|name| name.ends_with(suffix)),
            Self::EncryptedSuffix(suffix) => path.iter().any(|name| name.ends_with(suffix)),
            Self::UnencryptedNames(pattern) => !path.iter().any(|name| pattern.matches(name)),
            Self::EncryptedNames(pattern) => path.iter().any(|name| pattern.matches(name)),
            Self::UnencryptedComments(_) => !above.any(),
            // The comment that switches encryption on is not encrypted itself.
            Self::EncryptedComments(_) if is_comment => above.any_before_last(),
            Self::EncryptedComments(_) => above.any(),
        }
    }
}
