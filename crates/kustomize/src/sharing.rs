//! Values that are shared by several fields of an object.
//!
//! In kustomize, the value of a label or annotation that a transformer adds to several fields is one node with several
//! parents. A later change of one field changes all. Example: a base adds a label to a workload's metadata, selector
//! and template, and an overlay patches it in the metadata only; then it changes in the selector too. Here every field
//! has its own node; a mark identifies shared ones, and [`settle`] copies a change to the others. Values that are
//! written anew, by JSON patches or as new maps, have no mark, as in kustomize.

use std::collections::BTreeMap;

use sluice_yaml::{Content, Node, Position};

use crate::resource::Resource;

/// The mark is stored in the column of nodes that were not parsed from a file: the upper half identifies the shared
/// value, the lower half counts changes.
const CHANGE_BITS: u32 = 32;

/// Marks a node as sharing the value with this number, from one.
pub(crate) fn mark(node: &mut Node, number: usize) {
    node.position = Position { line: 0, column: number << CHANGE_BITS };
}

/// Whether the node is marked.
pub(crate) fn is_marked(node: &Node) -> bool {
    node.position.line == 0 && node.position.column > 0
}

/// To be called when `value` replaces `old`: in kustomize the node stays and only its content is exchanged.
pub(crate) fn keep(value: &mut Node, old: &Node) {
    if is_marked(old) {
        value.position = Position { line: 0, column: old.position.column + 1 };
    } else if is_marked(value) {
        value.position = Position::default();
    }
}

/// To be called when the content of a node was changed in place.
pub(crate) fn touch(node: &mut Node) {
    if is_marked(node) {
        node.position.column += 1;
    }
}

/// A copy without marks.
pub(crate) fn copy(node: &Node) -> Node {
    fn forget(node: &mut Node) {
        if is_marked(node) {
            node.position = Position::default();
        }
        match &mut node.content {
            Content::Mapping { fields, .. } => {
                for (_, value) in fields {
                    forget(value);
                }
            }
            Content::Sequence { items, .. } => {
                for item in items {
                    forget(item);
                }
            }
            Content::Scalar { .. } | Content::Alias(_) => {}
        }
    }
    let mut copy = node.clone();
    forget(&mut copy);
    copy
}

/// Copies a change of one field to the others.
pub(crate) fn settle(resource: &mut Resource) {
    if resource.shared_values == 0 {
        return;
    }
    let mut newest: BTreeMap<usize, &Node> = BTreeMap::new();
    let mut differ = false;
    visit(&resource.node, &mut |node| {
        let number = node.position.column >> CHANGE_BITS;
        let known = newest.entry(number).or_insert(node);
        differ |= known.position != node.position;
        if node.position.column > known.position.column {
            *known = node;
        }
    });
    if !differ {
        return;
    }
    let newest: BTreeMap<usize, Node> =
        newest.into_iter().map(|(number, node)| (number, node.clone())).collect();
    exchange(&mut resource.node, &newest);
}

fn visit<'n>(node: &'n Node, found: &mut dyn FnMut(&'n Node)) {
    match &node.content {
        Content::Mapping { fields, .. } => {
            for (_, value) in fields {
                visit(value, found);
            }
        }
        Content::Sequence { items, .. } => {
            for item in items {
                visit(item, found);
            }
        }
        Content::Scalar { .. } | Content::Alias(_) => {
            if is_marked(node) {
                found(node);
            }
        }
    }
}

fn exchange(node: &mut Node, newest: &BTreeMap<usize, Node>) {
    if is_marked(node) {
        if let Some(value) = newest.get(&(node.position.column >> CHANGE_BITS))
            && value.position != node.position
        {
            *node = value.clone();
        }
        return;
    }
    match &mut node.content {
        Content::Mapping { fields, .. } => {
            for (_, value) in fields {
                exchange(value, newest);
            }
        }
        Content::Sequence { items, .. } => {
            for item in items {
                exchange(item, newest);
            }
        }
        Content::Scalar { .. } | Content::Alias(_) => {}
    }
}
