//! A tree of files in memory, from a checkout or an unpacked archive.
//!
//! Paths are relative, clean and written with `/`. The order is that of a walk (a directory comes right
//! before its content), which is also the order of entries in archives.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use sluice_base::limits::{LimitError, TreeBudget, TreeLimits, shortened};

/// A node at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A regular file.
    File {
        /// Its bytes.
        content: Bytes,
        /// Whether it may be run.
        executable: bool,
    },
    /// A symbolic link. It is never followed here.
    Link {
        /// The target, as it is written.
        target: String,
    },
    /// A directory. Parents of nodes are added automatically.
    Directory,
}

impl Node {
    /// The size of its content.
    fn size(&self) -> u64 {
        match self {
            Self::File { content, .. } => content.len() as u64,
            Self::Link { target } => target.len() as u64,
            Self::Directory => 0,
        }
    }
}

/// A path that is not inside the tree, or that a tree cannot contain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// Empty, absolute, or with a segment such as `..`.
    #[error("{:?} is not a path inside the tree", shortened(.0))]
    Path(String),
    /// A parent is a file.
    #[error("{:?} lies below a file", shortened(.0))]
    BelowFile(String),
    /// The tree exceeds the limits.
    #[error(transparent)]
    Limit(#[from] LimitError),
}

/// A tree of files in memory, within [`TreeLimits::DEFAULT`].
///
/// **Invariant:** every parent of a node is in the tree, as a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceTree {
    nodes: BTreeMap<WalkPath, Node>,
    budget: TreeBudget,
}

/// A path, ordered by its segments as a walk visits them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WalkPath(String);

/// The number of bytes that are compared at once.
const STRIDE: usize = 64;

impl Ord for WalkPath {
    fn cmp(&self, other: &Self) -> Ordering {
        // Segment by segment: a slash ends a segment, so it sorts before every byte of a name.
        let rank = |byte: u8| if byte == b'/' { 0 } else { byte };
        let (one, two) = (self.0.as_bytes(), other.0.as_bytes());
        // Paths of a tree have long common prefixes: equal bytes are skipped in strides.
        let strides = one.chunks(STRIDE).zip(two.chunks(STRIDE));
        let shared = strides.take_while(|(one, two)| one == two).count() * STRIDE;
        let (one, two) =
            (one.get(shared..).unwrap_or_default(), two.get(shared..).unwrap_or_default());
        match one.iter().zip(two).find(|(one, two)| one != two) {
            Some((one, two)) => rank(*one).cmp(&rank(*two)),
            None => one.len().cmp(&two.len()),
        }
    }
}

impl PartialOrd for WalkPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl SourceTree {
    /// Inserts a node and its parents. Replaces an existing node.
    pub fn insert(&mut self, path: &str, node: Node) -> Result<(), TreeError> {
        // Checked first, because the path may be very long.
        TreeLimits::DEFAULT.check(path)?;
        if !path.split('/').all(is_part) {
            return Err(TreeError::Path(path.to_owned()));
        }
        let mut missing = Vec::new();
        for (end, _) in path.rmatch_indices('/') {
            let above = WalkPath(path.get(..end).unwrap_or_default().to_owned());
            match self.nodes.get(&above) {
                // Its parents are in the tree as well.
                Some(Node::Directory) => break,
                Some(_) => return Err(TreeError::BelowFile(path.to_owned())),
                None => missing.push(above),
            }
        }
        for above in missing.into_iter().rev() {
            self.budget.admit(&above.0)?;
            self.nodes.insert(above, Node::Directory);
        }
        let key = WalkPath(path.to_owned());
        match self.nodes.get(&key) {
            // Inserting a directory again keeps its content.
            Some(Node::Directory) if node == Node::Directory => return Ok(()),
            Some(_) => self.remove(path),
            None => {}
        }
        self.budget.admit(path)?;
        self.budget.fill(path, node.size())?;
        self.nodes.insert(key, node);
        Ok(())
    }

    /// Inserts a regular file.
    pub fn insert_file(&mut self, path: &str, content: impl Into<Bytes>) -> Result<(), TreeError> {
        self.insert(path, Node::File { content: content.into(), executable: false })
    }

    /// The node at a path.
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

    /// Removes a node and everything below it.
    pub fn remove(&mut self, path: &str) {
        let key = WalkPath(path.to_owned());
        let Some(node) = self.nodes.remove(&key) else { return };
        self.budget.release(path, node.size());
        let below: Vec<WalkPath> = self.below(path).map(|(key, _)| key.clone()).collect();
        for key in below {
            let bytes = self.nodes.remove(&key).map_or(0, |node| node.size());
            self.budget.release(&key.0, bytes);
        }
    }

    /// All nodes, in walk order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.nodes.iter().map(|(path, node)| (path.0.as_str(), node))
    }

    /// Whether the tree is empty.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The size of all files.
    pub fn size(&self) -> u64 {
        self.budget.content()
    }

    /// The approximate memory use, including empty files and directories.
    pub fn footprint(&self) -> u64 {
        self.budget.footprint()
    }

    /// The subtree at a path, with relative paths; empty if there is no such directory.
    #[must_use]
    pub fn subtree(&self, path: &str) -> Self {
        let start = path.len() + 1;
        let mut part = Self::default();
        for (key, node) in self.below(path) {
            let Some(inner) = key.0.get(start..) else { continue };
            part.budget.count(inner, node.size());
            part.nodes.insert(WalkPath(inner.to_owned()), node.clone());
        }
        part
    }

    /// Inserts another tree at a directory; an empty path is the root.
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

    /// Reads a directory of the disk; links are kept as links, other special files are skipped.
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
                tree.insert(&path, node).map_err(std::io::Error::other)?;
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
    /// Regular files by path. Invalid paths are skipped.
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

/// Whether a name can be a segment of a path.
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
    fn long_paths_are_ordered_as_short_ones() {
        let start = "s".repeat(63);
        for (one, two) in [("a/x", "a.b"), ("a", "a/x"), ("a/b/c", "a/x"), ("a", "b"), ("a", "ab")]
        {
            for lead in ["", start.as_str(), &start[1..], &format!("{start}/{start}")] {
                let (one, two) = (format!("{lead}{one}"), format!("{lead}{two}"));
                assert_eq!(one.split('/').cmp(two.split('/')), Ordering::Less, "{one} {two}");
                assert!(WalkPath(one.clone()) < WalkPath(two.clone()), "{one} {two}");
                assert!(WalkPath(two) > WalkPath(one.clone()), "{one}");
                assert_eq!(WalkPath(one.clone()).cmp(&WalkPath(one)), Ordering::Equal);
            }
        }
    }

    #[test]
    fn a_deep_path_costs_nothing_and_a_long_one_neither() {
        let mut tree = SourceTree::default();
        for path in [vec!["d"; 32_768].join("/"), "n".repeat(256), format!("{}x", "d/".repeat(256))]
        {
            assert!(matches!(tree.insert_file(&path, ""), Err(TreeError::Limit(_))));
            assert!(tree.is_empty());
        }
        tree.insert_file(&format!("{}x", "d/".repeat(255)), "").expect("deep enough");
        assert_eq!(tree.iter().count(), 256);
    }

    #[test]
    fn the_footprint_counts_every_node_and_forgets_what_is_gone() {
        let mut tree = SourceTree::default();
        for number in 0..1000 {
            tree.insert_file(&format!("d/{number}"), "").expect("inside");
        }
        assert_eq!(tree.size(), 0);
        assert!(tree.footprint() > 100_000, "{}", tree.footprint());
        assert_eq!(tree.subtree("d").footprint(), tree.footprint() - 192 - 2 * 1000 - 1);
        tree.insert_file("d", "a file").expect("replaced");
        assert_eq!(tree.size(), 6);
        tree.insert("d", Node::Directory).expect("replaced");
        tree.remove("d");
        assert_eq!(tree, SourceTree::default());
    }

    #[test]
    fn one_content_named_many_times_over_is_bounded() {
        let mut tree = SourceTree::default();
        let content = Bytes::from(vec![0; 32 << 20]);
        let outcome =
            (0..100).try_for_each(|number| tree.insert_file(&number.to_string(), content.clone()));
        assert!(matches!(outcome, Err(TreeError::Limit(_))), "{outcome:?}");
        assert_eq!(tree.size(), 1 << 30);
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
