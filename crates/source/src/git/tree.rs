//! From a directory object to a tree of files.

use super::error::{Cause, malformed};
use super::object::{ObjectId, ObjectKind, Objects};
use crate::tree::{Node, SourceTree, is_part};

/// Directories may lie as deep in each other.
const DEEPEST: usize = 256;

/// A submodule's place and commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gitlink {
    /// Where it belongs.
    pub path: String,
    /// The commit it is at.
    pub commit: ObjectId,
}

/// A checked-out directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Worktree {
    /// The files.
    pub files: SourceTree,
    /// The submodules, each an empty directory in the files.
    pub submodules: Vec<Gitlink>,
}

/// An entry of a directory object.
struct Entry {
    mode: u32,
    name: String,
    id: ObjectId,
}

/// A file that a checkout needs.
struct Leaf {
    path: String,
    mode: u32,
    id: ObjectId,
}

const MODE_TREE: u32 = 0o040_000;
const MODE_LINK: u32 = 0o120_000;
const MODE_GITLINK: u32 = 0o160_000;
const MODE_TYPE: u32 = 0o170_000;

/// Checks a directory object out. With `sparse`, only paths that begin with one of the texts: as
/// go-git has it, `apps` takes `apps-old` along.
pub fn checkout(objects: &Objects, root: ObjectId, sparse: &[String]) -> Result<Worktree, Cause> {
    let mut worktree = Worktree::default();
    for leaf in leaves(objects, root, sparse)? {
        let failed = |error: crate::tree::TreeError| malformed(error.to_string());
        let node = match leaf.mode & MODE_TYPE {
            MODE_GITLINK => {
                worktree.submodules.push(Gitlink { path: leaf.path.clone(), commit: leaf.id });
                Node::Directory
            }
            MODE_LINK => {
                let target = objects.expect(&leaf.id, ObjectKind::Blob)?;
                Node::Link { target: String::from_utf8_lossy(target).into_owned() }
            }
            _ => {
                let content = objects.expect(&leaf.id, ObjectKind::Blob)?.clone();
                Node::File { content, executable: leaf.mode & 0o111 != 0 }
            }
        };
        worktree.files.insert(&leaf.path, node).map_err(failed)?;
    }
    Ok(worktree)
}

/// The contents of files that a checkout needs and that are not here yet.
pub(super) fn missing_blobs(
    objects: &Objects,
    root: ObjectId,
    sparse: &[String],
) -> Result<Vec<ObjectId>, Cause> {
    let needed = leaves(objects, root, sparse)?;
    let absent = |leaf: &Leaf| leaf.mode & MODE_TYPE != MODE_GITLINK && !objects.contains(&leaf.id);
    let mut ids: Vec<ObjectId> = needed.into_iter().filter(absent).map(|leaf| leaf.id).collect();
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// What a directory object names: whether it is a directory, and its object. Submodules are left out.
pub(super) fn children(data: &[u8]) -> Result<Vec<(bool, ObjectId)>, Cause> {
    let kept = |entry: Entry| match entry.mode & MODE_TYPE {
        MODE_GITLINK => None,
        kind => Some((kind == MODE_TREE, entry.id)),
    };
    Ok(entries(data)?.into_iter().filter_map(kept).collect())
}

fn leaves(objects: &Objects, root: ObjectId, sparse: &[String]) -> Result<Vec<Leaf>, Cause> {
    let mut found = Vec::new();
    let mut open = vec![(root, String::new(), 0)];
    while let Some((id, prefix, depth)) = open.pop() {
        if depth > DEEPEST {
            return Err(Cause::TooLarge {
                what: "directories in each other",
                limit: DEEPEST as u64,
            });
        }
        for entry in entries(objects.expect(&id, ObjectKind::Tree)?)? {
            let path =
                if prefix.is_empty() { entry.name } else { format!("{prefix}/{}", entry.name) };
            if entry.mode & MODE_TYPE == MODE_TREE {
                if may_hold(&path, sparse) {
                    open.push((entry.id, path, depth + 1));
                }
            } else if sparse.is_empty() || sparse.iter().any(|start| path.starts_with(start)) {
                found.push(Leaf { path, mode: entry.mode, id: entry.id });
            }
        }
        // A small object can name a large one many times over.
        if found.len() + open.len() > 10_000_000 {
            return Err(Cause::TooLarge { what: "files", limit: 10_000_000 });
        }
    }
    Ok(found)
}

/// Whether a path in the directory can begin with one of the texts.
fn may_hold(directory: &str, sparse: &[String]) -> bool {
    let inner = format!("{directory}/");
    sparse.is_empty()
        || sparse.iter().any(|start| inner.starts_with(start) || start.starts_with(&inner))
}

fn entries(mut data: &[u8]) -> Result<Vec<Entry>, Cause> {
    let broken = || malformed("a directory object is broken");
    let mut entries = Vec::new();
    while !data.is_empty() {
        let nul = data.iter().position(|byte| *byte == 0).ok_or_else(broken)?;
        let (head, rest) = data.split_at(nul);
        let space = head.iter().position(|byte| *byte == b' ').ok_or_else(broken)?;
        let (mode, name) = head.split_at(space);
        let mode =
            std::str::from_utf8(mode).ok().and_then(|mode| u32::from_str_radix(mode, 8).ok());
        let name = String::from_utf8_lossy(name.get(1..).unwrap_or_default()).into_owned();
        let id = rest.get(1..21).and_then(ObjectId::from_bytes).ok_or_else(broken)?;
        // Git itself refuses to check such names out.
        if !is_part(&name) || name.contains('/') || name.eq_ignore_ascii_case(".git") {
            return Err(malformed(format!("invalid path component {name:?}")));
        }
        entries.push(Entry { mode: mode.ok_or_else(broken)?, name, id });
        data = rest.get(21..).unwrap_or_default();
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(objects: &mut Objects, entries: &[(&str, &str, ObjectId)]) -> ObjectId {
        let mut data = Vec::new();
        for (mode, name, id) in entries {
            data.extend_from_slice(format!("{mode} {name}\0").as_bytes());
            data.extend_from_slice(id.as_bytes());
        }
        objects.insert(ObjectKind::Tree, data)
    }

    #[test]
    fn names_that_leave_the_directory_are_refused() {
        let mut objects = Objects::default();
        let blob = objects.insert(ObjectKind::Blob, "x");
        for name in ["..", ".", "", ".git", ".GIT", "a/b"] {
            let root = directory(&mut objects, &[("100644", name, blob)]);
            assert!(checkout(&objects, root, &[]).is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_directory_that_holds_others_a_thousand_deep_is_refused() {
        let mut objects = Objects::default();
        let mut root = directory(&mut objects, &[]);
        for _ in 0..1000 {
            root = directory(&mut objects, &[("40000", "d", root)]);
        }
        assert!(matches!(checkout(&objects, root, &[]), Err(Cause::TooLarge { .. })));
    }

    #[test]
    fn a_sparse_checkout_goes_by_the_beginning_of_paths() {
        let mut objects = Objects::default();
        let blob = objects.insert(ObjectKind::Blob, "x");
        let inner = directory(&mut objects, &[("100755", "run", blob), ("120000", "link", blob)]);
        let entries =
            [("40000", "apps", inner), ("40000", "apps-old", inner), ("40000", "other", inner)];
        let root = directory(&mut objects, &entries);
        let paths = |sparse: &[&str]| {
            let sparse: Vec<String> = sparse.iter().map(|start| (*start).to_owned()).collect();
            let worktree = checkout(&objects, root, &sparse).expect("checked out");
            worktree.files.iter().map(|(path, _)| path.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(paths(&["apps/"]), ["apps", "apps/link", "apps/run"]);
        assert_eq!(paths(&["apps"]).len(), 6);
        assert_eq!(paths(&["other/run"]), ["other", "other/run"]);
        assert_eq!(paths(&[]).len(), 9);
    }
}
