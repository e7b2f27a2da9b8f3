//! YAML to JSON values, as `sigs.k8s.io/yaml` converts them.
//!
//! That library decodes with go-yaml v2 into Go maps and converts their keys to strings. So keys are equal when their
//! *typed* values are, merge keys are applied in order, and values that JSON lacks (a null key, an infinity) are
//! detected last. Ordinary text is decoded directly to a JSON value; only after an error it is decoded again into Go's
//! values, to find Go's message.

pub(crate) mod base64;
mod decode;
mod go;

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

use sluice_base::go::float;

use crate::error::Error;
use crate::parser::Parser;
use crate::resolve::Meaning;
use crate::tree::Tree;
use crate::{Dialect, input};
use decode::{Build, Decoder, Key};

/// What becomes of a key that is in a mapping twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplicates {
    /// It is an error that names every such key.
    Reject,
    /// The value that comes last counts.
    LastWins,
}

/// Reads the first document of `text`, as `yaml.YAMLToJSON` and `yaml.YAMLToJSONStrict` do.
///
/// A text without any document is `None`; a document without content is `Some(Value::Null)`.
pub fn to_json(text: &[u8], duplicates: Duplicates) -> Result<Option<Value>, Error> {
    let input = input::decode(text);
    let mut parser = Parser::new(&input, Dialect::V2);
    next(&mut parser, duplicates)
}

/// Reads every document of `text`; documents without content are left out.
pub fn documents_to_json(text: &[u8], duplicates: Duplicates) -> Result<Vec<Value>, Error> {
    let input = input::decode(text);
    let mut parser = Parser::new(&input, Dialect::V2);
    let mut documents = Vec::new();
    while let Some(document) = next(&mut parser, duplicates)? {
        if !document.is_null() {
            documents.push(document);
        }
    }
    Ok(documents)
}

fn next(parser: &mut Parser<'_>, duplicates: Duplicates) -> Result<Option<Value>, Error> {
    let Some(tree) = Tree::read(parser)? else { return Ok(None) };
    let strict = duplicates == Duplicates::Reject;
    let mut decoder = Decoder::new(&tree, strict, Json::default());
    let value = decoder.document()?;
    if decoder.build.is_odd {
        let value = Decoder::new(&tree, strict, go::Go).document()?;
        return value.to_json().map(Some);
    }
    Ok(Some(value))
}

/// Builds JSON values.
#[derive(Default)]
struct Json {
    /// Whether something was read that JSON may not hold.
    is_odd: bool,
}

/// The fields of a mapping while it is read.
#[derive(Default)]
struct Fields {
    map: Map<String, Value>,
    /// Keys that are not text, and texts that look the same in JSON as one of those.
    typed: BTreeSet<Key>,
    /// The names that the keys that are not text have in JSON.
    names: BTreeSet<String>,
}

impl Build for Json {
    type Value = Value;
    type Fields = Fields;

    fn scalar(&mut self, meaning: Meaning, text: &str) -> Result<Value, Error> {
        Ok(match meaning {
            Meaning::Null => Value::Null,
            Meaning::Bool(truth) => Value::Bool(truth),
            Meaning::Integer(value) => Value::from(value),
            Meaning::Unsigned(value) => Value::from(value),
            Meaning::Float(value) => {
                let number = float_to_json(value);
                self.is_odd |= number.is_none();
                number.map_or(Value::Null, Value::Number)
            }
            Meaning::Binary => Value::String(base64::decode_lossy(text)?),
            Meaning::Time(_) | Meaning::Text | Meaning::Unknown => Value::String(text.to_owned()),
        })
    }

    fn sequence(&mut self, items: Vec<Value>) -> Value {
        Value::Array(items)
    }

    fn mapping(&mut self, fields: Fields) -> Value {
        Value::Object(fields.map)
    }

    fn contains(&self, fields: &Fields, key: &Key) -> bool {
        match key {
            Key::Text(text) if fields.map.contains_key(text) => {
                !fields.names.contains(text) || fields.typed.contains(key)
            }
            Key::Text(_) => false,
            typed => fields.typed.contains(typed),
        }
    }

    fn insert(&mut self, fields: &mut Fields, key: Key, value: Value) {
        if let Key::Text(text) = key {
            if fields.names.contains(&text) {
                fields.typed.insert(Key::Text(text.clone()));
            }
            fields.map.insert(text, value);
            return;
        }
        match key.name() {
            Some(name) => {
                if !fields.names.contains(&name) && fields.map.contains_key(&name) {
                    fields.typed.insert(Key::Text(name.clone()));
                }
                fields.names.insert(name.clone());
                fields.map.insert(name, value);
            }
            None => self.is_odd = true,
        }
        fields.typed.insert(key);
    }
}

impl Key {
    /// The key in JSON, where it has one.
    fn name(&self) -> Option<String> {
        Some(match self {
            Self::Null | Self::Unsigned(_) => return None,
            Self::Bool(truth) => truth.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::Float(bits) => float::yaml_32(f64::from_bits(*bits)),
            Self::Text(text) => text.clone(),
        })
    }
}

/// A float as it comes out of Go's JSON text: whole numbers lose their point on the way, and large ones
/// the digits that a float does not need.
pub(crate) fn float_to_json(value: f64) -> Option<Number> {
    let is_negative_zero = value == 0.0 && value.is_sign_negative();
    if value.fract() == 0.0 && value.abs() < 1e20 && !is_negative_zero {
        // Like Go, Rust writes the shortest digits that give the same float, and then zeros.
        let text = value.to_string();
        let signed = text.parse::<i64>().map(Number::from);
        if let Ok(whole) = signed.or_else(|_| text.parse::<u64>().map(Number::from)) {
            return Some(whole);
        }
    }
    Number::from_f64(value)
}
