//! Revisions in Flux's formats, and the older ones that it still compares with.

use std::fmt;

/// `main@sha1:<hash>`, `sha1:<hash>`, `v1.2@sha256:<hash>`, a bare digest, or a chart's version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Revision(String);

impl Revision {
    /// A revision as it is written.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// `<pointer>@<digest>`, or the bare digest without a pointer.
    pub fn of(pointer: &str, digest: &str) -> Self {
        if pointer.is_empty() {
            Self(digest.to_owned())
        } else {
            Self(format!("{pointer}@{digest}"))
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The branch, tag or other name; empty where there is none.
    pub fn pointer(&self) -> &str {
        if let Some((pointer, _)) = self.0.rsplit_once('@') {
            return pointer;
        }
        match self.0.rsplit_once('/') {
            Some((pointer, _)) if pointer != "HEAD" => pointer,
            _ => "",
        }
    }

    /// The hash without its algorithm.
    pub fn hash(&self) -> &str {
        let after = |separator| self.0.rsplit_once(separator).map(|(_, hash)| hash);
        after(':').or_else(|| after('/')).unwrap_or(&self.0)
    }

    /// Converts a revision of before 2023 (`main/<sha>`, `HEAD/<sha>`) to the current format.
    #[must_use]
    pub fn normalized(&self) -> Self {
        if self.0.is_empty() || self.0.contains(':') {
            return self.clone();
        }
        let hash = self.hash();
        let algorithm = if hash.len() == 40 { "sha1" } else { "<unknown>" };
        Self::of(self.pointer(), &format!("{algorithm}:{hash}"))
    }

    /// Whether both are the same revision, in any format.
    pub fn is_same(&self, other: &Self) -> bool {
        self.normalized() == other.normalized()
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<&str> for Revision {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA: &str = "5394cb7f48332b2de7c17dd8b8384bbc84b7e738";

    #[test]
    fn every_form_has_a_pointer_a_hash_and_a_present_form() {
        let cases = [
            ("main@sha1:X", "main", "main@sha1:X"),
            ("feature/branch@sha1:X", "feature/branch", "feature/branch@sha1:X"),
            ("sha1:X", "", "sha1:X"),
            ("main/X", "main", "main@sha1:X"),
            ("feature/branch/X", "feature/branch", "feature/branch@sha1:X"),
            ("HEAD/X", "", "sha1:X"),
            ("X", "", "sha1:X"),
        ];
        for (text, pointer, normal) in cases {
            let revision = Revision::new(text.replace('X', SHA));
            assert_eq!(revision.pointer(), pointer, "{text}");
            assert_eq!(revision.hash(), SHA, "{text}");
            assert_eq!(revision.normalized(), Revision::new(normal.replace('X', SHA)), "{text}");
        }
        assert_eq!(Revision::default().normalized(), Revision::default());
    }
}
