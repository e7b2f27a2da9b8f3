//! All fields of a path, as in kyaml's `PathMatcher`: patterns select elements, `*` matches all, and a path may continue
//! inside a string.
//!
//! Fields are found before any is set, so they are kept as trails.

use sluice_yaml::{Content, Node, SequenceIndent};

use crate::access::{self, Kind};
use crate::failure::{Failure, Result};
use crate::selector::compile;

/// A field that was found.
#[derive(Debug)]
pub(super) enum Place {
    /// In the object: the indexes of children.
    In(Vec<usize>),
    /// A copy: kyaml finds and sets it, but it is not part of the object.
    Detached(Node),
}

/// The node at the end of a trail.
pub(super) fn at<'n>(node: &'n Node, trail: &[usize]) -> Option<&'n Node> {
    trail.iter().try_fold(node, |node, &step| match &node.content {
        Content::Sequence { items, .. } => items.get(step),
        Content::Mapping { fields, .. } => fields.get(step).map(|(_, value)| value),
        Content::Scalar { .. } | Content::Alias(_) => None,
    })
}

/// The trail to a node that is inside another.
pub(super) fn trail_to(node: &Node, wanted: &Node) -> Option<Vec<usize>> {
    fn search(node: &Node, wanted: &Node, trail: &mut Vec<usize>) -> bool {
        if std::ptr::eq(node, wanted) {
            return true;
        }
        let mut enter = |step: usize, inner: &Node| {
            trail.push(step);
            let found = search(inner, wanted, trail);
            if !found {
                trail.pop();
            }
            found
        };
        match &node.content {
            Content::Sequence { items, .. } => {
                items.iter().enumerate().any(|(step, item)| enter(step, item))
            }
            Content::Mapping { fields, .. } => {
                fields.iter().enumerate().any(|(step, (_, value))| enter(step, value))
            }
            Content::Scalar { .. } | Content::Alias(_) => false,
        }
    }
    let mut trail = Vec::new();
    search(node, wanted, &mut trail).then_some(trail)
}

/// The node at the end of a trail, to change.
pub(super) fn at_mut<'n>(node: &'n mut Node, trail: &[usize]) -> Option<&'n mut Node> {
    trail.iter().try_fold(node, |node, &step| match &mut node.content {
        Content::Sequence { items, .. } => items.get_mut(step),
        Content::Mapping { fields, .. } => fields.get_mut(step).map(|(_, value)| value),
        Content::Scalar { .. } | Content::Alias(_) => None,
    })
}

/// All matches of the path; missing nodes are created, the last one as `create`.
pub(super) fn locate(
    node: &mut Node,
    parts: &[String],
    create: Option<Kind>,
) -> Result<Vec<Place>> {
    let mut search = Search { create, found: Vec::new() };
    search.enter(node, parts, &mut Vec::new())?;
    Ok(search.found)
}

struct Search {
    create: Option<Kind>,
    found: Vec<Place>,
}

impl Search {
    fn enter(&mut self, node: &mut Node, parts: &[String], trail: &mut Vec<usize>) -> Result<()> {
        let Some((part, rest)) = parts.split_first() else {
            self.found.push(Place::In(trail.clone()));
            return Ok(());
        };
        let is_index =
            part.strip_prefix('+').unwrap_or(part).bytes().all(|byte| byte.is_ascii_digit());
        let index = if is_index { part.parse::<usize>().ok() } else { None };
        if let Some(index) = index {
            self.enter_index(node, index, rest, trail)
        } else if part.starts_with('[') && part.ends_with(']') {
            self.enter_elements(node, part, rest, trail)
        } else if part == "*" {
            access::expect(node, Kind::Sequence)?;
            for index in 0..node.items().len() {
                self.enter_child(node, index, rest, trail)?;
            }
            Ok(())
        } else {
            self.enter_field(node, part, rest, trail)
        }
    }

    fn enter_child(
        &mut self,
        node: &mut Node,
        child: usize,
        rest: &[String],
        trail: &mut Vec<usize>,
    ) -> Result<()> {
        let Some(inner) = at_mut(node, &[child]) else { return Ok(()) };
        trail.push(child);
        let entered = self.enter(inner, rest, trail);
        trail.pop();
        entered
    }

    /// Searches a value that is not part of the object.
    fn enter_detached(&mut self, mut node: Node, parts: &[String]) -> Result<()> {
        for place in locate(&mut node, parts, self.create)? {
            let found = match place {
                Place::In(trail) => at_mut(&mut node, &trail).map(std::mem::take),
                Place::Detached(node) => Some(node),
            };
            self.found.extend(found.map(Place::Detached));
        }
        Ok(())
    }

    /// The kind of a created node, from the next part of the path.
    fn kind(create: Kind, rest: &[String]) -> Kind {
        match rest.first() {
            None => create,
            Some(next) if next.is_empty() => create,
            Some(next) if next.starts_with('[') && next.ends_with(']') => Kind::Sequence,
            Some(next) if next.parse::<u64>().is_ok() => Kind::Sequence,
            Some(_) => Kind::Mapping,
        }
    }

    fn enter_field(
        &mut self,
        node: &mut Node,
        name: &str,
        rest: &[String],
        trail: &mut Vec<usize>,
    ) -> Result<()> {
        if !access::is_null(node) {
            let kind = if name.is_empty() { Kind::Scalar } else { Kind::Mapping };
            access::expect(node, kind)?;
        }
        let place = |node: &Node| {
            let fields = node.fields().iter();
            fields.into_iter().position(|(key, _)| key.as_text() == Some(name))
        };
        let found = if access::is_null(node) { None } else { place(node) };
        let child = match (found, self.create) {
            (Some(child), _) => child,
            (None, None) => return Ok(()),
            (None, Some(create)) => {
                let made = Self::kind(create, rest).empty();
                if access::is_null(node) {
                    return match &made.content {
                        Content::Scalar { .. } if !rest.is_empty() => no_structure(),
                        _ => self.enter_detached(made, rest),
                    };
                }
                access::set(node, name, made)?;
                match place(node) {
                    Some(child) => child,
                    None => return Ok(()),
                }
            }
        };
        if let Some((_, Node { content: Content::Scalar { value, .. }, .. })) =
            node.fields().get(child)
            && !rest.is_empty()
        {
            // The path continues inside the string; matches there are not part of the object.
            return match sluice_yaml::parse_first(value.as_bytes())? {
                Some(document) => self.enter_detached(document.root, rest),
                None => no_structure(),
            };
        }
        self.enter_child(node, child, rest, trail)
    }

    fn enter_index(
        &mut self,
        node: &mut Node,
        index: usize,
        rest: &[String],
        trail: &mut Vec<usize>,
    ) -> Result<()> {
        access::expect(node, Kind::Sequence)?;
        let length = node.items().len();
        if index == length
            && let Some(create) = self.create
        {
            let made = Self::kind(create, rest).empty();
            match node.items_mut() {
                Some(items) => items.push(made),
                None => return self.enter_detached(made, rest),
            }
        } else if index >= length {
            return Err(Failure::new(format!(
                "index {index} specified but only {length} elements found"
            ))
            .at(node.position));
        }
        self.enter_child(node, index, rest, trail)
    }

    /// The elements with a field that matches a pattern: `[name=pattern]`; without a name, the elements that match.
    fn enter_elements(
        &mut self,
        node: &mut Node,
        part: &str,
        rest: &[String],
        trail: &mut Vec<usize>,
    ) -> Result<()> {
        let inner = part.strip_prefix('[').and_then(|part| part.strip_suffix(']'));
        let Some((name, pattern)) = inner.and_then(|inner| inner.split_once('=')) else {
            return Err(Failure::new(
                "list path element must contain fieldName=fieldValue for element to match",
            ));
        };
        access::expect(node, Kind::Sequence)?;
        let before = self.found.len();
        self.enter_fitting(node, name, pattern, rest, trail)?;
        if self.create.is_none() || self.found.len() > before {
            return Ok(());
        }
        let made = access::element(name, pattern);
        let Some(items) = node.items_mut() else {
            let parts: Vec<String> =
                std::iter::once(part.to_owned()).chain(rest.iter().cloned()).collect();
            return self.enter_detached(Node::sequence(vec![made]), &parts);
        };
        items.push(made);
        self.enter_fitting(node, name, pattern, rest, trail)?;
        if self.found.len() == before {
            // kyaml creates elements until its stack overflows.
            return Err(Failure::new(format!("failed to create element for \"{part}\""))
                .hint("the pattern does not fit itself"));
        }
        Ok(())
    }

    fn enter_fitting(
        &mut self,
        node: &mut Node,
        name: &str,
        pattern: &str,
        rest: &[String],
        trail: &mut Vec<usize>,
    ) -> Result<()> {
        if node.items().is_empty() {
            return Ok(());
        }
        let pattern = compile(pattern)?;
        for index in 0..node.items().len() {
            let Some(item) = node.items().get(index) else { continue };
            let text = if name.is_empty() { Some(item) } else { item.field(name) };
            let Some(text) = text.map(|text| text.to_yaml(SequenceIndent::Compact)) else {
                continue;
            };
            if pattern.is_match(text.trim()) {
                // An element that is matched by itself ends the path.
                let rest = if name.is_empty() { &[] } else { rest };
                self.enter_child(node, index, rest, trail)?;
            }
        }
        Ok(())
    }
}

fn no_structure<T>() -> Result<T> {
    Err(Failure::new("there is nothing in the text that the path could lead into"))
}
