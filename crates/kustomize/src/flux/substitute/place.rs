//! Which field of an object a place in its YAML belongs to.

use sluice_yaml::{Content, Node, Position, parse};

/// The path of the field at a byte of a text, such as `spec.ports[0].name`.
pub(super) fn field_at(text: &str, offset: usize) -> Option<String> {
    let before = text.get(..offset)?;
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let wanted = Position {
        line: before.matches('\n').count() + 1,
        column: before.get(line_start..)?.chars().count() + 1,
    };
    let documents = parse(text.as_bytes()).ok()?;
    let mut path = String::new();
    descend(&documents.first()?.root, wanted, &mut path);
    (!path.is_empty()).then_some(path)
}

/// Follows the last child that starts at or before the place.
fn descend(node: &Node, wanted: Position, path: &mut String) {
    let is_before =
        |node: &Node| (node.position.line, node.position.column) <= (wanted.line, wanted.column);
    match &node.content {
        Content::Mapping { fields, .. } => {
            if let Some((key, value)) = fields.iter().rev().find(|(key, _)| is_before(key)) {
                push_name(path, key.as_text().unwrap_or_default());
                if is_before(value) {
                    descend(value, wanted, path);
                }
            }
        }
        Content::Sequence { items, .. } => {
            if let Some(index) = items.iter().rposition(&is_before) {
                push_index(path, index);
                items.get(index).into_iter().for_each(|item| descend(item, wanted, path));
            }
        }
        Content::Scalar { .. } | Content::Alias(_) => {}
    }
}

/// Appends a field; names with dots or slashes stand in brackets.
pub(super) fn push_name(path: &mut String, name: &str) {
    if name.contains(['.', '/', '[']) {
        path.extend(["[", name, "]"]);
        return;
    }
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

/// Appends an item.
pub(super) fn push_index(path: &mut String, index: usize) {
    path.extend(["[", &index.to_string(), "]"]);
}
