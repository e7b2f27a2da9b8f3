//! Resolves the aliases of a tree.

use std::collections::BTreeMap;

use super::{Content, Node};
use crate::error::Error;
use crate::{MAX_DEPTH, too_deep};

/// The node that each alias of a tree refers to.
pub(super) struct Aliases<'n> {
    targets: BTreeMap<*const Node, &'n Node>,
}

impl<'n> Aliases<'n> {
    /// Looks every alias of the tree up: the last anchor of its name before it counts.
    pub(super) fn of(root: &'n Node) -> Result<Self, Error> {
        let mut aliases = Self { targets: BTreeMap::new() };
        aliases.visit(root, &mut BTreeMap::new(), 0)?;
        Ok(aliases)
    }

    fn visit(
        &mut self,
        node: &'n Node,
        anchors: &mut BTreeMap<&'n str, &'n Node>,
        depth: usize,
    ) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        if let Some(anchor) = &node.anchor {
            anchors.insert(anchor, node);
        }
        match &node.content {
            Content::Scalar { .. } => {}
            Content::Alias(name) => {
                if let Some(target) = anchors.get(name.as_str()) {
                    self.targets.insert(node, target);
                }
            }
            Content::Sequence { items, .. } => {
                items.iter().try_for_each(|item| self.visit(item, anchors, depth + 1))?;
            }
            Content::Mapping { fields, .. } => {
                for (key, value) in fields {
                    self.visit(key, anchors, depth + 1)?;
                    self.visit(value, anchors, depth + 1)?;
                }
            }
        }
        Ok(())
    }

    /// What `alias` refers to.
    pub(super) fn target(&self, alias: &Node, name: &str) -> Result<&'n Node, Error> {
        let target = self.targets.get(&std::ptr::from_ref(alias));
        target.copied().ok_or_else(|| unknown(name))
    }
}

pub(super) fn unknown(name: &str) -> Error {
    Error::problem(format!("unknown anchor '{name}' referenced"))
}
