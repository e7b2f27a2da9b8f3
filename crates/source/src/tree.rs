//! A tree of files in memory: what a checkout or an unpacked archive holds.
//!
//! Paths are relative, clean and written with `/`. The order is that of a walk (a directory comes
//! right before what is in it), which is the order that archives are written in.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;

/// What lies at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A regular file.
    File {
        /// Its bytes.
        content: Bytes,
        /// Whether it may be run.
        executable: bool,
    },
    /// A symbolic link, kept as the source has it and followed by nothing here.
    Link {
        /// What the link says.
        target: String,
    },
    /// A directory. Those that hold something are there of themselves.
    Directory,
}

/// A path that leaves its tree, or that no tree can hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// Empty, absolute, or with a part such as `..`.
    #[error("{0:?} is not a path inside the tree")]
    Path(String),
    /// A file stands where a directory has to be.
    #[error("{0:?} lies below a file")]
    BelowFile(String),
}

/// A tree of files in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceTree {
    nodes: BTreeMap<WalkPath, Node>,
}

/// A path, ordered by its parts as a walk visits them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WalkPath(String);

impl Ord for WalkPath {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.split('/').cmp(other.0.split('/'))
    }
}

impl PartialOrd for WalkPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl SourceTree {
    /// Puts a node at a path and makes the directories above it. What was there is replaced.
    pub fn insert(&mut self, path: &str, node: Node) -> Result<(), TreeError> {
        if !path.split('/').all(is_part) {
            return Err(TreeError::Path(path.to_owned()));
        }
        for (end, _) in path.match_indices('/') {
            let above = WalkPath(path.get(..end).unwrap_or_default().to_owned());
            match self.nodes.get(&above) {
                Some(Node::Directory) => {}
                Some(_) => return Err(TreeError::BelowFile(path.to_owned())),
                None => {
                    self.nodes.insert(above, Node::Directory);
                }
            }
        }
        let key = WalkPath(path.to_owned());
        // A directory that is named again keeps what it holds.
        if node == Node::Directory && self.nodes.get(&key) == Some(&Node::Directory) {
            return Ok(());
        }
        if node != Node::Directory {
            self.remove(path);
        }
        self.nodes.insert(key, node);
        Ok(())
    }

    /// Puts a plain file at a path.
    pub fn insert_file(&mut self, path: &str, content: impl Into<Bytes>) -> Result<(), TreeError> {
        self.insert(path, Node::File { content: content.into(), executable: false })
    }

    /// What lies at a path.
    pub fn get(&self, path: &str) -> Option<&Node> {
        self.nodes.get(&WalkPath(path.to_owned()))
    }

    /// The content of a regular file.
    pub fn read(&self, path: &str) -> Option<&Bytes> {
        match self.get(path)? {
            Node::File { content, .. } => Some(content),
            Node::Link { .. } | Node::Directory => None,
        }
    }

    /// Takes away what lies at a path and below it.
    pub fn remove(&mut self, path: &str) {
        if self.nodes.remove(&WalkPath(path.to_owned())).is_none() {
            return;
        }
        let below: Vec<WalkPath> = self.below(path).map(|(key, _)| key.clone()).collect();
        for key in below {
            self.nodes.remove(&key);
        }
    }

    /// Everything, in the order of a walk.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.nodes.iter().map(|(path, node)| (path.0.as_str(), node))
    }

    /// Whether nothing is there.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The bytes of all files together.
    pub fn size(&self) -> u64 {
        let length = |node: &Node| match node {
            Node::File { content, .. } => content.len() as u64,
            Node::Link { .. } | Node::Directory => 0,
        };
        self.nodes.values().map(length).sum()
    }

    /// A part of the tree with its paths taken from there; empty where there is no such directory.
    #[must_use]
    pub fn subtree(&self, path: &str) -> Self {
        let start = path.len() + 1;
        let inner = |(key, node): (&WalkPath, &Node)| {
            Some((WalkPath(key.0.get(start..)?.to_owned()), node.clone()))
        };
        Self { nodes: self.below(path).filter_map(inner).collect() }
    }

    /// Puts another tree at a directory of this one; an empty path is the root.
    pub fn graft(&mut self, path: &str, other: &Self) -> Result<(), TreeError> {
        if !path.is_empty() {
            self.insert(path, Node::Directory)?;
        }
        for (inner, node) in other.iter() {
            let at = if path.is_empty() { inner.to_owned() } else { format!("{path}/{inner}") };
            self.insert(&at, node.clone())?;
        }
        Ok(())
    }

    /// Reads a directory of the disk; links are kept as links, and other special files are left out.
    pub fn read_directory(root: &Path) -> std::io::Result<Self> {
        let mut tree = Self::default();
        let mut open = vec![(root.to_owned(), String::new())];
        while let Some((directory, prefix)) = open.pop() {
            for entry in std::fs::read_dir(&directory)? {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
                let kind = entry.file_type()?;
                let node = if kind.is_symlink() {
                    let target = std::fs::read_link(entry.path())?;
                    Node::Link { target: target.to_string_lossy().into_owned() }
                } else if kind.is_dir() {
                    open.push((entry.path(), path.clone()));
                    Node::Directory
                } else if kind.is_file() {
                    let executable = is_executable(&entry.metadata()?);
                    Node::File { content: std::fs::read(entry.path())?.into(), executable }
                } else {
                    continue;
                };
                tree.nodes.insert(WalkPath(path), node);
            }
        }
        Ok(tree)
    }

    fn below(&self, path: &str) -> impl Iterator<Item = (&WalkPath, &Node)> {
        let first = format!("{path}/");
        self.nodes
            .range(WalkPath(first.clone())..)
            .take_while(move |(key, _)| key.0.starts_with(&first))
    }
}

impl FromIterator<(String, Bytes)> for SourceTree {
    /// Plain files by path. Paths that no tree can hold are left out.
    fn from_iter<I: IntoIterator<Item = (String, Bytes)>>(files: I) -> Self {
        let mut tree = Self::default();
        for (path, content) in files {
            if let Err(error) = tree.insert_file(&path, content) {
                tracing::debug!(%error, "left out of a tree");
            }
        }
        tree
    }
}

/// Whether a name can be one part of a path inside a tree.
pub(crate) fn is_part(part: &str) -> bool {
    !matches!(part, "" | "." | "..") && !part.contains('\0')
}

#[cfg(unix)]
fn is_executable(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &std::fs::Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(tree: &SourceTree) -> Vec<&str> {
        tree.iter().map(|(path, _)| path).collect()
    }

    #[test]
    fn the_order_is_that_of_a_walk() {
        let mut tree = SourceTree::default();
        for path in ["a.b", "a/x", "a/b/c", "b"] {
            tree.insert_file(path, "").expect("inside");
        }
        assert_eq!(paths(&tree), ["a", "a/b", "a/b/c", "a/x", "a.b", "b"]);
        assert_eq!(paths(&tree.subtree("a")), ["b", "b/c", "x"]);
        tree.remove("a");
        assert_eq!(paths(&tree), ["a.b", "b"]);
    }

    #[test]
    fn nothing_leaves_the_tree_or_lies_below_a_file() {
        let mut tree = SourceTree::default();
        for path in ["", "/a", "a/../b", "..", "a//b", "./a"] {
            assert!(matches!(tree.insert_file(path, ""), Err(TreeError::Path(_))), "{path:?}");
        }
        tree.insert_file("file", "").expect("inside");
        assert_eq!(
            tree.insert_file("file/below", ""),
            Err(TreeError::BelowFile("file/below".into()))
        );
        tree.insert("link", Node::Link { target: "/etc".into() }).expect("inside");
        assert!(tree.insert_file("link/passwd", "").is_err());
    }
}
