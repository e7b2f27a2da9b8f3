//! Where resources are written and what changed them last.
//!
//! A build that is asked for places keeps references (a file and a line, or an entry of a kustomization file) with
//! its resources, and turns them into text once, at the end. Lines of entries are looked up only then.

use std::sync::Arc;

use sluice_base::place::Place;

use crate::kustomization::Kustomization;
use crate::loader::{is_url, path};
use crate::resource::Resource;

/// Where entries of a kustomization file are written, for a file that the source has in another form than the build
/// reads, or does not have at all.
pub trait EntryPlaces: Sync {
    /// The place of an entry; nothing where it is where the build reads it.
    fn place(&self, file: &str, field: &str, index: Option<usize>) -> Option<Place>;
}

/// An entry of a kustomization file: a generator, a patch, the list of images.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) kustomization: Arc<Kustomization>,
    /// The URL of the repository that the file is in, if it is not the build's own tree.
    pub(crate) repository: Option<Arc<str>>,
    pub(crate) field: &'static str,
    /// The position among the entries of the field, where each entry is one step.
    pub(crate) index: Option<usize>,
}

/// What changed a resource.
#[derive(Debug)]
struct Change {
    entry: Arc<Entry>,
    /// The file that the entry names, as written in it, and the line of the patch in that file.
    file: Option<(Arc<str>, usize)>,
}

/// What a resource remembers in a build that is asked for places.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trace {
    /// The URL of the repository that its file is in, if it is not the build's own tree.
    repository: Option<Arc<str>>,
    /// The generator that made it.
    generator: Option<Arc<Entry>>,
    change: Option<Arc<Change>>,
}

impl Entry {
    fn place(&self, entries: &dyn EntryPlaces) -> Place {
        let file = self.kustomization.path();
        if let Some(repository) = &self.repository {
            return Place::new(within(repository, file), self.line());
        }
        let known = entries.place(file, self.field, self.index);
        known.unwrap_or_else(|| Place::new(file, self.line()))
    }

    fn line(&self) -> usize {
        let index = self.index.map(|index| index.to_string());
        let path: Vec<&str> = std::iter::once(self.field).chain(index.as_deref()).collect();
        let position = self.kustomization.position(&path);
        position.map_or(0, |position| position.line)
    }
}

impl Change {
    fn place(&self, entries: &dyn EntryPlaces) -> Place {
        let Some((file, line)) = &self.file else { return self.entry.place(entries) };
        if is_url(file) {
            return Place::new(Arc::clone(file), *line);
        }
        let file = path::join(path::parent(self.entry.kustomization.path()), file);
        match &self.entry.repository {
            Some(repository) => Place::new(within(repository, &file), *line),
            None => Place::new(file, *line),
        }
    }
}

/// A file of a repository as kustomize writes it: `https://host/repository//path`.
fn within(repository: &str, file: &str) -> String {
    format!("{repository}/{file}")
}

impl Resource {
    /// Remembers the repository that the file of the resource is in.
    pub(crate) fn read_from(&mut self, repository: Option<&Arc<str>>) {
        if let Some(repository) = repository {
            self.trace.get_or_insert_default().repository = Some(Arc::clone(repository));
        }
    }

    /// Remembers the generator that made the resource.
    pub(crate) fn made_by(&mut self, entry: Entry) {
        self.trace.get_or_insert_default().generator = Some(Arc::new(entry));
    }

    /// Remembers what changed the resource: an entry, or the file that the entry names.
    pub(crate) fn changed_by(&mut self, entry: &Arc<Entry>, file: Option<(Arc<str>, usize)>) {
        let change = Change { entry: Arc::clone(entry), file };
        self.trace.get_or_insert_default().change = Some(Arc::new(change));
    }

    /// Takes the place of another resource: it is written where that one is, and its own generator changed it.
    pub(crate) fn replaces(&mut self, old: &Self) {
        let Some(generator) = self.trace.take().and_then(|trace| trace.generator) else { return };
        self.file.clone_from(&old.file);
        self.line = old.line;
        self.trace.clone_from(&old.trace);
        self.changed_by(&generator, None);
    }

    /// Where it is written.
    pub(crate) fn place(&self, entries: &dyn EntryPlaces) -> Option<Place> {
        let trace = self.trace.as_deref();
        let mut place = match (trace.and_then(|trace| trace.generator.as_ref()), &self.file) {
            (Some(generator), _) => generator.place(entries),
            (None, Some(file)) => match trace.and_then(|trace| trace.repository.as_deref()) {
                Some(repository) => Place::new(within(repository, file), self.line),
                None => Place::new(Arc::clone(file), self.line),
            },
            (None, None) => return None,
        };
        let change = trace.and_then(|trace| trace.change.as_ref());
        place.patched_by = change.map(|change| Box::new(change.place(entries)));
        Some(place)
    }
}
