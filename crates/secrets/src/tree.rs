//! The common tree of all formats: fields in file order, with comments.
//!
//! The order matters, because the MAC covers the values in order; comments matter, because they are encrypted too.
//! `Debug` shows no values.

use std::fmt;

use sluice_base::go::float;
use sluice_base::gojson;
use sluice_base::redacted::Zeroize;

/// A mapping: its fields and comments, in file order.
pub(crate) type Branch = Vec<Item>;

/// A field of a mapping, or a comment between fields.
#[derive(Clone, PartialEq)]
pub(crate) enum Item {
    Field(String, Value),
    Comment(Comment),
}

/// A comment without its marker.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Comment {
    pub(crate) text: Vec<u8>,
    /// Whether it follows a value on the same line.
    pub(crate) inline: bool,
}

/// A value. Strings are bytes: a binary file is one string.
#[derive(Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Vec<u8>),
    Bytes(Vec<u8>),
    /// A time in RFC 3339, with as many digits as needed.
    Time(String),
    /// A comment in place of a value: between the items of a list.
    Comment(Comment),
    List(Vec<Self>),
    Branch(Branch),
}

impl Zeroize for Item {
    fn zeroize(&mut self) {
        match self {
            Self::Field(_, value) => value.zeroize(),
            Self::Comment(comment) => comment.text.zeroize(),
        }
    }
}

/// Strings are overwritten; numbers and booleans are set to null.
impl Zeroize for Value {
    fn zeroize(&mut self) {
        match self {
            Self::Text(bytes) | Self::Bytes(bytes) => bytes.zeroize(),
            Self::Time(text) => text.zeroize(),
            Self::Comment(comment) => comment.text.zeroize(),
            Self::List(items) => items.iter_mut().for_each(Zeroize::zeroize),
            Self::Branch(items) => items.iter_mut().for_each(Zeroize::zeroize),
            leaf => *leaf = Self::Null,
        }
    }
}

impl fmt::Debug for Item {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name, value) => write!(formatter, "{name}: {value:?}"),
            Self::Comment(_) => formatter.write_str("#"),
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::List(items) => items.fmt(formatter),
            Self::Branch(items) => items.fmt(formatter),
            leaf => write!(formatter, "[redacted {}]", leaf.type_name()),
        }
    }
}

impl Value {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into().into_bytes())
    }

    /// The type's name in Go, for error messages.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "<nil>",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float64",
            Self::Text(_) => "string",
            Self::Bytes(_) => "[]uint8",
            Self::Time(_) => "time.Time",
            Self::Comment(_) => "sops.Comment",
            Self::List(_) => "[]interface {}",
            Self::Branch(_) => "sops.TreeBranch",
        }
    }

    /// The bytes for the MAC, if any.
    pub(crate) fn mac_bytes(&self) -> Option<Vec<u8>> {
        match self {
            Self::Text(bytes) | Self::Bytes(bytes) => Some(bytes.clone()),
            Self::Bool(truth) => Some(if *truth { b"True".to_vec() } else { b"False".to_vec() }),
            Self::Int(number) => Some(number.to_string().into_bytes()),
            Self::Float(number) => Some(float::fixed(*number).into_bytes()),
            Self::Time(text) => Some(text.clone().into_bytes()),
            Self::Null | Self::Comment(_) | Self::List(_) | Self::Branch(_) => None,
        }
    }

    /// A simple value as in a dotenv or INI file.
    pub(crate) fn to_plain(&self) -> Vec<u8> {
        match self {
            Self::Text(bytes) => bytes.clone(),
            Self::Bytes(bytes) => {
                let numbers: Vec<String> = bytes.iter().map(u8::to_string).collect();
                format!("[{}]", numbers.join(" ")).into_bytes()
            }
            Self::Null => b"<nil>".to_vec(),
            Self::Bool(truth) => truth.to_string().into_bytes(),
            Self::Int(number) => number.to_string().into_bytes(),
            Self::Float(number) => upper_float(*number).into_bytes(),
            Self::Time(text) => seconds_only(text).into_bytes(),
            Self::Comment(_) | Self::List(_) | Self::Branch(_) => Vec::new(),
        }
    }
}

/// A float that cannot be taken for an integer, with a capital exponent.
fn upper_float(number: f64) -> String {
    let text = float::general(number);
    if !number.is_finite() || text.contains(['.', 'e']) {
        return text.replace('e', "E");
    }
    format!("{text}.0")
}

/// An RFC 3339 time without its fraction.
pub(crate) fn seconds_only(text: &str) -> String {
    let Some(dot) = text.find('.') else { return text.to_owned() };
    let (whole, fraction) = text.split_at(dot);
    let zone = fraction.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    format!("{whole}{zone}")
}

/// A string for JSON; invalid UTF-8 is replaced byte by byte.
pub(crate) fn json_text(bytes: &[u8]) -> String {
    let mut out = "\"".to_owned();
    for chunk in bytes.utf8_chunks() {
        let mut quoted = String::new();
        gojson::write_text(&mut quoted, chunk.valid());
        out.push_str(quoted.get(1..quoted.len() - 1).unwrap_or_default());
        out.extend(chunk.invalid().iter().map(|_| "\\ufffd"));
    }
    out.push('"');
    out
}
