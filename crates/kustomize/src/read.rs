//! Parses files into resources, like kustomize's resource factory.
//!
//! A stream is split into documents by its text; a single `List` is unwrapped as it is, any other list is converted
//! through JSON, and its items come after all other objects of the file.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;
use sluice_yaml::{Content, Node, Position};

use crate::access;
use crate::failure::{Failure, Result};
use crate::resource::Resource;

/// kustomize's prefix of YAML errors, by which it distinguishes an invalid file from a missing one.
const MALFORMED: &str = "MalformedYAMLError";

/// The resources of a file. An object needs a name and, unless it is a list, a kind.
pub(crate) fn read_resources(bytes: &[u8], file: Option<Arc<str>>) -> Result<Vec<Resource>> {
    let nodes = read_nodes(bytes).and_then(objects).and_then(inline_lists);
    match (nodes, file) {
        (Ok(nodes), file) => {
            let resources = nodes.into_iter().map(|node| {
                let line = node.position.line;
                Resource { file: file.clone(), line, ..Resource::new(node) }
            });
            Ok(resources.collect())
        }
        (Err(failure), Some(file)) => Err(failure.in_file(&file)),
        (Err(failure), None) => Err(failure),
    }
}

/// Whether the text was invalid YAML, so that the path need not be tried as a directory.
pub(crate) fn is_malformed(failure: &Failure) -> bool {
    failure.diagnostics().any(|cause| cause.message.contains(MALFORMED))
}

/// The documents of a stream, with aliases expanded; empty ones are skipped.
fn read_nodes(bytes: &[u8]) -> Result<Vec<Node>> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        // UTF-16, which cannot contain the separator's bytes, or binary data, which is an error anywhere.
        let documents = sluice_yaml::parse(bytes).map_err(|error| malformed(&error, 0))?;
        let mut out = Vec::new();
        for document in documents {
            add(&mut out, document.root, true)?;
        }
        return Ok(out);
    };
    let text = if text.contains("\r\n") {
        Cow::Owned(text.replace("\r\n", "\n"))
    } else {
        Cow::Borrowed(text)
    };
    let documents = sluice_yaml::split_for_kustomize(&text)?;
    let is_alone = documents.len() == 1;
    let mut out = Vec::new();
    let mut lines_before = 0;
    for document in documents {
        let read = sluice_yaml::parse_first(document.as_bytes())
            .map_err(|error| malformed(&error, lines_before))?;
        if let Some(mut document) = read {
            move_down(&mut document.root, lines_before);
            add(&mut out, document.root, is_alone)?;
        }
        lines_before += document.bytes().filter(|&byte| byte == b'\n').count() + 1;
    }
    Ok(out)
}

fn malformed(error: &sluice_yaml::Error, lines_before: usize) -> Failure {
    let Position { line, column } = error.position().unwrap_or(Position { line: 1, column: 1 });
    // The error's line is one of the document, not of the file.
    let position = Position { line: line + lines_before, column };
    Failure::new(format!("{MALFORMED}: {error}")).at(position)
}

/// Adds a document, or the items of a list that is the only document.
fn add(out: &mut Vec<Node>, mut root: Node, is_alone: bool) -> Result<()> {
    if access::is_null(&root) {
        return Ok(());
    }
    let is_wrapper = is_alone
        && matches!(filled(&root, "kind").map(access::text), Some("List" | "ResourceList"))
        && (root.field("items").is_some() || root.field("functionConfig").is_some());
    // Checked before aliases are expanded: an alias has no items of its own.
    let has_items = root.field("items").is_some_and(|items| !is_alias(items));
    root.expand_aliases()?;
    if !is_wrapper {
        out.push(root);
        return Ok(());
    }
    match root.remove_field("items").filter(|_| has_items).map(|(_, items)| items.content) {
        Some(Content::Sequence { items, .. }) => out.extend(items),
        // kyaml accepts anything inside, and then rejects the keys.
        Some(Content::Mapping { fields, .. }) => {
            out.extend(fields.into_iter().flat_map(|(key, value)| [key, value]));
        }
        _ => {}
    }
    Ok(())
}

fn is_alias(node: &Node) -> bool {
    matches!(node.content, Content::Alias(_))
}

/// Converts lines from the document to the file.
fn move_down(node: &mut Node, lines: usize) {
    if lines > 0 {
        each_position(node, &mut |position| position.line += lines);
    }
}

fn each_position(node: &mut Node, change: &mut dyn FnMut(&mut Position)) {
    change(&mut node.position);
    match &mut node.content {
        Content::Sequence { items, .. } => {
            for item in items {
                each_position(item, change);
            }
        }
        Content::Mapping { fields, .. } => {
            for (key, value) in fields {
                each_position(key, change);
                each_position(value, change);
            }
        }
        Content::Scalar { .. } | Content::Alias(_) => {}
    }
}

/// The nodes that are objects; empty ones are dropped, others are errors.
fn objects(nodes: Vec<Node>) -> Result<Vec<Node>> {
    let mut out = Vec::with_capacity(nodes.len());
    for node in nodes {
        if !access::is_empty(&node) {
            check(&node).map_err(|failure| failure.at(node.position))?;
            out.push(node);
        }
    }
    Ok(out)
}

/// A non-empty field.
fn filled<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    node.field(name).filter(|value| !access::is_empty(value))
}

/// An object has a kind, and a name unless it is a list.
pub(crate) fn check(node: &Node) -> Result<()> {
    let text = |node: Option<&Node>| node.map(access::text).unwrap_or_default().to_owned();
    let kind = filled(node, "kind");
    let metadata = filled(node, "metadata");
    let of_metadata = |name| metadata.and_then(|metadata| filled(metadata, name));
    let known = ["name", "namespace", "labels", "annotations"];
    let has_meta = filled(node, "apiVersion").is_some()
        || kind.is_some()
        || known.into_iter().any(|name| of_metadata(name).is_some());
    if !has_meta {
        return Err(Failure::new("missing Resource metadata")
            .hint("an object needs `apiVersion`, `kind` and `metadata.name`"));
    }
    let kind = text(kind);
    let missing = if kind.is_empty() {
        "kind"
    } else if !kind.ends_with("List") && text(of_metadata("name")).is_empty() {
        "metadata.name"
    } else {
        return Ok(());
    };
    let map = |name| {
        let fields = of_metadata(name).map(Node::fields).unwrap_or_default();
        let entries: BTreeMap<&str, &str> =
            fields.iter().map(|(key, value)| (access::text(key), access::text(value))).collect();
        let entries: Vec<String> =
            entries.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
        format!("map[{}]", entries.join(" "))
    };
    Err(Failure::new(format!(
        "missing {missing} in object {{{{{} {kind}}} {{{{{} {}}} {} {}}}}}",
        text(filled(node, "apiVersion")),
        text(of_metadata("name")),
        text(of_metadata("namespace")),
        map("labels"),
        map("annotations"),
    ))
    .hint(format_args!("add `{missing}`")))
}

/// Replaces lists by their items, which come after all other objects.
fn inline_lists(nodes: Vec<Node>) -> Result<Vec<Node>> {
    let mut out = Vec::with_capacity(nodes.len());
    let mut queue = VecDeque::from(nodes);
    while let Some(node) = queue.pop_front() {
        let kind = node.field("kind").and_then(Node::as_text).unwrap_or_default();
        if !kind.ends_with("List") {
            out.push(node);
            continue;
        }
        let value = match node.to_json() {
            Ok(value) => value,
            // Only items must be convertible to JSON.
            Err(sluice_yaml::Error::Unsupported(_)) if node.field("items").is_none() => {
                out.push(node);
                continue;
            }
            Err(error) => {
                return Err(Failure::from(error)
                    .context(format_args!("trouble expanding list of {kind}"))
                    .at(node.position));
            }
        };
        match value.get("items") {
            None => out.push(node),
            Some(Value::Null) => {}
            Some(Value::Array(items)) => {
                let places = node.field("items").map(Node::items).unwrap_or_default();
                for (index, item) in items.iter().enumerate() {
                    let place = places.get(index).map_or(node.position, |place| place.position);
                    let text = sluice_base::gojson::to_string(item);
                    let mut nodes = read_nodes(text.as_bytes())
                        .and_then(objects)
                        .map_err(|failure| failure.moved_to(place))?;
                    for node in &mut nodes {
                        each_position(node, &mut |position| *position = place);
                    }
                    queue.extend(nodes);
                }
            }
            Some(other) => {
                let found = go_type(other);
                return Err(Failure::new(format!(
                    "expected array in {kind}/items, but found {found}"
                ))
                .at(node.field("items").unwrap_or(&node).position));
            }
        }
    }
    Ok(out)
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

#[cfg(test)]
mod tests;
