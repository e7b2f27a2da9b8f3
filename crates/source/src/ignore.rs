//! Ignore rules: `.sourceignore`, `spec.ignore` and defaults, as `fluxcd/pkg/sourceignore` (with go-git's
//! `.gitignore` matching) has them.

pub(crate) mod glob;
mod pattern;

pub use pattern::Pattern;

use crate::tree::{Node, SourceTree};

/// The file with patterns for its directory and below.
const IGNORE_FILE: &str = ".sourceignore";

/// Patterns that are always excluded, unless included again.
const VERSION_CONTROL: [&str; 4] = [".git/", ".gitignore", ".gitmodules", ".gitattributes"];

/// Patterns that are excluded if there are no others.
const DEFAULTS: [&str; 20] = [
    "*.jpg",
    "*.jpeg",
    "*.gif",
    "*.png",
    "*.wmv",
    "*.flv",
    "*.tar.gz",
    "*.zip",
    ".github/",
    ".circleci/",
    ".travis.yml",
    ".gitlab-ci.yml",
    "appveyor.yml",
    ".drone.yml",
    "cloudbuild.yaml",
    "codeship-services.yml",
    "codeship-steps.yml",
    "**/.goreleaser.yml",
    "**/.sops.yaml",
    "**/.flux.yaml",
];

/// The line length at which Go's scanner stops reading the file.
const LONGEST_LINE: usize = 64 << 10;

/// The patterns of a source; later ones take precedence.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    patterns: Vec<Pattern>,
}

impl Rules {
    /// The rules of an artifact: the tree's ignore files and `spec.ignore`. Without either, the defaults.
    pub fn of_source(files: &SourceTree, spec: Option<&str>) -> Self {
        let mut said = patterns_of_tree(files);
        said.extend(spec.map(|text| read(text, &[])).unwrap_or_default());
        Self::with_defaults(said)
    }

    /// The patterns after those that always apply, or after the defaults if there are none.
    pub fn with_defaults(said: Vec<Pattern>) -> Self {
        let always = VERSION_CONTROL.iter();
        let defaults = if said.is_empty() { &DEFAULTS[..] } else { &[] };
        let parsed = always.chain(defaults).map(|text| Pattern::parse(text, &[]));
        Self { patterns: parsed.chain(said).collect() }
    }

    /// Exactly these patterns.
    pub fn new(patterns: Vec<Pattern>) -> Self {
        Self { patterns }
    }

    /// Whether a path is excluded. The last matching pattern decides.
    pub fn excludes(&self, path: &str, is_directory: bool) -> bool {
        let parts: Vec<&str> = path.split('/').collect();
        let verdict = |pattern: &Pattern| pattern.verdict(&parts, is_directory);
        self.patterns.iter().rev().find_map(verdict).unwrap_or(false)
    }
}

/// Parses patterns, one per line, for a directory and those below.
pub fn read(text: &str, domain: &[&str]) -> Vec<Pattern> {
    text.split('\n')
        .take_while(|line| line.len() < LONGEST_LINE)
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .map(|line| Pattern::parse(line, domain))
        .collect()
}

/// The patterns of all ignore files, those of a directory before those of its subdirectories.
fn patterns_of_tree(files: &SourceTree) -> Vec<Pattern> {
    let mut found: Vec<(Vec<&str>, &[u8])> = Vec::new();
    for (path, node) in files.iter() {
        let Node::File { content, .. } = node else { continue };
        let mut domain: Vec<&str> = path.split('/').collect();
        if domain.pop() == Some(IGNORE_FILE) && !domain.contains(&".git") {
            found.push((domain, content));
        }
    }
    // Parents first: the walk order alone does not guarantee that across siblings.
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
        .into_iter()
        .flat_map(|(domain, text)| read(&String::from_utf8_lossy(text), &domain))
        .collect()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn tree(files: &[(&str, &str)]) -> SourceTree {
        files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), Bytes::from((*text).to_owned())))
            .collect()
    }

    #[test]
    fn the_defaults_hold_until_somebody_says_something() {
        let quiet = Rules::of_source(&tree(&[("a", "")]), None);
        assert!(quiet.excludes("docs/logo.png", false));
        assert!(quiet.excludes(".github", true));
        assert!(quiet.excludes("deep/.sops.yaml", false));
        assert!(!quiet.excludes("deploy/app.yaml", false));
        let spoken = Rules::of_source(&tree(&[("a", "")]), Some("docs/"));
        assert!(spoken.excludes("docs/logo.png", false));
        assert!(!spoken.excludes("logo.png", false));
        assert!(spoken.excludes(".gitignore", false));
    }

    #[test]
    fn an_ignore_file_holds_for_its_directory_and_the_spec_comes_last() {
        let files = tree(&[
            (".sourceignore", "*.txt\n# no\n"),
            ("apps/.sourceignore", "!keep.txt\n/only\n"),
        ]);
        let rules = Rules::of_source(&files, None);
        assert!(rules.excludes("keep.txt", false));
        assert!(!rules.excludes("apps/keep.txt", false));
        assert!(rules.excludes("apps/only", false));
        assert!(!rules.excludes("apps/deep/only", false));
        assert!(!rules.excludes("only", false));
        let rules = Rules::of_source(&files, Some("!*.txt"));
        assert!(!rules.excludes("keep.txt", false));
    }
}
