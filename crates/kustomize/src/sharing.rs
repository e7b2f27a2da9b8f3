//! One value in several places of an object.
//!
//! In kustomize, the value of a label or annotation that a transformer adds in several places of an object
//! is one node with several parents. Whoever changes it later in one place changes it in all: a label that
//! a base adds to a workload's metadata, selector and template, and that an overlay patches in the
//! metadata alone, changes in the selector too. Here every place has a node of its own; a mark tells which
//! were one, and [`settle`] carries a change to the others. What is written anew, as JSON patches and new
//! maps are, carries no mark and is on its own, as it is there.

use std::collections::BTreeMap;

use sluice_yaml::{Content, Node, Position};

use crate::resource::Resource;

/// The mark lives in the column of nodes that were not read from a file: the upper half says which nodes
/// are one, the lower half counts changes.
const CHANGE_BITS: u32 = 32;

/// A node as one of those that the resource knows under this number, counted from one.
pub(crate) fn mark(node: &mut Node, number: usize) {
    node.position = Position { line: 0, column: number << CHANGE_BITS };
}

/// Whether the node is marked.
pub(crate) fn is_marked(node: &Node) -> bool {
    node.position.line == 0 && node.position.column > 0
}

/// To be called where `value` takes the place of `old`: in kustomize the node stays and only its content
/// is exchanged.
pub(crate) fn keep(value: &mut Node, old: &Node) {
    if is_marked(old) {
        value.position = Position { line: 0, column: old.position.column + 1 };
    } else if is_marked(value) {
        value.position = Position::default();
    }
}

/// To be called where the content of a node was changed in place.
pub(crate) fn touch(node: &mut Node) {
    if is_marked(node) {
        node.position.column += 1;
    }
}

/// A copy that shares nothing.
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

/// Carries what was changed in one place to the others.
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
