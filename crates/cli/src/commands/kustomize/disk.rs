//! The files of this machine.

use std::borrow::Cow;
use std::io::{Error, ErrorKind};

use sluice_kustomize::{Entry, FileTree, TreeError};

/// All files of this machine.
pub(super) struct Disk;

impl FileTree for Disk {
    fn entry(&self, path: &str) -> Option<Entry> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(if metadata.is_dir() { Entry::Directory } else { Entry::File })
    }

    fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError> {
        std::fs::read(path).map(Cow::Owned).map_err(|error| told(path, &error))
    }

    fn list(&self, path: &str) -> Result<Vec<String>, TreeError> {
        let entries = std::fs::read_dir(path).map_err(|error| told(path, &error))?;
        let names = entries.map(|entry| {
            let entry = entry.map_err(|error| told(path, &error))?;
            Ok(entry.file_name().to_string_lossy().into_owned())
        });
        let mut names: Vec<String> = names.collect::<Result<_, _>>()?;
        names.sort();
        Ok(names)
    }

    fn resolve(&self, path: &str) -> Result<String, TreeError> {
        let resolved = std::fs::canonicalize(path).map_err(|error| told(path, &error))?;
        Ok(resolved.to_string_lossy().into_owned())
    }
}

fn told(path: &str, error: &Error) -> TreeError {
    match error.kind() {
        ErrorKind::NotFound => TreeError::Missing(path.to_owned()),
        ErrorKind::IsADirectory => TreeError::Directory(path.to_owned()),
        _ => TreeError::Refused { path: path.to_owned(), reason: error.to_string() },
    }
}
