//! The list of answers that are known to differ, with the reason of each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What may differ: (script, title) and the reason.
#[derive(Clone, Debug, Default)]
pub struct KnownDifferences(BTreeMap<(String, String), String>);

/// Why the list cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KnownError {
    /// The file is absent or unreadable.
    #[error("{0}")]
    File(PathBuf, #[source] std::io::Error),
    /// A line is not `script | title | reason`.
    #[error("line {0} is not `script | title | reason`")]
    Line(usize),
}

impl KnownDifferences {
    /// Reads the list: a line per answer, `script | title | reason`; `#` starts a comment.
    pub fn read(path: &Path) -> Result<Self, KnownError> {
        let text =
            std::fs::read_to_string(path).map_err(|e| KnownError::File(path.to_owned(), e))?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self, KnownError> {
        let mut known = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let parts: Vec<_> = line.splitn(3, " | ").map(str::trim).collect();
            let [script, title, reason] = parts.as_slice() else {
                return Err(KnownError::Line(number + 1));
            };
            known.insert(((*script).to_owned(), (*title).to_owned()), (*reason).to_owned());
        }
        Ok(Self(known))
    }

    /// Whether this answer may differ.
    pub fn allows(&self, script: &str, title: &str) -> bool {
        self.0.contains_key(&(script.to_owned(), title.to_owned()))
    }

    /// The answers on the list, as script and title.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.keys().map(|(script, title)| (script.as_str(), title.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_a_reason_is_refused() {
        let known = KnownDifferences::parse("# why\na/b | one | because\n").expect("it parses");
        assert!(known.allows("a/b", "one"));
        assert!(!known.allows("a/b", "two"));
        assert!(matches!(KnownDifferences::parse("a/b | one\n"), Err(KnownError::Line(1))));
    }
}
