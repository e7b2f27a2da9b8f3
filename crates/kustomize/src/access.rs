//! Finds, creates and sets fields as kyaml's `PathGetter`, `FieldSetter` and `FieldClearer` do.
//!
//! Two things differ from a plain tree: a null has no fields, and a node that the engine creates may have no tag, so
//! that its text alone determines its type.

use sluice_yaml::{Content, Node, ScalarStyle, is_special_in_yaml_1_1};

use crate::failure::{Failure, Result};
use crate::sharing;

/// The kind of a created node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Scalar,
    Sequence,
    Mapping,
}

impl Kind {
    pub(crate) fn of(node: &Node) -> Option<Self> {
        match node.content {
            Content::Scalar { .. } => Some(Self::Scalar),
            Content::Sequence { .. } => Some(Self::Sequence),
            Content::Mapping { .. } => Some(Self::Mapping),
            Content::Alias(_) => None,
        }
    }

    /// An empty node of this kind, without a tag.
    pub(crate) fn empty(self) -> Node {
        let content = match self {
            Self::Scalar => Content::default(),
            Self::Sequence => Content::Sequence { items: Vec::new(), flow: false },
            Self::Mapping => Content::Mapping { fields: Vec::new(), flow: false },
        };
        Node { content, ..Node::default() }
    }

    /// The name in kyaml's messages.
    fn name(self) -> &'static str {
        match self {
            Self::Scalar => "ScalarNode",
            Self::Sequence => "SequenceNode",
            Self::Mapping => "MappingNode",
        }
    }
}

/// A string; several lines are written in literal style.
pub(crate) fn lines(text: impl Into<String>) -> Node {
    let text = text.into();
    let is_long = text.contains('\n');
    let mut node = Node::text(text);
    if is_long && let Content::Scalar { style, .. } = &mut node.content {
        *style = ScalarStyle::Literal;
    }
    node
}

/// A scalar without a tag: its text determines its type.
pub(crate) fn untagged(text: impl Into<String>) -> Node {
    Node::scalar("", text)
}

/// Whether the node's tag is null. One without a tag is never null.
pub(crate) fn is_null(node: &Node) -> bool {
    node.tag == "!!null"
}

/// Null, an empty map or an empty list.
pub(crate) fn is_empty(node: &Node) -> bool {
    is_null(node)
        || match &node.content {
            Content::Mapping { fields, .. } => fields.is_empty(),
            Content::Sequence { items, .. } => items.is_empty(),
            Content::Scalar { .. } | Content::Alias(_) => false,
        }
}

/// The text of a scalar; empty for null and for other nodes.
pub(crate) fn text(node: &Node) -> &str {
    if is_null(node) { "" } else { node.as_text().unwrap_or_default() }
}

/// Fails for a node of another kind; null is of every kind.
pub(crate) fn expect(node: &Node, kind: Kind) -> Result<()> {
    if is_null(node) || Kind::of(node) == Some(kind) {
        return Ok(());
    }
    let is = Kind::of(node).map_or("AliasNode", Kind::name);
    let content = node.to_yaml(sluice_yaml::SequenceIndent::Compact);
    Err(Failure::new(format!(
        "wrong node kind: expected {} but got {is}: node contents:\n{content}",
        kind.name()
    ))
    .at(node.position))
}

/// A field of a mapping. Null has none; any other node is an error.
pub(crate) fn field<'n>(node: &'n Node, name: &str) -> Result<Option<&'n Node>> {
    expect(node, Kind::Mapping)?;
    Ok(if is_null(node) { None } else { node.field(name) })
}

/// A step of a path, as kyaml parses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step<'p> {
    /// The field of a mapping.
    Field(&'p str),
    /// The element of a list at an index.
    Index(usize),
    /// The last element of a list: `-`.
    Last,
    /// The element with that text in a field: `[name=value]`; without a name, the element itself.
    Element { name: &'p str, value: &'p str },
}

impl<'p> Step<'p> {
    /// Parses one part of a path.
    pub(crate) fn read(part: &'p str) -> Result<Self> {
        let number = part.strip_prefix(['+', '-']).unwrap_or(part);
        if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
            return match part.trim_start_matches('+').parse::<i64>() {
                Ok(index) => usize::try_from(index)
                    .map(Self::Index)
                    .map_err(|_| Failure::new(format!("array index {index} cannot be negative"))),
                // Too large for Go's Atoi, so it is a name.
                Err(_) => Ok(Self::Field(part)),
            };
        }
        if part == "-" {
            return Ok(Self::Last);
        }
        if part == "*" {
            return Err(Failure::new("wildcard is not supported in PathGetter"));
        }
        let Some(inner) = part.strip_prefix('[').and_then(|part| part.strip_suffix(']')) else {
            return Ok(Self::Field(part));
        };
        match inner.split_once('=') {
            Some((name, value)) => Ok(Self::Element { name, value }),
            None => Err(Failure::new(
                "list path element must contain fieldName=fieldValue for element to match",
            )),
        }
    }

    fn is_in_list(part: &str) -> bool {
        (part.starts_with('[') && part.ends_with(']')) || part.parse::<u64>().is_ok()
    }
}

/// Drops empty parts and trims the others, as kyaml does.
fn clean<'p>(path: &[&'p str]) -> Vec<&'p str> {
    path.iter().map(|part| part.trim()).filter(|part| !part.is_empty()).collect()
}

/// The node at a path; `None` if the path does not exist or leads through null.
pub(crate) fn lookup<'n>(node: &'n Node, path: &[&str]) -> Result<Option<&'n Node>> {
    let mut at = node;
    for part in clean(path) {
        let next = match Step::read(part)? {
            Step::Field(name) => field(at, name)?,
            Step::Index(index) => elements(at)?.get(index),
            Step::Last => elements(at)?.last(),
            Step::Element { name, value } => {
                elements(at)?.iter().find(|item| is_element(item, name, value))
            }
        };
        match next {
            Some(next) => at = next,
            None => return Ok(None),
        }
    }
    Ok(Some(at))
}

/// The node at a path, mutable.
pub(crate) fn lookup_mut<'n>(node: &'n mut Node, path: &[&str]) -> Result<Option<&'n mut Node>> {
    walk(node, path, None)
}

/// The node at a path, mutable; missing fields and elements are created, the last one as `kind`. An element by
/// index is never created.
pub(crate) fn lookup_create<'n>(
    node: &'n mut Node,
    path: &[&str],
    kind: Kind,
) -> Result<Option<&'n mut Node>> {
    walk(node, path, Some(kind))
}

fn walk<'n>(
    node: &'n mut Node,
    path: &[&str],
    create: Option<Kind>,
) -> Result<Option<&'n mut Node>> {
    let path = clean(path);
    let mut at = node;
    for (index, part) in path.iter().enumerate() {
        let next = match Step::read(part)? {
            Step::Field(name) => {
                expect(at, Kind::Mapping)?;
                if is_null(at) {
                    return Ok(None);
                }
                match create {
                    None => at.field_mut(name),
                    Some(last) => {
                        let kind = match path.get(index + 1) {
                            None => last,
                            Some(next) if Step::is_in_list(next) => Kind::Sequence,
                            Some(_) => Kind::Mapping,
                        };
                        field_or_add(at, name, kind)
                    }
                }
            }
            Step::Index(index) => elements_mut(at)?.and_then(|items| items.get_mut(index)),
            Step::Last => elements_mut(at)?.and_then(|items| items.last_mut()),
            Step::Element { name, value } => {
                let Some(items) = elements_mut(at)? else { return Ok(None) };
                let found = items.iter().position(|item| is_element(item, name, value));
                match (found, create) {
                    (Some(found), _) => items.get_mut(found),
                    (None, Some(_)) => {
                        items.push(element(name, value));
                        items.last_mut()
                    }
                    (None, None) => None,
                }
            }
        };
        match next {
            Some(next) => at = next,
            None => return Ok(None),
        }
    }
    Ok(Some(at))
}

/// The field of a mapping, added if missing; its key has no tag either.
fn field_or_add<'n>(node: &'n mut Node, name: &str, kind: Kind) -> Option<&'n mut Node> {
    let fields = node.fields_mut()?;
    let found = fields.iter().position(|(key, _)| key.as_text() == Some(name));
    let at = found.unwrap_or(fields.len());
    if found.is_none() {
        fields.push((untagged(name), kind.empty()));
    }
    fields.get_mut(at).map(|(_, value)| value)
}

fn elements(node: &Node) -> Result<&[Node]> {
    expect(node, Kind::Sequence)?;
    Ok(node.items())
}

fn elements_mut(node: &mut Node) -> Result<Option<&mut Vec<Node>>> {
    expect(node, Kind::Sequence)?;
    Ok(if is_null(node) { None } else { node.items_mut() })
}

/// Whether `[name=value]` matches an element.
pub(crate) fn is_element(item: &Node, name: &str, value: &str) -> bool {
    if name.is_empty() {
        return item.as_text().unwrap_or_default() == value;
    }
    if Kind::of(item) != Some(Kind::Mapping) {
        return false;
    }
    item.field(name).is_some_and(|field| field.as_text().unwrap_or_default() == value)
}

/// A new element for `[name=value]`.
pub(crate) fn element(name: &str, value: &str) -> Node {
    if name.is_empty() {
        return untagged(value);
    }
    let content = Content::Mapping { fields: vec![(untagged(name), untagged(value))], flow: false };
    Node { content, ..Node::default() }
}

/// Quotes a string that YAML 1.1 parses as another type, unless its style is set.
fn quote(value: &mut Node) {
    let is_text = value.tag == "!!str" || value.tag.is_empty();
    if let Content::Scalar { value: text, style } = &mut value.content
        && is_text
        && *style == ScalarStyle::Plain
        && is_special_in_yaml_1_1(text)
    {
        *style = ScalarStyle::DoubleQuoted;
    }
}

fn take_over_style(value: &mut Node, old: &Node) {
    match (&mut value.content, &old.content) {
        (Content::Scalar { style, .. }, Content::Scalar { style: old, .. }) => *style = *old,
        (
            Content::Sequence { flow, .. } | Content::Mapping { flow, .. },
            Content::Sequence { flow: old, .. } | Content::Mapping { flow: old, .. },
        ) => *flow = *old,
        (Content::Scalar { style, .. }, _) => *style = ScalarStyle::Plain,
        (Content::Sequence { flow, .. } | Content::Mapping { flow, .. }, _) => *flow = false,
        (Content::Alias(_), _) => {}
    }
}

/// Sets a field of a mapping: in place, with the existing style, or at the end. A null value removes the
/// field.
pub(crate) fn set(node: &mut Node, name: &str, mut value: Node) -> Result<()> {
    quote(&mut value);
    if is_null(&value) {
        return clear(node, name);
    }
    expect(node, Kind::Mapping)?;
    if is_null(node) {
        // kyaml appends to the null's content, which is never written.
        return Ok(());
    }
    match node.field_mut(name) {
        Some(old) => {
            take_over_style(&mut value, old);
            sharing::keep(&mut value, old);
            *old = value;
        }
        None => {
            if let Some(fields) = node.fields_mut() {
                fields.push((untagged(name), value));
            }
        }
    }
    Ok(())
}

/// Sets a scalar and keeps its style.
pub(crate) fn set_scalar(node: &mut Node, mut value: Node) -> Result<()> {
    expect(node, Kind::Scalar)?;
    if is_null(&value) {
        return Ok(());
    }
    quote(&mut value);
    take_over_style(&mut value, node);
    sharing::keep(&mut value, node);
    *node = value;
    Ok(())
}

/// Removes a field, if it exists.
pub(crate) fn clear(node: &mut Node, name: &str) -> Result<()> {
    expect(node, Kind::Mapping)?;
    node.remove_field(name);
    Ok(())
}

#[cfg(test)]
mod tests {
    use sluice_yaml::{Node, SequenceIndent, parse};

    use super::{Kind, clear, lookup, lookup_create, set, untagged};

    fn node(text: &str) -> Node {
        parse(text.as_bytes()).unwrap().remove(0).root
    }

    fn written(node: &Node) -> String {
        node.to_yaml(SequenceIndent::Compact)
    }

    #[test]
    fn paths_lead_through_fields_indexes_and_elements() {
        let tree = node("a:\n- name: x\n  v: 1\n- name: y\n  v: 2\nb: null\n");
        let at = |path: &[&str]| {
            lookup(&tree, path).unwrap().map(|node| node.as_text().unwrap_or("?").to_owned())
        };
        assert_eq!(at(&["a", "[name=y]", "v"]).as_deref(), Some("2"));
        assert_eq!(at(&["a", "0", "v"]).as_deref(), Some("1"));
        assert_eq!(at(&["a", "-", "name"]).as_deref(), Some("y"));
        assert_eq!(at(&["a", "[name=z]"]), None);
        assert_eq!(at(&["b", "c"]), None);
        assert!(lookup(&tree, &["a", "b"]).is_err());
    }

    #[test]
    fn what_is_missing_is_made() {
        let mut tree = node("a: {}\n");
        let made = lookup_create(&mut tree, &["a", "b", "[name=x]"], Kind::Mapping).unwrap();
        set(made.expect("it is made"), "v", untagged("z")).unwrap();
        assert_eq!(written(&tree), "a: {b: [{name: x, v: z}]}\n");
        clear(&mut tree, "a").unwrap();
        assert_eq!(written(&tree), "{}\n");
    }

    #[test]
    fn setting_keeps_the_style_and_quotes_what_yaml_1_1_would_retype() {
        let mut tree = node("a: \"x\"\n");
        set(&mut tree, "a", Node::text("y")).unwrap();
        set(&mut tree, "b", Node::text("yes")).unwrap();
        set(&mut tree, "c", Node::text("123")).unwrap();
        assert_eq!(written(&tree), "a: \"y\"\nb: \"yes\"\nc: \"123\"\n");
    }
}
