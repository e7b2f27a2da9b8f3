//! `FieldsV1`: a field set as JSON, read from a value and written in upstream's order.
//!
//! Objects keep their keys in the order of the text, which for list items is not the order of the
//! set: code that prints an object uses [`write_fields_v1_value`] for this part of it.

use serde_json::{Map, Value};

use super::element::{Markup, PathElement, Unreadable, write_text};
use super::set::{Child, FieldSet};

/// The set as `FieldsV1` text, byte for byte what upstream writes.
pub fn write_fields_v1(set: &FieldSet) -> String {
    let mut out = String::from("{");
    write_contents(set, Own::No, &mut out);
    out.push('}');
    out
}

/// The set as the value of a `fieldsV1` field.
pub fn to_fields_v1(set: &FieldSet) -> Value {
    Value::Object(contents(set, Own::No))
}

/// Reads the value of a `fieldsV1` field.
pub fn from_fields_v1(value: &Value) -> Result<FieldSet, String> {
    Ok(read(value)?.children.unwrap_or_default())
}

/// Appends the value of a `fieldsV1` field in the order of the set it stands for.
///
/// A value that is no field set is written as it is.
pub fn write_fields_v1_value(out: &mut String, value: &Value) {
    let Value::Object(fields) = value else {
        sluice_base::gojson::write(out, value);
        return;
    };
    // Names sort as text does; list and set items do not.
    let unordered = fields.keys().filter(|key| key.starts_with(['k', 'v', 'i'])).nth(1).is_some();
    let mut entries: Vec<_> = fields.iter().collect();
    if unordered {
        entries.sort_by_cached_key(|(key, _)| PathElement::deserialise(key).ok());
    }
    out.push('{');
    for (index, (key, below)) in entries.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        sluice_base::gojson::write_text(out, key);
        out.push(':');
        write_fields_v1_value(out, below);
    }
    out.push('}');
}

/// Whether the node with the contents that are written is itself in the set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Own {
    Yes,
    No,
}

/// The elements of a level in order, each with whether it is a member and what is below it.
fn level(set: &FieldSet) -> impl Iterator<Item = (&PathElement, Own, Option<&FieldSet>)> {
    let (mut members, mut children) =
        (set.members.iter().peekable(), set.children.iter().peekable());
    std::iter::from_fn(move || {
        let order = match (members.peek(), children.peek()) {
            (None, None) => return None,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(member), Some(child)) => (*member).cmp(&child.element),
        };
        let member = if order.is_le() { members.next() } else { None };
        let child: Option<&Child> = if order.is_ge() { children.next() } else { None };
        let element = member.or_else(|| child.map(|child| &child.element))?;
        let own = if member.is_some() { Own::Yes } else { Own::No };
        Some((element, own, child.map(|child| &*child.set)))
    })
}

fn write_contents(set: &FieldSet, own: Own, out: &mut String) {
    let mut first = true;
    if own == Own::Yes && !(set.members.is_empty() && set.children.is_empty()) {
        out.push_str("\".\":{}");
        first = false;
    }
    let mut key = String::new();
    for (element, own, below) in level(set) {
        if !first {
            out.push(',');
        }
        first = false;
        key.clear();
        element.serialise(&mut key);
        write_text(out, &key, Markup::Bare);
        out.push_str(":{");
        if let Some(below) = below {
            write_contents(below, own, out);
        }
        out.push('}');
    }
}

fn contents(set: &FieldSet, own: Own) -> Map<String, Value> {
    let mut out = Map::new();
    if own == Own::Yes && !(set.members.is_empty() && set.children.is_empty()) {
        out.insert(".".to_owned(), Value::Object(Map::new()));
    }
    for (element, own, below) in level(set) {
        let mut key = String::new();
        element.serialise(&mut key);
        let below = below.map(|below| contents(below, own)).unwrap_or_default();
        out.insert(key, Value::Object(below));
    }
    out
}

struct Read {
    children: Option<FieldSet>,
    member: bool,
}

fn read(value: &Value) -> Result<Read, String> {
    let fields = match value {
        Value::Object(fields) => fields,
        Value::Null => return Ok(Read { children: None, member: true }),
        _ => return Err("expected an object in a field set".to_owned()),
    };
    let mut children: Option<FieldSet> = None;
    let mut member = false;
    for (key, value) in fields {
        if key == "." {
            member = true;
            continue;
        }
        let element = match PathElement::deserialise(key) {
            Ok(element) => element,
            Err(Unreadable::UnknownKind) => continue,
            Err(Unreadable::Malformed(why)) => {
                return Err(format!("parsing key as path element: {why}"));
            }
        };
        let below = read(value)?;
        let set = children.get_or_insert_default();
        if below.member {
            set.insert_member(element.clone());
        }
        if let Some(below) = below.children {
            set.insert_child(element, below);
        }
    }
    member |= children.is_none();
    Ok(Read { children, member })
}
