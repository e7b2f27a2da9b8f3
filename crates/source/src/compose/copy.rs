//! One copy step, with the rules of `cp`.

use super::merge::merge_yaml;
use super::pattern::PathPattern;
use super::{ComposeError, CopyStep, Sources, Strategy};
use crate::archive::{ArchiveLimits, unpack};
use crate::tree::{Node, SourceTree};

/// Runs a step.
pub(super) fn apply(
    step: &CopyStep,
    sources: &Sources,
    made: &mut SourceTree,
) -> Result<(), ComposeError> {
    let (alias, pattern) = parse_from(&step.from)?;
    let Some(to) = step.to.strip_prefix("@artifact/") else {
        return Err(ComposeError(format!(
            "invalid copy destination '{}': destination must start with '@artifact/'",
            step.to
        )));
    };
    let Some(files) = sources.get(alias) else {
        return Err(ComposeError(format!("source alias '{alias}' not found")));
    };
    let mut exclude = Vec::new();
    for text in &step.exclude {
        let read = PathPattern::double(text)
            .map_err(|_| ComposeError(format!("invalid exclude pattern '{text}'")))?;
        exclude.push((read, text.contains('/')));
    }
    let mut copier = Copier { strategy: step.strategy, files, exclude, made };
    if pattern.contains(['*', '?', '[', ']']) {
        copier.copy_matches(alias, pattern, to)
    } else {
        copier.copy_one(&clean(pattern)?, to, step.to.ends_with('/'))
    }
}

fn parse_from(from: &str) -> Result<(&str, &str), ComposeError> {
    let wrong = |why: &str| ComposeError(format!("invalid copy source '{from}': {why}"));
    let rest = from.strip_prefix('@').ok_or_else(|| wrong("source must start with '@'"))?;
    rest.split_once('/').ok_or_else(|| wrong("source format must be '@alias/pattern'"))
}

/// A clean path without dots and doubled slashes; empty is the root. Leaving the root is an error.
fn clean(path: &str) -> Result<String, ComposeError> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                if parts.pop().is_none() {
                    return Err(ComposeError(format!("openat {path}: path escapes from parent")));
                }
            }
            part => parts.push(part),
        }
    }
    Ok(parts.join("/"))
}

fn join(directory: &str, name: &str) -> Result<String, ComposeError> {
    clean(&format!("{directory}/{name}"))
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

fn is_tarball(path: &str) -> bool {
    let lower = path.to_lowercase();
    [".tar.gz", ".tgz"].iter().any(|end| lower.ends_with(end))
}

struct Copier<'c> {
    strategy: Strategy,
    files: &'c SourceTree,
    /// Patterns, and whether they match whole paths only.
    exclude: Vec<(PathPattern, bool)>,
    made: &'c mut SourceTree,
}

impl Copier<'_> {
    /// Copies a single file or directory.
    fn copy_one(&mut self, from: &str, to: &str, into: bool) -> Result<(), ComposeError> {
        let is_directory = match self.files.get(from) {
            _ if from.is_empty() => true,
            Some(Node::Directory) => true,
            Some(_) => false,
            None => return Err(ComposeError(format!("source '{from}' does not exist"))),
        };
        if is_directory {
            if self.strategy == Strategy::Extract {
                return Err(ComposeError(format!(
                    "extract strategy is not supported for directories, got '{from}'"
                )));
            }
            // The directory becomes one below the destination, as with `cp -r`.
            let target = join(to, base_name(from))?;
            return self.copy_directory(from, &target, from);
        }
        if self.is_excluded(from, "") {
            return Ok(());
        }
        if self.strategy == Strategy::Extract {
            if !is_tarball(from) {
                return Err(ComposeError(format!(
                    "extract strategy requires tarball file (.tar.gz or .tgz), got '{from}'"
                )));
            }
            return self.extract(from, to);
        }
        let target = clean(to)?;
        let is_there = target.is_empty() || self.made.get(&target) == Some(&Node::Directory);
        let target = if into || is_there { join(&target, base_name(from))? } else { target };
        self.copy_file(from, &target)
    }

    /// Copies everything that matches a pattern.
    fn copy_matches(&mut self, alias: &str, pattern: &str, to: &str) -> Result<(), ComposeError> {
        let read = match self.strategy {
            Strategy::Extract => PathPattern::double(pattern),
            _ => PathPattern::plain(pattern),
        };
        let read = read.map_err(|_| {
            ComposeError(format!("invalid glob pattern '{pattern}': syntax error in pattern"))
        })?;
        let files = self.files;
        let matched: Vec<&str> =
            files.iter().map(|(path, _)| path).filter(|path| read.matches(path)).collect();
        if matched.is_empty() {
            return Err(ComposeError(format!(
                "no files match pattern '{pattern}' in source '{alias}'"
            )));
        }
        let base = selection_root(pattern);
        let kept: Vec<&str> =
            matched.into_iter().filter(|path| !self.is_excluded(path, &base)).collect();
        if kept.is_empty() {
            return Err(ComposeError(format!(
                "all files matching pattern '{pattern}' in source '{alias}' were excluded"
            )));
        }
        for path in kept {
            if self.strategy == Strategy::Extract {
                if is_tarball(path) {
                    self.extract(path, to).map_err(|error| {
                        ComposeError(format!(
                            "failed to extract tarball '{path}' to '{to}': {error}"
                        ))
                    })?;
                }
                continue;
            }
            let target = join(to, below_pattern(pattern, path))?;
            let copied = match files.get(path) {
                Some(Node::Directory) => self.copy_directory(path, &target, &base),
                _ => self.copy_file(path, &target),
            };
            copied.map_err(|error| {
                ComposeError(format!("failed to copy file '{path}' to '{target}': {error}"))
            })?;
        }
        Ok(())
    }

    /// Copies a directory without excluded paths. Files replace existing files.
    fn copy_directory(&mut self, from: &str, to: &str, base: &str) -> Result<(), ComposeError> {
        self.make_directory(to)?;
        let part = if from.is_empty() { self.files.clone() } else { self.files.subtree(from) };
        let mut skipped: Option<String> = None;
        for (inner, node) in part.iter() {
            if skipped.as_ref().is_some_and(|above| inner.starts_with(above)) {
                continue;
            }
            let path = if from.is_empty() { inner.to_owned() } else { format!("{from}/{inner}") };
            if self.is_excluded(&path, base) {
                if *node == Node::Directory {
                    skipped = Some(format!("{inner}/"));
                }
                continue;
            }
            let target = join(to, inner)?;
            match node {
                Node::Directory => self.make_directory(&target)?,
                _ => self.put(&target, node.clone())?,
            }
        }
        Ok(())
    }

    /// Copies a file, or merges it into an existing one.
    fn copy_file(&mut self, from: &str, to: &str) -> Result<(), ComposeError> {
        let Some(node) = self.files.get(from) else { return Ok(()) };
        if self.strategy == Strategy::Merge
            && let Some(there) = self.made.read(to)
            && let Node::File { content, .. } = node
        {
            let merged = merge_yaml(there, content)?;
            return self.put(to, Node::File { content: merged.into(), executable: false });
        }
        self.put(to, node.clone())
    }

    fn extract(&mut self, from: &str, to: &str) -> Result<(), ComposeError> {
        let failed = |error: &dyn std::fmt::Display| {
            ComposeError(format!("failed to extract tarball \"{from}\" to \"{to}\": {error}"))
        };
        let Some(packed) = self.files.read(from) else { return Ok(()) };
        let tree = unpack(packed, ArchiveLimits::default()).map_err(|error| failed(&error))?;
        self.made.graft(&clean(to)?, &tree).map_err(|error| failed(&error))
    }

    fn make_directory(&mut self, path: &str) -> Result<(), ComposeError> {
        match self.made.get(path) {
            _ if path.is_empty() => Ok(()),
            // Inserting below it will report that it is not a directory.
            Some(_) => Ok(()),
            None => self.put(path, Node::Directory),
        }
    }

    fn put(&mut self, path: &str, node: Node) -> Result<(), ComposeError> {
        if path.is_empty()
            || (self.made.get(path) == Some(&Node::Directory) && node != Node::Directory)
        {
            return Err(ComposeError(format!("openat {path}: is a directory")));
        }
        self.made.insert(path, node).map_err(|error| ComposeError(error.to_string()))
    }

    /// Whether a path is excluded: as it is in the source, or relative to the step's base.
    fn is_excluded(&self, path: &str, base: &str) -> bool {
        let inner = path.strip_prefix(base).and_then(|rest| rest.strip_prefix('/'));
        let inner = inner.filter(|_| !base.is_empty());
        [Some(path), inner].into_iter().flatten().any(|path| {
            self.exclude.iter().any(|(pattern, whole)| {
                pattern.matches(path) || (!whole && pattern.matches(base_name(path)))
            })
        })
    }
}

/// The path of a pattern before its first wildcard.
fn selection_root(pattern: &str) -> String {
    let plain: Vec<&str> = pattern
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .take_while(|part| !part.contains(['*', '?', '[', ']']))
        .collect();
    plain.join("/")
}

/// The destination of a match: for `directory/**` relative to the directory, otherwise its whole path.
fn below_pattern<'p>(pattern: &str, path: &'p str) -> &'p str {
    let directory = pattern.strip_suffix("/**");
    let inner = directory.and_then(|it| path.strip_prefix(it)?.strip_prefix('/'));
    inner.unwrap_or(path)
}
