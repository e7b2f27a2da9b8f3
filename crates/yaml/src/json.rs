//! YAML to JSON values, as `sigs.k8s.io/yaml` converts them.
//!
//! That library decodes with go-yaml v2 into Go maps and turns their keys into strings. So keys
//! are equal when their *typed* values are, merge keys act where they stand, and what JSON cannot
//! hold (a null key, an infinity) is found after everything else.

mod debug;

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

use crate::error::Error;
use crate::parser::Parser;
use crate::resolve::{Meaning, resolve, resolve_tagged, short_tag};
use crate::tree::{EntryKind, Tree};
use crate::{Dialect, MAX_DEPTH, gofmt, input, too_deep};

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
    let text = input::decode(text)?;
    let mut parser = Parser::new(&text, Dialect::V2);
    next(&mut parser, duplicates)
}

/// Reads every document of `text`; documents without content are left out.
pub fn documents_to_json(text: &[u8], duplicates: Duplicates) -> Result<Vec<Value>, Error> {
    let text = input::decode(text)?;
    let mut parser = Parser::new(&text, Dialect::V2);
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
    let mut decoder = Decoder {
        tree: &tree,
        strict: duplicates == Duplicates::Reject,
        // The document itself counts as the first step.
        steps: 1,
        alias_steps: 0,
        aliases: Vec::new(),
        depth: 0,
        problems: Vec::new(),
        unsupported_key: None,
        unsupported_number: None,
    };
    let value = decoder.value(0)?;
    if !decoder.problems.is_empty() {
        return Err(Error::Values(decoder.problems));
    }
    match decoder.unsupported_key.or(decoder.unsupported_number) {
        Some(problem) => Err(Error::Json(problem)),
        None => Ok(Some(value)),
    }
}

/// A key with its type; floats by their bits, so that keys have an order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Null,
    Bool(bool),
    Integer(i64),
    Unsigned(u64),
    Float(u64),
    Text(String),
}

impl Key {
    /// The key in JSON, where it has one.
    fn name(&self) -> Option<String> {
        Some(match self {
            Self::Null | Self::Unsigned(_) => return None,
            Self::Bool(truth) => truth.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::Float(bits) => gofmt::general_32(f64::from_bits(*bits)),
            Self::Text(text) => text.clone(),
        })
    }
}

/// The fields of a mapping while it is read.
#[derive(Default)]
struct Fields {
    map: Map<String, Value>,
    /// Keys that are not text, and texts that look the same in JSON as one of those.
    typed: BTreeSet<Key>,
}

impl Fields {
    fn contains(&self, key: &Key) -> bool {
        match key {
            Key::Text(text) if self.map.contains_key(text) => {
                self.typed.is_empty()
                    || self.typed.contains(key)
                    || !self.typed.iter().any(|other| other.name().as_ref() == Some(text))
            }
            Key::Text(_) => false,
            typed => self.typed.contains(typed),
        }
    }
}

struct Decoder<'t, 'a> {
    tree: &'t Tree<'a>,
    strict: bool,
    steps: usize,
    alias_steps: usize,
    /// The aliases that are being followed.
    aliases: Vec<usize>,
    depth: usize,
    problems: Vec<String>,
    unsupported_key: Option<String>,
    unsupported_number: Option<String>,
}

/// The share of steps that may come from aliases: nearly all in a small document, a tenth in a
/// huge one. go-yaml's figures.
fn allowed_alias_share(steps: usize) -> f64 {
    const LOW: f64 = 400_000.0;
    const HIGH: f64 = 4_000_000.0;
    #[expect(clippy::cast_precision_loss, reason = "a count far below 2^52")]
    let steps = steps as f64;
    0.99 - 0.89 * ((steps.clamp(LOW, HIGH) - LOW) / (HIGH - LOW))
}

impl Decoder<'_, '_> {
    fn step(&mut self) -> Result<(), Error> {
        self.steps += 1;
        if !self.aliases.is_empty() {
            self.alias_steps += 1;
        }
        #[expect(clippy::cast_precision_loss, reason = "a count far below 2^52")]
        let share = self.alias_steps as f64 / self.steps as f64;
        if self.alias_steps > 100 && self.steps > 1000 && share > allowed_alias_share(self.steps) {
            return Err(Error::problem("document contains excessive aliasing"));
        }
        Ok(())
    }

    /// Runs `read` one level deeper.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        if self.depth >= MAX_DEPTH {
            return Err(too_deep());
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Follows the alias at `index`.
    fn follow<T>(
        &mut self,
        index: usize,
        name: &str,
        read: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.aliases.contains(&index) {
            return Err(Error::problem(format!("anchor '{name}' value contains itself")));
        }
        self.aliases.push(index);
        let result = self.deeper(read);
        self.aliases.pop();
        result
    }

    fn value(&mut self, index: usize) -> Result<Value, Error> {
        self.step()?;
        let tree = self.tree;
        let Some(entry) = tree.entries.get(index) else { return Ok(Value::Null) };
        match &entry.kind {
            EntryKind::Alias(name, target) => {
                self.follow(index, name, |decoder| decoder.value(*target))
            }
            EntryKind::Scalar { value, tag, plain } => {
                let meaning = meaning(value, tag.as_deref(), *plain)?;
                self.scalar(meaning, value)
            }
            EntryKind::Sequence => self.deeper(|decoder| {
                let items = tree.children(index).map(|child| decoder.value(child));
                Ok(Value::Array(items.collect::<Result<_, _>>()?))
            }),
            EntryKind::Mapping => self.deeper(|decoder| {
                let mut fields = Fields::default();
                decoder.fields(index, &mut fields)?;
                Ok(Value::Object(fields.map))
            }),
        }
    }

    fn scalar(&mut self, meaning: Meaning, text: &str) -> Result<Value, Error> {
        Ok(match meaning {
            Meaning::Null => Value::Null,
            Meaning::Bool(truth) => Value::Bool(truth),
            Meaning::Integer(value) => Value::from(value),
            Meaning::Unsigned(value) => Value::from(value),
            Meaning::Float(value) => self.float(value),
            Meaning::Binary => Value::String(debug::lossy(&binary(text)?)),
            Meaning::Time(_) | Meaning::Text | Meaning::Unknown => Value::String(text.to_owned()),
        })
    }

    fn float(&mut self, value: f64) -> Value {
        if let Some(number) = float_to_json(value) {
            return Value::Number(number);
        }
        let name = match value {
            value if value.is_nan() => "NaN",
            value if value > 0.0 => "+Inf",
            _ => "-Inf",
        };
        self.unsupported_number.get_or_insert_with(|| format!("json: unsupported value: {name}"));
        Value::Null
    }

    /// Reads the mapping at `index` into `fields`, which may hold some already (a merge).
    fn fields(&mut self, index: usize, fields: &mut Fields) -> Result<(), Error> {
        let tree = self.tree;
        let mut children = tree.children(index);
        while let (Some(key_index), Some(value_index)) = (children.next(), children.next()) {
            if self.is_merge(key_index) {
                self.merge(value_index, fields)?;
                continue;
            }
            let key = self.key(key_index)?;
            let value = self.value(value_index)?;
            if self.strict && fields.contains(&key) {
                let line = tree.entries.get(value_index).map_or(0, |entry| entry.line);
                let key = debug::key(&key);
                self.problems.push(format!("line {line}: key {key} already set in map"));
                continue;
            }
            self.set(fields, key, value, value_index);
        }
        Ok(())
    }

    fn set(&mut self, fields: &mut Fields, key: Key, value: Value, value_index: usize) {
        if let Key::Text(text) = key {
            if !fields.typed.is_empty() {
                fields.typed.insert(Key::Text(text.clone()));
            }
            fields.map.insert(text, value);
            return;
        }
        match key.name() {
            Some(name) => {
                if fields.map.contains_key(&name) && !fields.typed.contains(&key) {
                    fields.typed.insert(Key::Text(name.clone()));
                }
                fields.map.insert(name, value);
            }
            None if self.unsupported_key.is_none() => {
                let value = debug::value(self.tree, value_index);
                self.unsupported_key = Some(format!(
                    "unsupported map key of type: {}, key: {}, value: {value}",
                    debug::key_type(&key),
                    debug::key(&key),
                ));
            }
            None => {}
        }
        fields.typed.insert(key);
    }

    fn is_merge(&self, index: usize) -> bool {
        match self.tree.entries.get(index).map(|entry| &entry.kind) {
            Some(EntryKind::Scalar { value, tag, plain }) if value == "<<" => {
                match tag.as_deref() {
                    None => *plain,
                    Some(tag) => tag == "!" || tag == "tag:yaml.org,2002:merge",
                }
            }
            _ => false,
        }
    }

    fn merge(&mut self, index: usize, fields: &mut Fields) -> Result<(), Error> {
        let tree = self.tree;
        match tree.entries.get(index).map(|entry| &entry.kind) {
            Some(EntryKind::Sequence) => {
                // Earlier mappings win over later ones, so they are written last.
                let items: Vec<usize> = tree.children(index).collect();
                items.into_iter().rev().try_for_each(|item| self.merge_one(item, fields))
            }
            _ => self.merge_one(index, fields),
        }
    }

    fn merge_one(&mut self, index: usize, fields: &mut Fields) -> Result<(), Error> {
        let tree = self.tree;
        let kind = |index: usize| tree.entries.get(index).map(|entry| &entry.kind);
        match kind(index) {
            Some(EntryKind::Mapping) => {
                self.step()?;
                self.deeper(|decoder| decoder.fields(index, fields))
            }
            Some(EntryKind::Alias(name, target))
                if matches!(kind(*target), Some(EntryKind::Mapping)) =>
            {
                self.step()?;
                self.follow(index, name, |decoder| {
                    decoder.step()?;
                    decoder.fields(*target, fields)
                })
            }
            _ => Err(Error::problem("map merge requires map or sequence of maps as the value")),
        }
    }

    fn key(&mut self, index: usize) -> Result<Key, Error> {
        self.step()?;
        let tree = self.tree;
        match tree.entries.get(index).map(|entry| &entry.kind) {
            None => Ok(Key::Null),
            Some(EntryKind::Alias(name, target)) => {
                self.follow(index, name, |decoder| decoder.key(*target))
            }
            Some(EntryKind::Scalar { value, tag, plain }) => {
                Ok(match meaning(value, tag.as_deref(), *plain)? {
                    Meaning::Null => Key::Null,
                    Meaning::Bool(truth) => Key::Bool(truth),
                    Meaning::Integer(value) => Key::Integer(value),
                    Meaning::Unsigned(value) => Key::Unsigned(value),
                    Meaning::Float(value) => Key::Float(value.to_bits()),
                    Meaning::Binary => Key::Text(debug::lossy(&binary(value)?)),
                    Meaning::Time(_) | Meaning::Text | Meaning::Unknown => {
                        Key::Text(value.clone().into_owned())
                    }
                })
            }
            Some(EntryKind::Sequence | EntryKind::Mapping) => {
                // Reading it counts its steps, which bounds the text of the error.
                self.steps -= 1;
                self.value(index)?;
                let key = debug::value(tree, index);
                Err(Error::problem(format!("invalid map key: {key}")))
            }
        }
    }
}

/// What a scalar means to go-yaml v2.
fn meaning(value: &str, tag: Option<&str>, plain: bool) -> Result<Meaning, Error> {
    match tag {
        None if plain => Ok(resolve(value, Dialect::V2)),
        None => Ok(Meaning::Text),
        Some(tag) => resolve_tagged(&short_tag(tag), value, Dialect::V2),
    }
}

/// The bytes of a `!!binary` scalar.
fn binary(text: &str) -> Result<Vec<u8>, Error> {
    debug::base64(text).ok_or_else(|| Error::problem("!!binary value contains invalid base64 data"))
}

/// A float as it comes out of Go's JSON text: whole numbers lose their point on the way.
fn float_to_json(value: f64) -> Option<Number> {
    // Both bounds are powers of two, so they are exact.
    if value == 0.0 && value.is_sign_negative() {
        return Number::from_f64(value);
    }
    if value.fract() == 0.0 && value.abs() < 9_223_372_036_854_775_808.0 {
        #[expect(clippy::cast_possible_truncation, reason = "whole and within 64 bits")]
        return Some(Number::from(value as i64));
    }
    if value.fract() == 0.0 && (0.0..18_446_744_073_709_551_616.0).contains(&value) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as above")]
        return Some(Number::from(value as u64));
    }
    Number::from_f64(value)
}
