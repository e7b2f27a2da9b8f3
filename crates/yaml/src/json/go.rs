//! Go's values, for texts that JSON cannot represent: some errors print them in Go's syntax.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::base64;
use super::decode::{Build, Key};
use sluice_base::go::{float, quote};

use crate::error::Error;
use crate::json::float_to_json;
use crate::resolve::Meaning;

/// A value as go-yaml v2 decodes it into an `interface{}`.
#[derive(Debug, Clone, Default)]
pub(super) enum GoValue {
    #[default]
    Null,
    Bool(bool),
    Integer(i64),
    Unsigned(u64),
    Float(f64),
    Text(String),
    Slice(Vec<GoValue>),
    Map(BTreeMap<Key, GoValue>),
}

/// Builds Go values.
pub(super) struct Go;

impl Build for Go {
    type Value = GoValue;
    type Fields = BTreeMap<Key, GoValue>;

    fn scalar(&mut self, meaning: Meaning, text: &str) -> Result<GoValue, Error> {
        Ok(match meaning {
            Meaning::Null => GoValue::Null,
            Meaning::Bool(truth) => GoValue::Bool(truth),
            Meaning::Integer(value) => GoValue::Integer(value),
            Meaning::Unsigned(value) => GoValue::Unsigned(value),
            Meaning::Float(value) => GoValue::Float(value),
            Meaning::Binary => GoValue::Text(base64::decode_lossy(text)?),
            Meaning::Time(_) | Meaning::Text | Meaning::Unknown => GoValue::Text(text.to_owned()),
        })
    }

    fn sequence(&mut self, items: Vec<GoValue>) -> GoValue {
        GoValue::Slice(items)
    }

    fn mapping(&mut self, fields: Self::Fields) -> GoValue {
        GoValue::Map(fields)
    }

    fn contains(&self, fields: &Self::Fields, key: &Key) -> bool {
        fields.contains_key(key)
    }

    fn insert(&mut self, fields: &mut Self::Fields, key: Key, value: GoValue) {
        fields.insert(key, value);
    }
}

impl GoValue {
    /// The value in JSON: first every key must have a name, then every number a form.
    pub(super) fn to_json(&self) -> Result<Value, Error> {
        self.check_keys()?;
        self.convert()
    }

    fn check_keys(&self) -> Result<(), Error> {
        match self {
            Self::Slice(items) => items.iter().try_for_each(Self::check_keys),
            Self::Map(fields) => fields.iter().try_for_each(|(key, value)| {
                if key.name().is_none() {
                    return Err(Error::Unsupported(format!(
                        "unsupported map key of type: {}, key: {}, value: {}",
                        key.go_type(),
                        key.to_go(),
                        value.to_go(),
                    )));
                }
                value.check_keys()
            }),
            _ => Ok(()),
        }
    }

    fn convert(&self) -> Result<Value, Error> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Bool(truth) => Value::Bool(*truth),
            Self::Integer(value) => Value::from(*value),
            Self::Unsigned(value) => Value::from(*value),
            Self::Float(value) => Value::Number(float_to_json(*value).ok_or_else(|| {
                Error::Unsupported(format!("json: unsupported value: {}", float::general(*value)))
            })?),
            Self::Text(text) => Value::String(text.clone()),
            Self::Slice(items) => {
                Value::Array(items.iter().map(Self::convert).collect::<Result<_, _>>()?)
            }
            Self::Map(fields) => {
                // JSON is written in the order of its names, so they come first.
                let named: BTreeMap<String, &Self> =
                    fields.iter().filter_map(|(key, value)| Some((key.name()?, value))).collect();
                let fields = named.into_iter().map(|(name, value)| Ok((name, value.convert()?)));
                Value::Object(fields.collect::<Result<Map<_, _>, Error>>()?)
            }
        })
    }

    /// The value as `%#v` prints it.
    pub(super) fn to_go(&self) -> String {
        let mut out = String::new();
        match self {
            Self::Null => out.push_str("<nil>"),
            other => other.print(&mut out),
        }
        out
    }

    fn print(&self, out: &mut String) {
        let _ = match self {
            Self::Null => write!(out, "interface {{}}(nil)"),
            Self::Bool(truth) => write!(out, "{truth}"),
            Self::Integer(value) => write!(out, "{value}"),
            Self::Unsigned(value) => write!(out, "{value:#x}"),
            Self::Float(value) => write!(out, "{}", float::general(*value)),
            Self::Text(text) => write!(out, "{}", quote(text)),
            Self::Slice(items) => {
                out.push_str("[]interface {}{");
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index > 0 { ", " } else { "" });
                    item.print(out);
                }
                write!(out, "}}")
            }
            Self::Map(fields) => {
                out.push_str("map[interface {}]interface {}{");
                for (index, (key, value)) in fields.iter().enumerate() {
                    out.push_str(if index > 0 { ", " } else { "" });
                    match key {
                        Key::Null => out.push_str("interface {}(nil)"),
                        key => out.push_str(&key.to_go()),
                    }
                    out.push(':');
                    value.print(out);
                }
                write!(out, "}}")
            }
        };
    }
}

impl Key {
    /// The key as `%#v` prints it.
    pub(super) fn to_go(&self) -> String {
        match self {
            Self::Null => "<nil>".to_owned(),
            Self::Bool(truth) => truth.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::Unsigned(value) => format!("{value:#x}"),
            Self::Float(bits) => float::general(f64::from_bits(*bits)),
            Self::Text(text) => quote(text),
        }
    }

    fn go_type(&self) -> &'static str {
        match self {
            Self::Null => "%!s(<nil>)",
            Self::Bool(_) => "bool",
            Self::Integer(_) => "int",
            Self::Unsigned(_) => "uint64",
            Self::Float(_) => "float64",
            Self::Text(_) => "string",
        }
    }
}
