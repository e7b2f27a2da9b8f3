//! File trees. Paths are absolute, clean and written with `/`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The type of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// A file.
    File,
    /// A directory.
    Directory,
}

/// Why a file could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// It does not exist.
    #[error("{0}: no such file or directory")]
    Missing(String),
    /// It is not a file.
    #[error("{0}: is a directory")]
    Directory(String),
    /// It cannot be read.
    #[error("{path}: {reason}")]
    Refused {
        /// The path.
        path: String,
        /// The cause.
        reason: String,
    },
}

/// A tree of files.
pub trait FileTree: Sync {
    /// The type of a path, with links resolved; `None` if it does not exist.
    fn entry(&self, path: &str) -> Option<Entry>;

    /// The content of a file.
    fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError>;

    /// The names in a directory, sorted.
    fn list(&self, path: &str) -> Result<Vec<String>, TreeError>;

    /// The path with all links resolved.
    fn resolve(&self, path: &str) -> Result<String, TreeError> {
        match self.entry(path) {
            Some(_) => Ok(path.to_owned()),
            None => Err(TreeError::Missing(path.to_owned())),
        }
    }
}

/// Files in memory, without links.
#[derive(Debug, Clone, Default)]
pub struct MemoryTree {
    files: BTreeMap<String, Vec<u8>>,
    directories: BTreeSet<String>,
}

impl MemoryTree {
    /// Adds a file and its parent directories.
    pub fn insert(&mut self, path: impl Into<String>, content: impl Into<Vec<u8>>) {
        let path = path.into();
        self.make_directories(parent(&path));
        self.files.insert(path, content.into());
    }

    /// Removes a file; its directories stay.
    pub fn remove(&mut self, path: &str) -> Option<Vec<u8>> {
        self.files.remove(path)
    }

    /// Adds a directory and its parents.
    pub fn make_directories(&mut self, path: &str) {
        let mut path = path;
        while self.directories.insert(path.to_owned()) && path != "/" {
            path = parent(path);
        }
    }

    /// All files with their paths, sorted.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(path, content)| (path.as_str(), content.as_slice()))
    }
}

fn parent(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((parent, _)) => parent,
    }
}

impl FileTree for MemoryTree {
    fn entry(&self, path: &str) -> Option<Entry> {
        if self.files.contains_key(path) {
            Some(Entry::File)
        } else {
            (path == "/" || self.directories.contains(path)).then_some(Entry::Directory)
        }
    }

    fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError> {
        match self.files.get(path) {
            Some(content) => Ok(Cow::Borrowed(content)),
            None if self.entry(path).is_some() => Err(TreeError::Directory(path.to_owned())),
            None => Err(TreeError::Missing(path.to_owned())),
        }
    }

    fn list(&self, path: &str) -> Result<Vec<String>, TreeError> {
        if self.entry(path) != Some(Entry::Directory) {
            return Err(TreeError::Missing(path.to_owned()));
        }
        let start = if path == "/" { path.to_owned() } else { format!("{path}/") };
        let names = |name: &String| {
            let rest = name.strip_prefix(&start)?;
            (!rest.is_empty() && !rest.contains('/')).then(|| rest.to_owned())
        };
        let files = self.files.range(start.clone()..).map(|(name, _)| name);
        let files = files.take_while(|name| name.starts_with(&start)).filter_map(names);
        let directories = self.directories.range(start.clone()..);
        let directories = directories.take_while(|name| name.starts_with(&start)).filter_map(names);
        let all: BTreeSet<String> = files.chain(directories).collect();
        Ok(all.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, FileTree, MemoryTree, TreeError};

    #[test]
    fn a_tree_in_memory_has_directories() {
        let mut tree = MemoryTree::default();
        tree.insert("/app/base/a.yaml", "a");
        tree.insert("/app/b.yaml", "b");
        tree.insert("/app-2/c.yaml", "c");
        assert_eq!(tree.entry("/app"), Some(Entry::Directory));
        assert_eq!(tree.entry("/app/b.yaml"), Some(Entry::File));
        assert_eq!(tree.entry("/nope"), None);
        assert_eq!(tree.list("/app").unwrap(), ["b.yaml", "base"]);
        assert_eq!(tree.list("/").unwrap(), ["app", "app-2"]);
        assert_eq!(tree.read("/app"), Err(TreeError::Directory("/app".to_owned())));
        assert_eq!(tree.read("/app/b.yaml").unwrap().as_ref(), b"b");
    }
}
