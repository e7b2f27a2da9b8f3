//! The local file tree.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{Error, ErrorKind};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use sluice_kustomize::{Entry, FileTree, TreeError};

/// The local files, as they are at first use.
#[derive(Default)]
pub(crate) struct Disk {
    /// Resolved paths. Resolving every part of every path anew would be most of a large build's system calls: files share
    /// their directories, and each is used more than once.
    resolved: Mutex<HashMap<String, String>>,
}

impl Disk {
    fn follow(&self, path: &str) -> std::io::Result<String> {
        let known = || self.resolved.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(resolved) = known().get(path) {
            return Ok(resolved.clone());
        }
        let at = Path::new(path);
        let resolved = match (at.parent().and_then(Path::to_str), at.file_name()) {
            // A regular file is in its resolved directory.
            (Some(parent), Some(name)) if std::fs::symlink_metadata(path)?.is_file() => {
                Path::new(&self.follow(parent)?).join(name)
            }
            _ => std::fs::canonicalize(path)?,
        };
        let resolved = resolved.to_string_lossy().into_owned();
        known().insert(path.to_owned(), resolved.clone());
        Ok(resolved)
    }
}

impl FileTree for Disk {
    fn entry(&self, path: &str) -> Option<Entry> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(if metadata.is_dir() { Entry::Directory } else { Entry::File })
    }

    fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError> {
        std::fs::read(path).map(Cow::Owned).map_err(|error| tree_error(path, &error))
    }

    fn list(&self, path: &str) -> Result<Vec<String>, TreeError> {
        let entries = std::fs::read_dir(path).map_err(|error| tree_error(path, &error))?;
        let names = entries.map(|entry| {
            let entry = entry.map_err(|error| tree_error(path, &error))?;
            Ok(entry.file_name().to_string_lossy().into_owned())
        });
        let mut names: Vec<String> = names.collect::<Result<_, _>>()?;
        names.sort();
        Ok(names)
    }

    fn resolve(&self, path: &str) -> Result<String, TreeError> {
        self.follow(path).map_err(|error| tree_error(path, &error))
    }
}

fn tree_error(path: &str, error: &Error) -> TreeError {
    match error.kind() {
        ErrorKind::NotFound => TreeError::Missing(path.to_owned()),
        ErrorKind::IsADirectory => TreeError::Directory(path.to_owned()),
        _ => TreeError::Refused { path: path.to_owned(), reason: error.to_string() },
    }
}
