//! One ignore pattern, with go-git's matching, which differs from git's.

use super::glob::{BadPattern, Glob};

/// A pattern of an ignore file.
#[derive(Debug, Clone)]
pub struct Pattern {
    /// The directory it applies to, as segments.
    domain: Vec<String>,
    /// Whether it includes paths again (`!`).
    includes: bool,
    directories_only: bool,
    shape: Shape,
}

#[derive(Debug, Clone)]
enum Shape {
    /// Without a slash: matches any segment of the path.
    Name(Glob),
    /// With a slash: consecutive segments, from the domain on.
    Path(Vec<Part>),
}

#[derive(Debug, Clone)]
enum Part {
    /// Empty: between two slashes, or before the first.
    Empty,
    /// `**`.
    AnyDirectories,
    /// `**` among other characters; such a pattern matches nothing.
    Broken,
    Glob(Glob),
}

impl Pattern {
    /// Parses a pattern for a directory, which is given by its segments.
    pub fn parse(text: &str, domain: &[&str]) -> Self {
        let (includes, text) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let text = if text.ends_with("\\ ") { text } else { text.trim_end_matches(' ') };
        let (directories_only, text) = match text.strip_suffix('/') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let shape = if text.contains('/') {
            Shape::Path(text.split('/').map(Part::parse).collect())
        } else {
            Shape::Name(Glob::parse(text))
        };
        let domain = domain.iter().map(|part| (*part).to_owned()).collect();
        Self { domain, includes, directories_only, shape }
    }

    /// Whether it excludes a path (true), includes it (false), or does not match.
    pub(super) fn verdict(&self, path: &[&str], is_directory: bool) -> Option<bool> {
        let (domain, path) = path.split_at_checked(self.domain.len())?;
        if path.is_empty() || domain != self.domain {
            return None;
        }
        let matches = match &self.shape {
            Shape::Name(glob) => self.matches_name(glob, path, is_directory),
            Shape::Path(parts) => self.matches_path(parts, path, is_directory),
        };
        // A malformed pattern matches nothing.
        matches.unwrap_or(false).then_some(!self.includes)
    }

    fn matches_name(
        &self,
        glob: &Glob,
        path: &[&str],
        is_directory: bool,
    ) -> Result<bool, BadPattern> {
        for (index, name) in path.iter().enumerate() {
            if glob.matches(name)? {
                let is_last = index + 1 == path.len();
                return Ok(!(self.directories_only && is_last && !is_directory));
            }
        }
        Ok(false)
    }

    fn matches_path(
        &self,
        parts: &[Part],
        path: &[&str],
        is_directory: bool,
    ) -> Result<bool, BadPattern> {
        let mut rest = path;
        let mut matched = false;
        let mut may_skip = false;
        for (index, part) in parts.iter().enumerate() {
            match part {
                Part::Empty => may_skip = false,
                Part::AnyDirectories if index + 1 == parts.len() => break,
                Part::AnyDirectories => may_skip = true,
                Part::Broken => return Ok(false),
                Part::Glob(_) if rest.is_empty() => return Ok(false),
                Part::Glob(glob) if may_skip => {
                    may_skip = false;
                    // Continues at the first segment that matches; go-git does not backtrack.
                    while let Some((name, after)) = rest.split_first() {
                        rest = after;
                        if glob.matches(name)? {
                            matched = true;
                            break;
                        }
                        if rest.is_empty() {
                            matched = false;
                        }
                    }
                }
                Part::Glob(glob) => {
                    let Some((name, after)) = rest.split_first() else { return Ok(false) };
                    if !glob.matches(name)? {
                        return Ok(false);
                    }
                    matched = true;
                    rest = after;
                }
            }
        }
        Ok(matched && !(self.directories_only && !is_directory && rest.is_empty()))
    }
}

impl Part {
    fn parse(text: &str) -> Self {
        match text {
            "" => Self::Empty,
            "**" => Self::AnyDirectories,
            text if text.contains("**") => Self::Broken,
            text => Self::Glob(Glob::parse(text)),
        }
    }
}
