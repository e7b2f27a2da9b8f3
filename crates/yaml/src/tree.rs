//! A document as a flat list of nodes in reading order, for readers that need only its values.
//!
//! Strings are slices of the input where possible, so a large stream costs one list and no tree.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::error::Error;
use crate::parser::{Event, EventKind, Parser, Properties};
use crate::token::ScalarStyle;
use crate::{MAX_DEPTH, too_deep};

/// A node in the list.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    /// The line it starts on, counted from one.
    pub(crate) line: usize,
    /// The index after the last node inside it.
    pub(crate) end: usize,
    pub(crate) kind: EntryKind<'a>,
}

/// What a node is.
#[derive(Debug)]
pub(crate) enum EntryKind<'a> {
    Scalar {
        value: Cow<'a, str>,
        /// The long tag, where one is written.
        tag: Option<Cow<'a, str>>,
        plain: bool,
    },
    Sequence,
    Mapping,
    /// A reference to the node with that index.
    Alias(&'a str, usize),
}

/// The nodes of one document, the root first.
#[derive(Debug, Default)]
pub(crate) struct Tree<'a> {
    pub(crate) entries: Vec<Entry<'a>>,
}

impl<'a> Tree<'a> {
    /// Reads the next document, or nothing at the end of the stream.
    pub(crate) fn read(parser: &mut Parser<'a>) -> Result<Option<Self>, Error> {
        if let EventKind::StreamEnd = parser.next_event()?.kind {
            return Ok(None);
        }
        let mut tree = Self::default();
        let mut anchors: BTreeMap<&'a str, usize> = BTreeMap::new();
        let mut open: Vec<usize> = Vec::new();
        loop {
            let Event { mark, kind, .. } = parser.next_event()?;
            let index = tree.entries.len();
            let kind = match kind {
                EventKind::SequenceStart { properties, .. } => {
                    tree.open(&mut open, &mut anchors, &properties)?;
                    EntryKind::Sequence
                }
                EventKind::MappingStart { properties, .. } => {
                    tree.open(&mut open, &mut anchors, &properties)?;
                    EntryKind::Mapping
                }
                EventKind::Scalar(properties, value, style) => {
                    if let Some(anchor) = properties.anchor {
                        anchors.insert(anchor, index);
                    }
                    let plain = style == ScalarStyle::Plain;
                    EntryKind::Scalar { value, tag: properties.tag, plain }
                }
                EventKind::Alias(name) => {
                    let Some(target) = anchors.get(name) else {
                        return Err(Error::problem(format!("unknown anchor '{name}' referenced")));
                    };
                    EntryKind::Alias(name, *target)
                }
                EventKind::SequenceEnd | EventKind::MappingEnd => {
                    if let Some(opened) = open.pop()
                        && let Some(entry) = tree.entries.get_mut(opened)
                    {
                        entry.end = index;
                    }
                    continue;
                }
                EventKind::DocumentEnd | EventKind::StreamEnd | EventKind::DocumentStart => {
                    return Ok(Some(tree));
                }
            };
            tree.entries.push(Entry { line: mark.line + 1, end: index + 1, kind });
        }
    }

    fn open(
        &self,
        open: &mut Vec<usize>,
        anchors: &mut BTreeMap<&'a str, usize>,
        properties: &Properties<'a>,
    ) -> Result<(), Error> {
        let index = self.entries.len();
        if open.len() >= MAX_DEPTH {
            return Err(too_deep());
        }
        if let Some(anchor) = properties.anchor {
            anchors.insert(anchor, index);
        }
        open.push(index);
        Ok(())
    }

    /// The indices of the nodes directly inside the collection at `index`.
    pub(crate) fn children(&self, index: usize) -> Children<'_, 'a> {
        let end = self.entries.get(index).map_or(0, |entry| entry.end);
        Children { tree: self, next: index + 1, end }
    }
}

/// The indices of the nodes directly inside a collection.
pub(crate) struct Children<'t, 'a> {
    tree: &'t Tree<'a>,
    next: usize,
    end: usize,
}

impl Iterator for Children<'_, '_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.next >= self.end {
            return None;
        }
        let index = self.next;
        self.next = self.tree.entries.get(index)?.end;
        Some(index)
    }
}
