//! Places as the source has them: relative to its root, and with the lines of the kustomization file that is in it.
//!
//! A build reads a kustomization file that was written anew from the one in the source and the spec, so lines of it
//! say nothing to a reader. Entries keep their positions: those beyond the file's own come from the spec.

use std::sync::OnceLock;

use sluice_base::place::Place;
use sluice_yaml::{Node, Position};

use crate::failure::Diagnostic;
use crate::flux::generate::Generated;
use crate::flux::secure::SecureTree;
use crate::kustomization::{document, find};
use crate::place::EntryPlaces;
use crate::tree::FileTree as _;

/// Turns places of a build into those of the source.
pub(super) struct Places<'p> {
    root: &'p str,
    file: Option<(&'p Generated, &'p SecureTree<'p>)>,
    /// The kustomization file as the source has it, read when it is first asked for.
    original: OnceLock<Option<Node>>,
}

impl<'p> Places<'p> {
    pub(super) fn new(
        root: &'p str,
        generated: Option<&'p Generated>,
        tree: &'p SecureTree<'p>,
    ) -> Self {
        let file = generated.map(|generated| (generated, tree));
        Self { root, file, original: OnceLock::new() }
    }

    /// Places of a build of which only the root is known.
    pub(super) const fn without_file(root: &'p str) -> Self {
        Self { root, file: None, original: OnceLock::new() }
    }

    /// A text with paths of the source in place of paths of the tree.
    pub(super) fn unmounted(&self, text: &str) -> String {
        if self.root == "/" {
            return text.to_owned();
        }
        text.replace(&format!("'{}'", self.root), "'/'").replace(self.root, "")
    }

    /// A place with a path relative to the root of the source.
    pub(super) fn relative(&self, mut place: Place) -> Place {
        let below = place.file.strip_prefix(self.root).filter(|_| self.root != "/");
        if let Some(below) = below.and_then(|below| below.strip_prefix('/')) {
            place.file = below.into();
        }
        place.patched_by = place.patched_by.map(|patch| Box::new(self.relative(*patch)));
        place
    }

    /// Where a cause of a failure is written.
    pub(super) fn of_diagnostic(&self, cause: &Diagnostic) -> Option<Place> {
        let file = cause.file.as_deref()?;
        let line = cause.position.map_or(0, |position| position.line);
        let place = match self.file {
            Some((generated, _)) if generated.path == file => {
                let entry = entry_at(&document(generated.text.as_bytes())?, line);
                entry.and_then(|(field, index)| self.place(file, &field, index))
            }
            _ => None,
        };
        Some(self.relative(place.unwrap_or_else(|| Place::new(file, line))))
    }

    fn original(&self) -> Option<&Node> {
        let read = || {
            let (generated, tree) = self.file.filter(|(generated, _)| !generated.is_created)?;
            document(&tree.read(&generated.path).ok()?)
        };
        self.original.get_or_init(read).as_ref()
    }
}

impl EntryPlaces for Places<'_> {
    fn place(&self, file: &str, field: &str, index: Option<usize>) -> Option<Place> {
        self.file.filter(|(generated, _)| generated.path == file)?;
        let written = self.original().and_then(|root| find(root, &[field]));
        let own = written.map_or(0, |(_, list)| list.items().len());
        match (written, index) {
            (Some((position, _)), None) => Some(Place::new(file, position.line)),
            (Some((_, list)), Some(index)) if index < own => {
                Some(Place::new(file, list.items().get(index)?.position.line))
            }
            (_, Some(index)) => Some(Place::new(format!("spec.{field}[{}]", index - own), 0)),
            (None, None) => Some(Place::new(format!("spec.{field}"), 0)),
        }
    }
}

/// The entry of a kustomization file that is written at a line.
fn entry_at(root: &Node, line: usize) -> Option<(String, Option<usize>)> {
    let is_there = |position: Position| line > 0 && position.line == line;
    root.fields().iter().find_map(|(key, value)| {
        let field = || key.as_text().unwrap_or_default().to_owned();
        let item = value.items().iter().position(|item| is_there(item.position));
        match item {
            Some(index) => Some((field(), Some(index))),
            None => is_there(key.position).then(|| (field(), None)),
        }
    })
}
