//! Path elements: how a field, a list item or a set item is named, ordered and spelled.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::values;

/// One step of a path into an object.
#[derive(Debug, Clone)]
pub enum PathElement {
    /// A field of a struct or an entry of a map.
    Field(Arc<str>),
    /// An item of a list that is a map, by its key fields in the order of their names.
    Key(Arc<[KeyField]>),
    /// An item of a list that is a set, by its value.
    Value(Arc<Value>),
    /// An item of an atomic list, by its place.
    Index(i64),
}

/// A key field of a list item and its value.
#[derive(Debug, Clone)]
pub struct KeyField {
    /// The field's name.
    pub name: Arc<str>,
    /// The field's value in this item, or its default.
    pub value: Value,
}

/// A path from the root of an object.
pub type Path = Vec<PathElement>;

/// Why a serialised path element was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// A kind of element of a later version: ignored by readers.
    UnknownKind,
    /// Not a path element.
    Malformed(String),
}

impl PathElement {
    /// An item that pruning left without a name. It is never written; that it is there keeps its list.
    pub(crate) const NAMELESS: Self = Self::Index(i64::MAX);

    /// The field `name`.
    pub fn field(name: &str) -> Self {
        Self::Field(Arc::from(name))
    }

    /// The list item with these key fields, in any order.
    pub fn key(mut fields: Vec<KeyField>) -> Self {
        fields.sort_by(|left, right| left.name.cmp(&right.name));
        Self::Key(fields.into())
    }

    /// The field's name, where this is a field.
    pub fn name(&self) -> Option<&str> {
        if let Self::Field(name) = self { Some(name) } else { None }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }

    /// Appends the element as a key of `FieldsV1`: `f:name`, `k:{"name":"a"}`, `v:"a"`, `i:0`.
    pub(crate) fn serialise(&self, out: &mut String) {
        use fmt::Write as _;
        match self {
            Self::Field(name) => {
                out.push_str("f:");
                out.push_str(name);
            }
            Self::Key(fields) => {
                out.push_str("k:{");
                for (index, field) in fields.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_text(out, &field.name, Markup::Bare);
                    out.push(':');
                    write_value(out, &field.value);
                }
                out.push('}');
            }
            Self::Value(value) => {
                out.push_str("v:");
                write_value(out, value);
            }
            Self::Index(index) => {
                let _ = write!(out, "i:{index}");
            }
        }
    }

    /// Reads a key of `FieldsV1`.
    pub(crate) fn deserialise(text: &str) -> Result<Self, Unreadable> {
        let bytes = text.as_bytes();
        let (Some(kind), Some(separator)) = (bytes.first(), bytes.get(1)) else {
            return Err(Unreadable::Malformed("key must be 2 characters long:".to_owned()));
        };
        if *separator != b':' {
            return Err(Unreadable::Malformed(format!("missing colon: {text}")));
        }
        let rest = text.get(2..).unwrap_or_default();
        match kind {
            b'f' => Ok(Self::field(rest)),
            b'v' => Ok(Self::Value(Arc::new(read_value(rest)?))),
            b'k' => match read_value(rest)? {
                Value::Object(fields) => Ok(Self::Key(
                    fields
                        .into_iter()
                        .map(|(name, value)| KeyField { name: name.into(), value })
                        .collect(),
                )),
                _ => Err(Unreadable::Malformed(format!("expected an object: {rest}"))),
            },
            b'i' => rest
                .parse()
                .map(Self::Index)
                .map_err(|_| Unreadable::Malformed(format!("invalid index: {rest}"))),
            _ => Err(Unreadable::UnknownKind),
        }
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(left), Self::Field(right)) => left.cmp(right),
            (Self::Key(left), Self::Key(right)) => left
                .iter()
                .zip(right.iter())
                .map(|(left, right)| {
                    left.name
                        .cmp(&right.name)
                        .then_with(|| values::compare(&left.value, &right.value))
                })
                .find(|order| order.is_ne())
                .unwrap_or_else(|| left.len().cmp(&right.len())),
            (Self::Value(left), Self::Value(right)) => values::compare(left, right),
            (Self::Index(left), Self::Index(right)) => left.cmp(right),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PathElement {}

impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                let mut text = String::from("[");
                for (index, field) in fields.iter().enumerate() {
                    if index > 0 {
                        text.push(',');
                    }
                    text.push_str(&field.name);
                    text.push('=');
                    values::display(&mut text, &field.value);
                }
                text.push(']');
                f.write_str(&text)
            }
            Self::Value(value) => {
                let mut text = String::from("[=");
                values::display(&mut text, value);
                text.push(']');
                f.write_str(&text)
            }
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// The path as upstream prints it: `.spec.containers[name="a"].image`.
pub fn display_path(path: &[PathElement]) -> String {
    use fmt::Write as _;
    let mut out = String::new();
    for element in path {
        let _ = write!(out, "{element}");
    }
    out
}

/// Whether `<`, `>` and `&` are escaped: they are inside values, and not in names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Markup {
    /// Written as they are.
    Bare,
    /// Written as `\u003c` and so on.
    Escaped,
}

/// A JSON string with the escapes of the encoder upstream writes field sets with, which knows no
/// `\b` and no `\f`.
pub(crate) fn write_text(out: &mut String, text: &str, markup: Markup) {
    use fmt::Write as _;
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' if markup == Markup::Escaped => {
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            control if u32::from(control) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::String(text) => write_text(out, text, Markup::Escaped),
        other => sluice_base::gojson::write(out, other),
    }
}

/// Reads a value; numbers come back as floats, which is what upstream's reader makes of them.
fn read_value(text: &str) -> Result<Value, Unreadable> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    match values.next() {
        Some(Ok(mut value)) => {
            floats(&mut value);
            Ok(value)
        }
        Some(Err(error)) => Err(Unreadable::Malformed(error.to_string())),
        None => Err(Unreadable::Malformed(format!("no value: {text}"))),
    }
}

fn floats(value: &mut Value) {
    match value {
        Value::Number(number) => {
            // An integer that a float holds exactly compares and prints alike, so only others change.
            let exact = number.as_i64().is_some_and(|integer| integer.unsigned_abs() <= 1 << 53);
            if !exact && let Some(float) = number.as_f64().and_then(serde_json::Number::from_f64) {
                *number = float;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(floats),
        Value::Object(fields) => fields.values_mut().for_each(floats),
        _ => {}
    }
}
