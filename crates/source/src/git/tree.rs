//! Checks out directory objects as a tree of files.

use sluice_base::limits::{LimitError, TreeBudget, TreeLimits, shortened};

use super::error::{Cause, malformed, shown};
use super::object::{ObjectId, ObjectKind, Objects};
use crate::tree::{Node, SourceTree, TreeError, is_part};

/// A submodule's path and commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gitlink {
    /// Its path.
    pub path: String,
    /// Its commit.
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

/// A file of a checkout.
struct Leaf {
    path: String,
    mode: u32,
    id: ObjectId,
}

const MODE_TREE: u32 = 0o040_000;
const MODE_LINK: u32 = 0o120_000;
const MODE_GITLINK: u32 = 0o160_000;
const MODE_TYPE: u32 = 0o170_000;

/// Checks out a directory object. With `sparse`, only paths that begin with one of the prefixes: as in
/// go-git, `apps` matches `apps-old` too.
pub fn checkout(objects: &Objects, root: ObjectId, sparse: &[String]) -> Result<Worktree, Cause> {
    let mut worktree = Worktree::default();
    walk(objects, root, sparse, |leaf| {
        let node = match leaf.mode & MODE_TYPE {
            MODE_GITLINK => {
                worktree.submodules.push(Gitlink { path: leaf.path.clone(), commit: leaf.id });
                Node::Directory
            }
            MODE_LINK => {
                let target = objects.expect(&leaf.id, ObjectKind::Blob)?;
                Node::Link { target: link_target(target, &leaf.path)? }
            }
            _ => {
                let content = objects.expect(&leaf.id, ObjectKind::Blob)?.clone();
                Node::File { content, executable: leaf.mode & 0o111 != 0 }
            }
        };
        worktree.files.insert(&leaf.path, node).map_err(refused)
    })?;
    Ok(worktree)
}

/// The target of a link, at most as long as a path can be.
fn link_target(target: &[u8], path: &str) -> Result<String, Cause> {
    let limit = TreeLimits::DEFAULT.path;
    if target.len() > limit {
        let path = shortened(path).into_owned();
        return Err(LimitError { what: "bytes in a link", limit: limit as u64, path }.into());
    }
    Ok(String::from_utf8_lossy(target).into_owned())
}

/// The file contents that a checkout needs and that have not been fetched.
pub(super) fn missing_blobs(
    objects: &Objects,
    root: ObjectId,
    sparse: &[String],
) -> Result<Vec<ObjectId>, Cause> {
    let mut ids = Vec::new();
    walk(objects, root, sparse, |leaf| {
        if leaf.mode & MODE_TYPE != MODE_GITLINK && !objects.contains(&leaf.id) {
            ids.push(leaf.id);
        }
        Ok(())
    })?;
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// The entries of a directory object: whether each is a directory, and its id. Submodules are skipped.
pub(super) fn children(data: &[u8]) -> Result<Vec<(bool, ObjectId)>, Cause> {
    let kept = |entry: Entry| match entry.mode & MODE_TYPE {
        MODE_GITLINK => None,
        kind => Some((kind == MODE_TREE, entry.id)),
    };
    Ok(entries(data)?.into_iter().filter_map(kept).collect())
}

/// Visits every file of a directory object. Skipped files count towards the limits too: a small object can refer to
/// a large one many times.
fn walk(
    objects: &Objects,
    root: ObjectId,
    sparse: &[String],
    mut visit: impl FnMut(Leaf) -> Result<(), Cause>,
) -> Result<(), Cause> {
    let mut budget = TreeBudget::default();
    let mut open = vec![(root, String::new())];
    while let Some((id, prefix)) = open.pop() {
        for entry in entries(objects.expect(&id, ObjectKind::Tree)?)? {
            let path =
                if prefix.is_empty() { entry.name } else { format!("{prefix}/{}", entry.name) };
            budget.admit(&path)?;
            if entry.mode & MODE_TYPE == MODE_TREE {
                if may_hold(&path, sparse) {
                    open.push((entry.id, path));
                }
            } else if sparse.is_empty() || sparse.iter().any(|start| path.starts_with(start)) {
                visit(Leaf { path, mode: entry.mode, id: entry.id })?;
            }
        }
    }
    Ok(())
}

fn refused(error: TreeError) -> Cause {
    match error {
        TreeError::Limit(error) => error.into(),
        other => malformed(other.to_string()),
    }
}

/// Whether a path in the directory can begin with one of the prefixes.
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
        // Git itself refuses to check out such names.
        if !is_part(&name) || name.contains('/') || name.eq_ignore_ascii_case(".git") {
            return Err(malformed(format!("invalid path component {:?}", shortened(&name))));
        }
        entries.push(Entry { mode: mode.ok_or_else(broken)?, name, id });
        data = rest.get(21..).unwrap_or_default();
    }
    // Of two entries with the same name, git may show another one than is written here.
    let mut names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(malformed(format!("two entries with the name {:?}", shown(twice[0]))));
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
        assert!(matches!(checkout(&objects, root, &[]), Err(Cause::Tree(_))));
    }

    #[test]
    fn names_and_links_are_as_long_as_a_disk_takes_them() {
        let mut objects = Objects::default();
        let blob = objects.insert(ObjectKind::Blob, vec![b'x'; 4096]);
        for (mode, name) in [("100644", "n".repeat(256)), ("120000", "link".to_owned())] {
            let root = directory(&mut objects, &[(mode, &name, blob)]);
            assert!(matches!(checkout(&objects, root, &[]), Err(Cause::Tree(_))), "{mode}");
        }
    }

    #[test]
    fn a_few_objects_that_name_each_other_many_times_over_are_refused() {
        let mut objects = Objects::default();
        let blob = objects.insert(ObjectKind::Blob, "");
        let names: Vec<String> = (0..150).map(|number| format!("{number:0>120}")).collect();
        let all = |mode: &'static str, id| {
            names.iter().map(|name| (mode, name.as_str(), id)).collect::<Vec<_>>()
        };
        let files = directory(&mut objects, &all("100644", blob));
        let mut root = directory(&mut objects, &all("40000", files));
        for _ in 0..15 {
            root = directory(&mut objects, &[("40000", &"d".repeat(250), root)]);
        }
        let outcome = checkout(&objects, root, &[]);
        assert!(matches!(outcome, Err(Cause::Tree(_))), "22,500 paths of 4,000 bytes");
        // Files that sparse paths leave out are visited nevertheless, if they are in a matching directory.
        let elsewhere = format!("{}/x", vec!["d".repeat(250); 15].join("/"));
        assert!(checkout(&objects, root, &[elsewhere]).is_ok());
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
