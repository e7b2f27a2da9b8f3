//! Files that a build reads: those that `secretGenerator` and `patches` of a kustomization and of its bases name.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;
use sluice_kustomize::{Entry, FileTree, TreeError};
use sluice_yaml::{Duplicates, to_json};

use super::{CheckError, Decryptor, Finding, MAX_FILE_SIZE};
use crate::document::Error;
use crate::formats::Format;
use sluice_base::redacted::Redacted;

/// The names of a kustomization file.
const KUSTOMIZATION_FILES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// The decrypted files.
#[derive(Debug, Default)]
pub struct Sources {
    /// The new content of each file, by its path in the tree.
    pub files: BTreeMap<String, Redacted<Vec<u8>>>,
    /// The files with a wrong MAC.
    pub findings: Vec<Finding>,
}

/// Why files could not be decrypted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourcesError {
    /// The file does not exist.
    #[error("lstat {0}: no such file or directory")]
    Missing(String),
    /// The path is a directory.
    #[error("cannot decrypt irregular file as it has file mode type bits set")]
    Irregular,
    /// It is too large.
    #[error("cannot decrypt file with size ({size} bytes) exceeding limit ({limit})")]
    TooLarge {
        /// Its size.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// It cannot be read.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// It could not be decrypted.
    #[error(transparent)]
    Decrypt(#[from] Error),
    /// It was changed after encryption.
    #[error(transparent)]
    Altered(#[from] CheckError),
    /// A directory without a kustomization file.
    #[error("no kustomization file found")]
    NoKustomization,
    /// A directory with several.
    #[error("found multiple kustomization files")]
    ManyKustomizations,
    /// An invalid kustomization file.
    #[error("failed to unmarshal kustomization file from '{path}': {reason}")]
    Kustomization {
        /// The file.
        path: String,
        /// The cause.
        reason: String,
    },
}

impl SourcesError {
    /// Whether it failed only because a remote key service has to be asked first.
    pub const fn is_unasked(&self) -> bool {
        matches!(self, Self::Decrypt(error) if error.is_unasked())
    }
}

impl Decryptor<'_> {
    /// Decrypts the files that the kustomization in a directory and its bases name, within `root`. Paths cannot leave
    /// `root`.
    pub fn decrypt_sources(
        &self,
        tree: &dyn FileTree,
        root: &str,
        directory: &str,
    ) -> Result<Sources, SourcesError> {
        let mut walk = Walk {
            decryptor: self,
            tree,
            root,
            visited: BTreeSet::new(),
            seen: BTreeSet::new(),
            out: Sources::default(),
            unasked: None,
        };
        let mut waiting = vec![(within(root, "", directory), false)];
        while let Some((directory, is_reference)) = waiting.pop() {
            let references = walk.directory(&directory, is_reference)?;
            waiting.extend(references.into_iter().rev().map(|reference| (reference, true)));
        }
        walk.unasked.map_or(Ok(walk.out), |error| Err(error.into()))
    }
}

/// A path below `root`: `..` stops at the root, and an absolute path is relative to it.
fn within(root: &str, directory: &str, path: &str) -> String {
    let root = root.trim_end_matches('/');
    let (directory, path) = match path.strip_prefix('/') {
        Some(_) => ("", path.strip_prefix(root).unwrap_or(path)),
        None => (directory.strip_prefix(root).unwrap_or(directory), path),
    };
    let mut parts = Vec::new();
    for part in directory.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    match (root, parts.is_empty()) {
        ("", true) => "/".to_owned(),
        (root, true) => root.to_owned(),
        (root, false) => format!("{root}/{}", parts.join("/")),
    }
}

struct Walk<'w> {
    decryptor: &'w Decryptor<'w>,
    tree: &'w dyn FileTree,
    root: &'w str,
    /// The visited directories.
    visited: BTreeSet<String>,
    /// The visited files.
    seen: BTreeSet<String>,
    out: Sources,
    /// A file with a key that has yet to be asked; the others are visited nevertheless, to find all such keys.
    unasked: Option<Error>,
}

impl Walk<'_> {
    /// Decrypts what a directory's kustomization names; returns its bases.
    fn directory(&mut self, path: &str, is_reference: bool) -> Result<Vec<String>, SourcesError> {
        if !self.visited.insert(path.to_owned()) {
            return Ok(Vec::new());
        }
        match self.tree.entry(path) {
            Some(Entry::Directory) => {}
            // A file, a URL, or missing: the build will report it.
            _ if is_reference => return Ok(Vec::new()),
            Some(Entry::File) => return Err(SourcesError::Irregular),
            None => return Err(SourcesError::Missing(self.relative(path))),
        }
        let kustomization = self.kustomization(path)?;
        for generator in items(&kustomization, "secretGenerator") {
            for file in texts(generator, "files") {
                let (key, file) = file.split_once('=').unwrap_or((file, file));
                self.file(path, file, Format::of_path(key))?;
            }
            for file in texts(generator, "envs") {
                let format = match Format::of_path(file) {
                    Format::Binary => Format::Dotenv,
                    format => format,
                };
                self.file(path, file, format)?;
            }
        }
        for patch in items(&kustomization, "patches") {
            let file = patch.get("path").and_then(Json::as_str).unwrap_or_default();
            if !file.is_empty() && !is_remote(file) {
                self.file(path, file, Format::of_path(file))?;
            }
        }
        let references = ["resources", "components"].into_iter();
        let references = references.flat_map(|field| texts(&kustomization, field));
        Ok(references.map(|reference| within(self.root, path, reference)).collect())
    }

    fn kustomization(&self, directory: &str) -> Result<Json, SourcesError> {
        let paths = KUSTOMIZATION_FILES.map(|name| within(self.root, directory, name));
        let mut found = paths.into_iter().filter(|path| self.tree.entry(path).is_some());
        let path = found.next().ok_or(SourcesError::NoKustomization)?;
        if found.next().is_some() {
            return Err(SourcesError::ManyKustomizations);
        }
        let text = self.tree.read(&path)?;
        let json = to_json(&text, Duplicates::LastWins);
        let json = json.map_err(|error| SourcesError::Kustomization {
            path: self.relative(&path),
            reason: error.to_string(),
        })?;
        Ok(json.unwrap_or_default())
    }

    fn file(&mut self, directory: &str, path: &str, format: Format) -> Result<(), SourcesError> {
        let path = within(self.root, directory, path);
        match self.tree.entry(&path) {
            Some(Entry::File) => {}
            Some(Entry::Directory) => return Err(SourcesError::Irregular),
            None => return Err(SourcesError::Missing(self.relative(&path))),
        }
        if self.seen.contains(&path) {
            return Ok(());
        }
        let content = self.tree.read(&path)?;
        if content.len() > MAX_FILE_SIZE {
            return Err(SourcesError::TooLarge { size: content.len(), limit: MAX_FILE_SIZE });
        }
        self.seen.insert(path.clone());
        if format.marks(&content) {
            let place = self.relative(&path);
            let formats = (format, format);
            match self.decryptor.document(&content, formats, &place, &mut self.out.findings) {
                Ok(plain) => {
                    self.out.files.insert(path, plain);
                }
                Err(error) if error.is_unasked() => self.unasked = Some(error),
                Err(Error::Integrity(tampering)) => {
                    return Err(CheckError::Altered { place, tampering }.into());
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// A path for messages.
    fn relative(&self, path: &str) -> String {
        let path = path.strip_prefix(self.root).unwrap_or(path).trim_start_matches('/');
        if path.is_empty() { ".".to_owned() } else { path.to_owned() }
    }
}

fn items<'j>(object: &'j Json, field: &str) -> &'j [Json] {
    object.get(field).and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

fn texts<'j>(object: &'j Json, field: &str) -> impl Iterator<Item = &'j str> {
    items(object, field).iter().filter_map(Json::as_str)
}

/// Whether a path is a URL with a host.
fn is_remote(path: &str) -> bool {
    path.split_once("://").is_some_and(|(scheme, rest)| {
        let host = rest.split('/').next().unwrap_or_default();
        let is_scheme = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
        !host.is_empty()
            && scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
            && scheme.chars().all(is_scheme)
    })
}

#[cfg(test)]
mod tests {
    use super::{is_remote, within};

    #[test]
    fn no_path_leads_out_of_the_root() {
        for (root, directory, path, expected) in [
            ("/", "/app", "a.env", "/app/a.env"),
            ("/", "/app", "../../../etc/passwd", "/etc/passwd"),
            ("/src", "/src/app", "../../../etc/passwd", "/src/etc/passwd"),
            ("/src", "/src/app", "/etc/passwd", "/src/etc/passwd"),
            ("/src", "", "./", "/src"),
            ("/src", "", "app", "/src/app"),
        ] {
            assert_eq!(within(root, directory, path), expected, "{path}");
        }
    }

    #[test]
    fn a_url_has_scheme_and_host() {
        assert!(is_remote("https://example.com/p.yaml"));
        assert!(!is_remote("https:///p.yaml") && !is_remote("a/b.yaml") && !is_remote("a:b"));
    }
}
