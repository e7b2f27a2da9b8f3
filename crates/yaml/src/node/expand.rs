//! A tree without aliases, anchors and merge keys, as `RNode.DeAnchor` leaves it.
//!
//! kustomize walks a graph in which an alias points at the anchored node itself, copies mappings on
//! its way, and leaves the nodes it copied from as they are. What an alias brings later depends on
//! that: of two merges in a row the inner one may stay a key `<<`, which only the conversion to JSON
//! applies. So this walks the same graph, as a list of nodes that refer to each other by index.

use std::collections::{BTreeMap, BTreeSet};

use super::alias::unknown;
use super::{Content, Document, Node};
use crate::budget::Budget;
use crate::error::Error;
use crate::{MAX_DEPTH, too_deep};

impl Document {
    /// Replaces every alias by what it refers to and every merge key by the fields it brings, and
    /// drops the anchors, as kustomize does with what it reads.
    pub fn expand_aliases(&mut self) -> Result<(), Error> {
        self.root.expand_aliases()
    }
}

impl Node {
    /// Replaces every alias by what it refers to and every merge key by the fields it brings, and
    /// drops the anchors, as `RNode.DeAnchor` does.
    pub fn expand_aliases(&mut self) -> Result<(), Error> {
        if !self.needs_expansion(0)? {
            return Ok(());
        }
        let mut graph = Graph::default();
        let root = graph.take_in(std::mem::take(self), &mut BTreeMap::new())?;
        let root = graph.expand(root, 0)?;
        *self = graph.take_out(root, 0)?;
        Ok(())
    }

    /// Whether the walk would change anything.
    fn needs_expansion(&self, depth: usize) -> Result<bool, Error> {
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        if self.anchor.is_some() {
            return Ok(true);
        }
        match &self.content {
            Content::Scalar { .. } => Ok(false),
            Content::Alias(_) => Ok(true),
            Content::Sequence { items, .. } => {
                for item in items {
                    if item.needs_expansion(depth + 1)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Content::Mapping { fields, .. } => {
                for (key, value) in fields {
                    // A null key is doubled, see `set_all`.
                    if key.as_text() == Some("<<")
                        || key.is_null()
                        || key.needs_expansion(depth + 1)?
                        || value.needs_expansion(depth + 1)?
                    {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }
}

/// A node apart from what is inside it.
#[derive(Clone)]
struct Slot {
    /// The node, its collection empty.
    shell: Node,
    /// What is inside: items, or keys and values in turn.
    children: Vec<usize>,
    /// What an alias refers to.
    target: Option<usize>,
    /// Whether an alias is being followed to here.
    open: bool,
    /// Whether it is a copy, so that no alias refers to it or into it.
    copied: bool,
}

#[derive(Default)]
struct Graph {
    slots: Vec<Slot>,
    budget: Budget,
    /// How many aliases are being followed.
    following: usize,
}

/// The fields of a mapping while others are merged into it.
struct Fields {
    children: Vec<usize>,
    /// Where the keys of each text are.
    places: Places,
}

type Places = BTreeMap<String, BTreeSet<usize>>;

impl Graph {
    fn add(&mut self, slot: Slot) -> usize {
        self.slots.push(slot);
        self.slots.len() - 1
    }

    /// Takes a tree apart.
    fn take_in(
        &mut self,
        mut node: Node,
        anchors: &mut BTreeMap<String, usize>,
    ) -> Result<usize, Error> {
        self.budget.step(false)?;
        let inside: Vec<Node> = match &mut node.content {
            Content::Scalar { .. } | Content::Alias(_) => Vec::new(),
            Content::Sequence { items, .. } => std::mem::take(items),
            Content::Mapping { fields, .. } => {
                std::mem::take(fields).into_iter().flat_map(|(key, value)| [key, value]).collect()
            }
        };
        let target = match &node.content {
            Content::Alias(name) => Some(*anchors.get(name).ok_or_else(|| unknown(name))?),
            _ => None,
        };
        let anchor = node.anchor.take();
        let index = self.add(Slot {
            shell: node,
            children: Vec::new(),
            target,
            open: false,
            copied: false,
        });
        if let Some(anchor) = anchor {
            anchors.insert(anchor, index);
        }
        for child in inside {
            let child = self.take_in(child, anchors)?;
            self.slots[index].children.push(child);
        }
        Ok(index)
    }

    /// Puts a tree together again.
    fn take_out(&mut self, index: usize, depth: usize) -> Result<Node, Error> {
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        let Slot { mut shell, children, .. } = self.slots[index].clone();
        match &mut shell.content {
            Content::Scalar { .. } | Content::Alias(_) => {}
            Content::Sequence { items, .. } => {
                for child in children {
                    items.push(self.take_out(child, depth + 1)?);
                }
            }
            Content::Mapping { fields, .. } => {
                for pair in children.chunks_exact(2) {
                    let key = self.take_out(pair[0], depth + 1)?;
                    fields.push((key, self.take_out(pair[1], depth + 1)?));
                }
            }
        }
        Ok(shell)
    }

    /// A deep copy; aliases in it refer to what they referred to.
    fn copy(&mut self, index: usize) -> Result<usize, Error> {
        self.budget.step(self.following > 0)?;
        if let Content::Scalar { value, .. } = &self.slots[index].shell.content {
            self.budget.text(self.following > 0, value.len())?;
        }
        let mut slot = self.slots[index].clone();
        slot.open = false;
        slot.copied = true;
        for child in &mut slot.children {
            *child = self.copy(*child)?;
        }
        Ok(self.add(slot))
    }

    fn is_mapping(&self, index: usize) -> bool {
        matches!(self.slots[index].shell.content, Content::Mapping { .. })
    }

    fn expand(&mut self, index: usize, depth: usize) -> Result<usize, Error> {
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        if let Some(target) = self.slots[index].target {
            if std::mem::replace(&mut self.slots[target].open, true) {
                let Content::Alias(name) = &self.slots[index].shell.content else {
                    return Ok(index);
                };
                return Err(Error::problem(format!("anchor '{name}' value contains itself")));
            }
            self.following += 1;
            let expanded = self.expand(target, depth + 1)?;
            self.slots[target].open = false;
            let copy = self.copy(expanded)?;
            self.following -= 1;
            return Ok(copy);
        }
        if self.is_mapping(index) {
            self.merge(index)?;
        }
        for child in 0..self.slots[index].children.len() {
            let expanded = self.expand(self.slots[index].children[child], depth + 1)?;
            self.slots[index].children[child] = expanded;
        }
        Ok(index)
    }

    /// Replaces a mapping's merge key by the fields it brings, behind the mapping's own.
    fn merge(&mut self, index: usize) -> Result<(), Error> {
        let mut merge = None;
        for pair in self.slots[index].children.chunks_exact(2) {
            if self.slots[pair[0]].shell.tag == "!!merge" && merge.replace(pair[1]).is_some() {
                return Err(Error::Unsupported("duplicate merge key".to_owned()));
            }
        }
        let mut sources = Vec::new();
        if let Some(merge) = merge {
            self.merge_sources(merge, &mut sources)?;
        }
        // kustomize clears the key by its text, quoted or not.
        if let Some(place) = self.find(index, "<<") {
            self.slots[index].children.drain(place..place + 2);
        }
        // kustomize writes all of this into a copy. One of a copy would change nothing more.
        if !self.slots[index].copied {
            let copy = self.copy(index)?;
            self.slots[index].children = std::mem::take(&mut self.slots[copy].children);
        }
        let own = self.slots[index].children.clone();
        let is_null = |pair: &[usize]| self.slots[pair[0]].shell.is_null();
        if sources.is_empty() && !own.chunks_exact(2).any(is_null) {
            return Ok(());
        }
        let mut fields = Fields { places: self.places(&own), children: own.clone() };
        self.following += 1;
        for source in sources {
            let copy = self.copy(source)?;
            let brought = std::mem::take(&mut self.slots[copy].children);
            self.set_all(&mut fields, &brought)?;
        }
        self.following -= 1;
        // Its own fields come last, and so win.
        self.set_all(&mut fields, &own)?;
        self.slots[index].children = fields.children;
        Ok(())
    }

    fn text(&self, index: usize) -> &str {
        self.slots[index].shell.as_text().unwrap_or_default()
    }

    /// Where the first key with that text is.
    fn find(&self, index: usize, name: &str) -> Option<usize> {
        let mut pairs = self.slots[index].children.chunks_exact(2);
        pairs.position(|pair| self.text(pair[0]) == name).map(|pair| 2 * pair)
    }

    fn places(&self, children: &[usize]) -> Places {
        let mut places = Places::new();
        for (number, pair) in children.chunks_exact(2).enumerate() {
            places.entry(self.text(pair[0]).to_owned()).or_default().insert(2 * number);
        }
        places
    }

    /// Sets every field of `brought`, each in its place or last. One that comes twice counts with its
    /// first value each time; a null key has no name to be found by, so it is there once more.
    fn set_all(&mut self, fields: &mut Fields, brought: &[usize]) -> Result<(), Error> {
        let first = |places: &Places, name: &str| places.get(name)?.first().copied();
        let places = self.places(brought);
        for pair in brought.chunks_exact(2) {
            let text = self.text(pair[0]).to_owned();
            let place = first(&places, &text).unwrap_or_default();
            let (key, value) = (brought[place], brought[place + 1]);
            let name = if self.slots[key].shell.is_null() { "" } else { &text };
            let place = first(&fields.places, name).unwrap_or(fields.children.len());
            if place < fields.children.len() {
                fields.children[place..place + 2].copy_from_slice(&[key, value]);
                if let Some(places) = fields.places.get_mut(name) {
                    places.remove(&place);
                }
            } else {
                let pair = [self.copy(key)?, self.copy(value)?];
                fields.children.extend(pair);
            }
            fields.places.entry(text).or_default().insert(place);
        }
        Ok(())
    }

    /// The mappings that a merge brings; the later ones win.
    fn merge_sources(&self, index: usize, sources: &mut Vec<usize>) -> Result<(), Error> {
        let refuse = |problem: &str| Err(Error::Unsupported(problem.to_owned()));
        let slot = &self.slots[index];
        match (&slot.shell.content, slot.target) {
            (Content::Mapping { .. }, _) => sources.push(index),
            (_, Some(target)) if self.is_mapping(target) => sources.push(target),
            (_, Some(_)) => {
                return refuse("invalid map merge: received alias for a non-map value");
            }
            (Content::Sequence { .. }, None) => {
                for child in &slot.children {
                    if matches!(self.slots[*child].shell.content, Content::Sequence { .. }) {
                        return refuse("invalid map merge: received a nested sequence");
                    }
                    self.merge_sources(*child, sources)?;
                }
                // The first of a list wins.
                sources.reverse();
            }
            (Content::Scalar { .. } | Content::Alias(_), None) => {
                return refuse("map merge requires map or sequence of maps as the value");
            }
        }
        Ok(())
    }
}
