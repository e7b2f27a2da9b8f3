//! Repositories made on the spot: for tests, the demo and rehearsals.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use jiff::Timestamp;

use super::commit::{Commit, Identity, Tag};
use super::error::Cause;
use super::object::{Object, ObjectId, ObjectKind, Objects};
use super::remote::{FetchRequest, ObjectFilter, RemoteRef};
use crate::tree::{Node, SourceTree};

/// A repository in memory.
#[derive(Debug, Clone, Default)]
pub struct Repository {
    objects: Objects,
    refs: BTreeMap<String, ObjectId>,
    head: String,
}

/// What a new commit says.
#[derive(Debug, Clone)]
pub struct NewCommit<'a> {
    /// The branch that moves to it; made if it is not there.
    pub branch: &'a str,
    /// The message.
    pub message: &'a str,
    /// The files, all of them.
    pub files: &'a SourceTree,
    /// Who and when, as author and committer.
    pub by: Identity,
}

impl Repository {
    /// An empty repository whose `HEAD` is a branch.
    pub fn new(head: &str) -> Self {
        Self { head: format!("refs/heads/{head}"), ..Self::default() }
    }

    /// The objects.
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// Adds an object as it is, and says its name.
    pub fn add_object(&mut self, kind: ObjectKind, data: impl Into<Bytes>) -> ObjectId {
        self.objects.insert(kind, data)
    }

    /// What a ref points at.
    pub fn get_ref(&self, name: &str) -> Option<ObjectId> {
        self.refs.get(name).copied()
    }

    /// Points a ref at an object; with nothing, takes it away.
    pub fn set_ref(&mut self, name: &str, id: Option<ObjectId>) {
        match id {
            Some(id) => self.refs.insert(name.to_owned(), id),
            None => self.refs.remove(name),
        };
    }

    /// Writes files as a commit on a branch.
    pub fn commit(&mut self, new: &NewCommit<'_>) -> ObjectId {
        let tree = self.add_tree(new.files);
        let branch = format!("refs/heads/{}", new.branch);
        let parent = self.refs.get(&branch).map(|id| format!("parent {id}\n")).unwrap_or_default();
        let by = signature_line(&new.by);
        let message = with_newline(new.message);
        let text = format!("tree {tree}\n{parent}author {by}\ncommitter {by}\n\n{message}");
        let id = self.objects.insert(ObjectKind::Commit, text);
        self.refs.insert(branch, id);
        id
    }

    /// Points a plain tag at an object.
    pub fn tag(&mut self, name: &str, target: ObjectId) {
        self.refs.insert(format!("refs/tags/{name}"), target);
    }

    /// Makes an annotated tag.
    pub fn annotated_tag(
        &mut self,
        name: &str,
        target: ObjectId,
        message: &str,
        by: &Identity,
    ) -> ObjectId {
        let kind = self.objects.get(&target).map_or(ObjectKind::Commit, |object| object.kind);
        let (by, message) = (signature_line(by), with_newline(message));
        let text =
            format!("object {target}\ntype {}\ntag {name}\ntagger {by}\n\n{message}", kind.name());
        let id = self.objects.insert(ObjectKind::Tag, text);
        self.refs.insert(format!("refs/tags/{name}"), id);
        id
    }

    /// Writes a tree of files as directory objects, and says the root's name.
    pub fn add_tree(&mut self, files: &SourceTree) -> ObjectId {
        let mut folders: BTreeMap<String, Vec<Line>> = BTreeMap::new();
        folders.insert(String::new(), Vec::new());
        let mut directories = vec![String::new()];
        for (path, node) in files.iter() {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            let (mode, data) = match node {
                Node::Directory => {
                    directories.push(path.to_owned());
                    folders.entry(path.to_owned()).or_default();
                    continue;
                }
                Node::Link { target } => ("120000", Bytes::from(target.clone())),
                Node::File { content, executable: true } => ("100755", content.clone()),
                Node::File { content, executable: false } => ("100644", content.clone()),
            };
            let id = self.objects.insert(ObjectKind::Blob, data);
            folders.entry(folder.to_owned()).or_default().push(entry(mode, name, id));
        }
        let mut root = None;
        // Those below come after, so the way back makes every directory before the one it is in.
        for path in directories.iter().rev() {
            let mut entries = folders.remove(path).unwrap_or_default();
            // Git has no empty directories.
            if entries.is_empty() && !path.is_empty() {
                continue;
            }
            entries.sort();
            let data: Vec<u8> = entries.into_iter().flat_map(|(_, line)| line).collect();
            let id = self.objects.insert(ObjectKind::Tree, data);
            match path.rsplit_once('/') {
                _ if path.is_empty() => root = Some(id),
                Some((above, name)) => {
                    folders.entry(above.to_owned()).or_default().push(entry("40000", name, id));
                }
                None => {
                    folders.entry(String::new()).or_default().push(entry("40000", path, id));
                }
            }
        }
        root.expect("the first directory of the list is the root")
    }

    /// All refs with `HEAD` first, as a remote lists them.
    pub fn list_refs(&self) -> Vec<RemoteRef> {
        let head = self.refs.get(&self.head).map(|id| ("HEAD", id));
        let others = self.refs.iter().map(|(name, id)| (name.as_str(), id));
        head.into_iter()
            .chain(others)
            .map(|(name, id)| RemoteRef { name: name.to_owned(), id: *id, peeled: self.peel(*id) })
            .collect()
    }

    /// The branch that `HEAD` is, such as `refs/heads/main`.
    pub fn head(&self) -> &str {
        &self.head
    }

    fn peel(&self, id: ObjectId) -> Option<ObjectId> {
        let mut target = Tag::find(&self.objects, id).ok()?.target;
        while let Ok(tag) = Tag::find(&self.objects, target) {
            target = tag.target;
        }
        Some(target)
    }

    /// The objects of a fetch, in order of their names, and the commits whose parents were cut off.
    pub fn select(&self, request: &FetchRequest) -> Result<Selection, Cause> {
        let mut selection = Selection::default();
        let known = self.known(&request.haves);
        let mut commits: Vec<(ObjectId, u32)> = Vec::new();
        for want in &request.wants {
            self.start(*want, request, &mut selection, &mut commits)?;
        }
        // Breadth first, so that a commit is met by its shortest way.
        let mut level = 0;
        while let Some((id, depth)) = commits.get(level).copied() {
            level += 1;
            if known.contains(&id) || !selection.ids.insert(id) {
                continue;
            }
            let commit = Commit::find(&self.objects, id)?;
            if request.filter != Some(ObjectFilter::Trees) {
                self.add_reachable(commit.tree, request.filter, &mut selection.ids)?;
            }
            if request.depth.is_some_and(|most| depth >= most) {
                if !commit.parents.is_empty() {
                    selection.shallow.push(id);
                }
                continue;
            }
            commits.extend(commit.parents.into_iter().map(|parent| (parent, depth + 1)));
        }
        Ok(selection)
    }

    /// Some commits and all that they descend from.
    fn known(&self, haves: &[ObjectId]) -> BTreeSet<ObjectId> {
        let mut known = BTreeSet::new();
        let mut open = haves.to_vec();
        while let Some(id) = open.pop() {
            let Ok(commit) = Commit::find(&self.objects, id) else { continue };
            if known.insert(id) {
                open.extend(commit.parents);
            }
        }
        known
    }

    /// The objects of a selection.
    pub fn selected(&self, selection: &Selection) -> Vec<&Object> {
        selection.ids.iter().filter_map(|id| self.objects.get(id)).collect()
    }

    fn start(
        &self,
        want: ObjectId,
        request: &FetchRequest,
        selection: &mut Selection,
        commits: &mut Vec<(ObjectId, u32)>,
    ) -> Result<(), Cause> {
        let object = self.objects.get(&want).ok_or(Cause::ObjectNotFound(want.to_string()))?;
        match object.kind {
            ObjectKind::Commit => commits.push((want, 1)),
            ObjectKind::Tag => {
                selection.ids.insert(want);
                let target = Tag::find(&self.objects, want)?.target;
                self.start(target, request, selection, commits)?;
            }
            ObjectKind::Tree => self.add_reachable(want, request.filter, &mut selection.ids)?,
            // What is asked for by name comes whatever the filter says.
            ObjectKind::Blob => {
                selection.ids.insert(want);
            }
        }
        Ok(())
    }

    fn add_reachable(
        &self,
        root: ObjectId,
        filter: Option<ObjectFilter>,
        ids: &mut BTreeSet<ObjectId>,
    ) -> Result<(), Cause> {
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            if !ids.insert(id) {
                continue;
            }
            for (is_tree, entry) in
                super::tree::children(self.objects.expect(&id, ObjectKind::Tree)?)?
            {
                if is_tree {
                    open.push(entry);
                } else if filter.is_none() && self.objects.contains(&entry) {
                    ids.insert(entry);
                }
            }
        }
        Ok(())
    }
}

/// What a fetch brings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// The objects.
    pub ids: BTreeSet<ObjectId>,
    /// Commits whose parents are left out.
    pub shallow: Vec<ObjectId>,
}

impl Identity {
    /// Somebody at a moment.
    pub fn new(name: &str, email: &str, when: Timestamp) -> Self {
        Self { name: name.to_owned(), email: email.to_owned(), when }
    }
}

/// A line of a directory object behind the key it is sorted by: directories count their slash.
type Line = (Vec<u8>, Vec<u8>);

fn entry(mode: &str, name: &str, id: ObjectId) -> Line {
    let mut key = name.as_bytes().to_vec();
    if mode == "40000" {
        key.push(b'/');
    }
    let mut line = format!("{mode} {name}\0").into_bytes();
    line.extend_from_slice(id.as_bytes());
    (key, line)
}

fn signature_line(by: &Identity) -> String {
    format!("{} <{}> {} +0000", by.name, by.email, by.when.as_second())
}

fn with_newline(message: &str) -> String {
    if message.ends_with('\n') { message.to_owned() } else { format!("{message}\n") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_checked_out(
            files in proptest::collection::btree_map("[a-c.-]{1,3}(/[a-cé ]{1,4}){0,3}", any::<(Vec<u8>, bool)>(), 0..12),
        ) {
            let mut tree = SourceTree::default();
            for (path, (content, executable)) in files {
                let _ = tree.insert(&path, Node::File { content: content.into(), executable });
            }
            let mut repository = Repository::new("main");
            let root = repository.add_tree(&tree);
            let found = super::super::tree::checkout(repository.objects(), root, &[]);
            prop_assert_eq!(found.expect("checked out").files, tree);
        }
    }

    #[test]
    fn names_are_those_that_git_gives() {
        let mut repository = Repository::new("main");
        assert_eq!(
            repository.add_tree(&SourceTree::default()).to_string(),
            "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
        );
    }
}
