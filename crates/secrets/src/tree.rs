//! The tree that every format is read into: fields in the order of the file, comments among them.
//!
//! Order matters, because the MAC is taken over the values in their order, and comments matter,
//! because they are encrypted too. Nothing here prints its values.

use std::fmt;

use sluice_base::gojson;
use sluice_base::redacted::Zeroize;

/// A mapping: its fields and comments, in the order of the file.
pub(crate) type Branch = Vec<Item>;

/// A field of a mapping, or a comment between fields.
#[derive(Clone, PartialEq)]
pub(crate) enum Item {
    Field(String, Value),
    Comment(Comment),
}

/// A comment without its sign.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Comment {
    pub(crate) text: Vec<u8>,
    /// Whether it stands behind a value on the same line.
    pub(crate) inline: bool,
}

/// A value. Texts are bytes: a binary file is one text.
#[derive(Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Vec<u8>),
    Bytes(Vec<u8>),
    /// A point in time in RFC 3339, with as many digits as it needs.
    Time(String),
    /// A comment that stands where a value could stand: between the items of a list.
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

/// Texts are overwritten; numbers and truth values are set to null.
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

    /// The type's name in Go, which error messages show.
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

    /// The bytes that go into the MAC; none for what has no such bytes.
    pub(crate) fn mac_bytes(&self) -> Option<Vec<u8>> {
        match self {
            Self::Text(bytes) | Self::Bytes(bytes) => Some(bytes.clone()),
            Self::Bool(truth) => Some(if *truth { b"True".to_vec() } else { b"False".to_vec() }),
            Self::Int(number) => Some(number.to_string().into_bytes()),
            Self::Float(number) => Some(plain_float(*number).into_bytes()),
            Self::Time(text) => Some(text.clone().into_bytes()),
            Self::Null | Self::Comment(_) | Self::List(_) | Self::Branch(_) => None,
        }
    }

    /// A simple value as it stands in a dotenv or INI file.
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

/// A float without exponent and with as few digits as tell it apart.
fn plain_float(number: f64) -> String {
    if number.is_nan() {
        "NaN".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned()
    } else {
        number.to_string()
    }
}

/// A float that cannot be taken for an integer, with a capital exponent.
fn upper_float(number: f64) -> String {
    if !number.is_finite() {
        return plain_float(number);
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let text = if (-4..6).contains(&exponent) {
        number.to_string()
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{digits}E{sign}{:02}", exponent.abs())
    };
    if text.contains(['.', 'E']) { text } else { format!("{text}.0") }
}

/// A time of RFC 3339 without its fraction.
pub(crate) fn seconds_only(text: &str) -> String {
    let Some(dot) = text.find('.') else { return text.to_owned() };
    let (whole, fraction) = text.split_at(dot);
    let zone = fraction.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    format!("{whole}{zone}")
}

/// A text as JSON holds it; each byte that is no UTF-8 is replaced.
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
