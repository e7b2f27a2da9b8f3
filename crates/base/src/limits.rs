//! Limits of file trees from outside: git trees, archives, OCI layers, buckets, composed artifacts.
//!
//! A few hundred bytes can name a million files (a git tree that names itself a thousand times over) or a path of
//! thirty thousand directories (one PAX record). Every format asks a [`TreeBudget`] for every file and directory
//! that it names, before it stores anything, so that all of them have the same limits.

use std::borrow::Cow;

/// How large a tree of files may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeLimits {
    /// Bytes of a path. Linux refuses longer ones.
    pub path: usize,
    /// Bytes of one name in a path. The file systems of Linux refuse longer ones.
    pub name: usize,
    /// Names in a path.
    pub depth: usize,
    /// Files and directories.
    pub nodes: usize,
    /// Bytes of all paths together.
    pub path_bytes: u64,
    /// Bytes of all files together.
    pub content: u64,
}

impl TreeLimits {
    /// The limits of every tree. The kernel of Linux has 90,000 files with 4 MiB of paths, at most 10 deep.
    pub const DEFAULT: Self = Self {
        path: 4095,
        name: 255,
        depth: 256,
        nodes: 1_000_000,
        path_bytes: 64 << 20,
        content: 1 << 30,
    };

    /// Whether a path alone is within the limits, whatever else is in the tree.
    pub fn check(&self, path: &str) -> Result<(), LimitError> {
        let refused = |what, limit: usize| {
            Err(LimitError { what, limit: limit as u64, path: shortened(path).into_owned() })
        };
        if path.len() > self.path {
            return refused("bytes in a path", self.path);
        }
        let mut depth = 0;
        for name in path.split('/') {
            depth += 1;
            if name.len() > self.name {
                return refused("bytes in a name", self.name);
            }
        }
        if depth > self.depth {
            return refused("directories in each other", self.depth);
        }
        Ok(())
    }
}

impl Default for TreeLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A limit that a tree exceeds, and the path that did it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path:?} exceeds the limit of {limit} {what}")]
pub struct LimitError {
    /// What there is too much of.
    pub what: &'static str,
    /// How much there may be.
    pub limit: u64,
    /// The path, shortened.
    pub path: String,
}

/// What a tree has taken of its limits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeBudget {
    limits: TreeLimits,
    nodes: usize,
    path_bytes: u64,
    content: u64,
}

impl TreeBudget {
    /// A budget of other limits than the usual ones.
    pub fn new(limits: TreeLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Takes a file or directory in, before anything is stored for it.
    pub fn admit(&mut self, path: &str) -> Result<(), LimitError> {
        self.limits.check(path)?;
        let refused = |what, limit| LimitError { what, limit, path: shortened(path).into_owned() };
        let path_bytes = self.path_bytes.saturating_add(path.len() as u64);
        if self.nodes >= self.limits.nodes {
            return Err(refused("files and directories", self.limits.nodes as u64));
        }
        if path_bytes > self.limits.path_bytes {
            return Err(refused("bytes in all paths together", self.limits.path_bytes));
        }
        self.nodes += 1;
        self.path_bytes = path_bytes;
        Ok(())
    }

    /// Takes the content of an admitted file in.
    pub fn fill(&mut self, path: &str, bytes: u64) -> Result<(), LimitError> {
        let content = self.content.saturating_add(bytes);
        if content > self.limits.content {
            let path = shortened(path).into_owned();
            let limit = self.limits.content;
            return Err(LimitError { what: "bytes in all files together", limit, path });
        }
        self.content = content;
        Ok(())
    }

    /// Counts a file or directory of a part of a tree that was admitted as a whole.
    pub fn count(&mut self, path: &str, bytes: u64) {
        self.nodes = self.nodes.saturating_add(1);
        self.path_bytes = self.path_bytes.saturating_add(path.len() as u64);
        self.content = self.content.saturating_add(bytes);
    }

    /// Gives back what a file or directory took.
    pub fn release(&mut self, path: &str, bytes: u64) {
        self.nodes = self.nodes.saturating_sub(1);
        self.path_bytes = self.path_bytes.saturating_sub(path.len() as u64);
        self.content = self.content.saturating_sub(bytes);
    }

    /// Bytes of all files together.
    pub fn content(&self) -> u64 {
        self.content
    }

    /// Memory that a tree in this budget takes, about: contents, paths, and what each node costs beside them.
    pub fn footprint(&self) -> u64 {
        /// A key, a value and their share of a half-full tree node, and the allocations of path and content.
        const NODE: u64 = 192;
        let nodes = (self.nodes as u64).saturating_mul(NODE);
        self.content.saturating_add(self.path_bytes).saturating_add(nodes)
    }
}

/// A text for an error message: the beginning and the end of a long one.
pub fn shortened(text: &str) -> Cow<'_, str> {
    const SHOWN: usize = 160;
    const END: usize = 40;
    if text.len() <= SHOWN {
        return Cow::Borrowed(text);
    }
    let start = text.get(..text.floor_char_boundary(SHOWN - END)).unwrap_or_default();
    let end = text.get(text.ceil_char_boundary(text.len() - END)..).unwrap_or_default();
    Cow::Owned(format!("{start}…{end}"))
}

#[cfg(test)]
mod tests {
    use super::{LimitError, TreeBudget, TreeLimits, shortened};

    #[test]
    fn each_limit_is_named_with_the_path_that_exceeds_it() {
        let few = TreeLimits { nodes: 2, path_bytes: 6, content: 10, ..TreeLimits::DEFAULT };
        let deep = vec!["d"; 257].join("/");
        let long_name = "n".repeat(256);
        let long_path = vec!["p".repeat(250); 17].join("/");
        for (limits, paths, what) in [
            (TreeLimits::DEFAULT, vec![deep.as_str()], "directories in each other"),
            (TreeLimits::DEFAULT, vec![long_name.as_str()], "bytes in a name"),
            (TreeLimits::DEFAULT, vec![long_path.as_str()], "bytes in a path"),
            (few, vec!["a", "b", "c"], "files and directories"),
            (few, vec!["a/b/c", "de"], "bytes in all paths together"),
        ] {
            let mut budget = TreeBudget::new(limits);
            let last = paths.last().copied().unwrap_or_default();
            let (refused, before) = (paths.len() - 1, &paths);
            for (at, path) in before.iter().enumerate() {
                let outcome = budget.admit(path);
                assert_eq!(outcome.is_err(), at == refused, "{what}: {outcome:?}");
                if let Err(LimitError { what: said, path, .. }) = outcome {
                    assert_eq!((said, path.as_str()), (what, &*shortened(last)));
                    assert!(path.len() < 200, "{path}");
                }
            }
        }
        let mut budget = TreeBudget::new(few);
        assert!(budget.fill("a", 10).is_ok());
        let error = budget.fill("b", 1).expect_err("too much");
        let expected = "\"b\" exceeds the limit of 10 bytes in all files together";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn what_is_released_can_be_admitted_again() {
        let mut budget = TreeBudget::new(TreeLimits { nodes: 1, ..TreeLimits::DEFAULT });
        for _ in 0..3 {
            budget.admit("a").expect("room for one");
            budget.fill("a", 7).expect("room");
            assert!(budget.footprint() > 7 + 1);
            budget.release("a", 7);
            assert_eq!(budget, TreeBudget::new(TreeLimits { nodes: 1, ..TreeLimits::DEFAULT }));
        }
    }

    #[test]
    fn long_texts_keep_both_ends_and_whole_characters() {
        assert_eq!(shortened("short"), "short");
        let long = "ä".repeat(1000);
        let shown = shortened(&long);
        assert!(shown.len() < 200 && shown.contains('…'), "{shown}");
    }
}
