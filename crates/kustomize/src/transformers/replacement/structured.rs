//! Values inside a string that is itself JSON or YAML, such as a file in a `ConfigMap`.

use sluice_base::gojson;
use sluice_yaml::{Content, Document, Node, SequenceIndent};

use super::path::{self, Place};
use super::set_text;
use crate::access::{self, Kind};

/// Sets a value inside the string that the path goes through; `None` if there is no such string or value.
pub(super) fn set(
    object: &mut Node,
    parts: &[String],
    value: &Node,
    create: Option<Kind>,
) -> Option<()> {
    let names: Vec<&str> = parts.iter().map(String::as_str).collect();
    let (way, inside, mut document) = (1..parts.len()).find_map(|length| {
        let (way, inside) = (names.get(..length)?, parts.get(length..)?);
        let text = access::lookup(object, way).ok().flatten()?.as_text()?;
        let document = sluice_yaml::parse_first(text.as_bytes()).ok()?;
        Some((way, inside, document))
    })?;
    // An empty string has no place for a value.
    let document = document.as_mut()?;
    let places = path::locate(&mut document.root, inside, create).ok()?;
    if places.is_empty() {
        return None;
    }
    for place in places {
        if let Place::In(trail) = place
            && let Some(node) = path::at_mut(&mut document.root, &trail)
        {
            match &node.content {
                Content::Scalar { .. } => set_text(node, value.as_text().unwrap_or_default()),
                _ => *node = value.clone(),
            }
        }
    }
    let field = access::lookup_mut(object, way).ok().flatten()?;
    let text = written(document, field.as_text()?)?;
    set_text(field, &text);
    Some(())
}

/// The document in the original format: JSON in one line or several, or YAML.
fn written(document: &Document, before: &str) -> Option<String> {
    if !before.trim_start().starts_with(['{', '[']) {
        return Some(document.to_yaml(SequenceIndent::Compact).trim().to_owned());
    }
    let json = gojson::to_string(&document.root.marshal_json().ok()?);
    let is_pretty = before.contains('\n') && before.contains("  ");
    Some(if is_pretty { gojson::indent(&json) } else { json })
}
