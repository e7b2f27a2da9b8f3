//! Properties of nodes as kyaml sees them: by the tag of a node, not by its resolved type.

use sluice_yaml::{Content, Node, ScalarStyle, SequenceIndent, is_special_in_yaml_1_1};

use crate::access::is_empty;
pub(super) use crate::access::{is_null, untagged};
use crate::failure::Failure;

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Mapping,
    Sequence,
    Scalar,
    Alias,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Mapping => "MappingNode",
            Self::Sequence => "SequenceNode",
            Self::Scalar => "ScalarNode",
            Self::Alias => "AliasNode",
        }
    }
}

pub(super) fn kind(node: &Node) -> Kind {
    match node.content {
        Content::Mapping { .. } => Kind::Mapping,
        Content::Sequence { .. } => Kind::Sequence,
        Content::Scalar { .. } => Kind::Scalar,
        Content::Alias(_) => Kind::Alias,
    }
}

/// The text of a scalar, the name of an alias; empty for a collection.
pub(super) fn raw(node: &Node) -> &str {
    match &node.content {
        Content::Scalar { value, .. } | Content::Alias(value) => value,
        Content::Sequence { .. } | Content::Mapping { .. } => "",
    }
}

/// Null, or a mapping without fields.
pub(super) fn is_null_or_empty_map(node: &Node) -> bool {
    is_null(node) || kind(node) == Kind::Mapping && node.fields().is_empty()
}

/// The value of a node's first field with that key.
pub(super) fn field<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    node.fields().iter().find(|(key, _)| raw(key) == name).map(|(_, value)| value)
}

/// The text of a field; `None` if it is missing or empty.
pub(super) fn field_text<'n>(node: &'n Node, name: &str) -> &'n str {
    field(node, name).filter(|value| !is_empty(value)).map_or("", raw)
}

/// Quotes a plain string that YAML 1.1 would parse as another type, like kyaml's setters.
pub(super) fn quote_if_special(node: &mut Node) {
    let text = node.tag == "!!str" || node.tag.is_empty();
    if let Content::Scalar { value, style: style @ ScalarStyle::Plain } = &mut node.content
        && text
        && !node.tagged
        && is_special_in_yaml_1_1(value)
    {
        *style = ScalarStyle::DoubleQuoted;
    }
}

/// Copies the style of `model` to `node`. The styles of scalars and of collections are separate.
pub(super) fn take_style(node: &mut Node, model: &Node) {
    let flow = match &model.content {
        Content::Sequence { flow, .. } | Content::Mapping { flow, .. } => *flow,
        Content::Scalar { .. } | Content::Alias(_) => false,
    };
    match &mut node.content {
        Content::Scalar { style, .. } => {
            *style = match &model.content {
                Content::Scalar { style, .. } => *style,
                _ => ScalarStyle::Plain,
            }
        }
        Content::Sequence { flow: own, .. } | Content::Mapping { flow: own, .. } => *own = flow,
        Content::Alias(_) => {}
    }
    node.tagged = model.tagged;
}

/// Copies the comments of `from` to `node`.
pub(super) fn take_comments(node: &mut Node, from: &Node) {
    if from.comments.is_none() {
        return;
    }
    if !from.foot_comment().is_empty() {
        node.set_foot_comment(from.foot_comment().to_owned());
    }
    if !from.head_comment().is_empty() {
        node.set_head_comment(from.head_comment().to_owned());
    }
    if !from.line_comment().is_empty() {
        node.set_line_comment(from.line_comment().to_owned());
    }
}

pub(super) fn wrong_kind(expected: Kind, node: &Node) -> Failure {
    let text = node.to_yaml(SequenceIndent::Compact);
    let (expected, found) = (expected.name(), kind(node).name());
    Failure::new(format!(
        "wrong node kind: expected {expected} but got {found}: node contents:\n{text}"
    ))
    .at(node.position)
}
