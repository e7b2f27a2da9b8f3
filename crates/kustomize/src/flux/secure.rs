//! A tree that ends at a root: what lies elsewhere, by `..` or by a link, is refused in Flux's words.
//!
//! Flux builds without kustomize's own restriction ([`LoadRestrictor::None`]), so that overlays may
//! share files anywhere in an artifact, and jails the whole build instead. Remote bases are trees of
//! their own and are allowed by handing a [`Remote`] to the build, which `--no-remote-bases` does not.

use std::borrow::Cow;

use sluice_base::need::Step;

use crate::build::{Build, Options, Reorder, build, step};
use crate::failure::Failure;
use crate::loader::path::{clean, is_within, parent};
use crate::loader::{LoadRestrictor, Remote, RemoteFiles};
use crate::place::EntryPlaces;
use crate::tree::{Entry, FileTree, TreeError};

/// The part of a tree that lies in or below a root.
pub struct SecureTree<'t> {
    tree: &'t dyn FileTree,
    root: String,
}

impl<'t> SecureTree<'t> {
    /// The part below a directory, whose own links are followed.
    pub fn new(tree: &'t dyn FileTree, root: &str) -> Result<Self, TreeError> {
        Ok(Self { tree, root: tree.resolve(&clean(root))? })
    }

    /// Refuses a path outside of the root. One where nothing is counts as it is written.
    pub(super) fn check(&self, operation: &str, path: &str) -> Result<(), TreeError> {
        let path = &*clean(path);
        let directory = match self.tree.entry(path) {
            None => path.to_owned(),
            Some(Entry::Directory) => self.tree.resolve(path)?,
            Some(Entry::File) => parent(&self.tree.resolve(path)?).to_owned(),
        };
        if is_within(&directory, &self.root) {
            return Ok(());
        }
        Err(TreeError::Refused {
            path: format!("fs-security-constraint {operation} {path}"),
            reason: format!("path '{path}' is not in or below '{}'", self.root),
        })
    }
}

impl FileTree for SecureTree<'_> {
    fn entry(&self, path: &str) -> Option<Entry> {
        self.check("open", path).ok()?;
        self.tree.entry(path)
    }

    fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError> {
        self.check("read", path)?;
        self.tree.read(path)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, TreeError> {
        self.check("open", path)?;
        self.tree.list(path)
    }

    fn resolve(&self, path: &str) -> Result<String, TreeError> {
        self.check("abs", path)?;
        self.tree.resolve(path)
    }
}

/// Builds a directory as Flux does: in the order of the files, and with no restriction but the tree's.
/// `tree` is a [`SecureTree`] or lies over one. `remote` is absent under `--no-remote-bases`. Flux takes URLs
/// wherever a file is named ([`RemoteFiles::Everywhere`]).
pub(super) fn secure_build(
    tree: &dyn FileTree,
    directory: &str,
    remote: Option<&dyn Remote>,
    remote_files: RemoteFiles,
    places: &dyn EntryPlaces,
) -> Result<Step<Build>, Failure> {
    let options = Options {
        reorder: Reorder::None,
        load_restrictor: LoadRestrictor::None,
        keep_recorded_schema: true,
        remote_files,
        places: Some(places),
        ..Options::default()
    };
    match remote {
        Some(remote) => step(tree, directory, &options, remote),
        None => build(tree, directory, &options).map(Step::Done),
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::SecureTree;
    use crate::tree::{Entry, FileTree, MemoryTree, TreeError};

    /// A tree in which `/a/link.yaml` and `/a/up` lead to `/b`.
    struct Linked(MemoryTree);

    impl Linked {
        fn target(path: &str) -> String {
            path.replace("/a/link.yaml", "/b/x.yaml").replace("/a/up", "/b")
        }
    }

    impl FileTree for Linked {
        fn entry(&self, path: &str) -> Option<Entry> {
            self.0.entry(&Self::target(path))
        }

        fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError> {
            self.0.read(&Self::target(path))
        }

        fn list(&self, path: &str) -> Result<Vec<String>, TreeError> {
            self.0.list(&Self::target(path))
        }

        fn resolve(&self, path: &str) -> Result<String, TreeError> {
            self.0.resolve(&Self::target(path))
        }
    }

    #[test]
    fn nothing_leads_out_of_the_root() {
        let mut files = MemoryTree::default();
        files.insert("/a/in.yaml", "in");
        files.insert("/b/x.yaml", "out");
        files.insert("/ab/x.yaml", "out");
        let linked = Linked(files);
        let tree = SecureTree::new(&linked, "/a").expect("it is there");
        assert_eq!(tree.read("/a/in.yaml").as_deref(), Ok(b"in".as_slice()));
        let words = |error: TreeError| error.to_string();
        for path in ["/b/x.yaml", "/a/link.yaml", "/a/up/x.yaml", "/ab/x.yaml", "/b/gone"] {
            assert_eq!(
                tree.read(path).map_err(words),
                Err(format!(
                    "fs-security-constraint read {path}: path '{path}' is not in or below '/a'"
                )),
            );
            assert_eq!(tree.entry(path), None, "{path}");
        }
        assert_eq!(
            tree.resolve("/b").map_err(words),
            Err("fs-security-constraint abs /b: path '/b' is not in or below '/a'".to_owned())
        );
        assert_eq!(tree.read("/a/gone"), Err(TreeError::Missing("/a/gone".to_owned())));
    }
}
