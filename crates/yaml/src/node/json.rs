//! Trees to JSON values, as kustomize converts a resource before it prints it: go-yaml v3 decodes
//! it into Go maps, and Go's encoder writes those.
//!
//! Unlike v2's reading, `yes` is a text, a timestamp is a time, a key that comes twice is always an
//! error, and below the root only mappings with string keys have a JSON form.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::alias::Aliases;
use super::{Content, Document, Node};
use sluice_base::go::{float, quote};

use crate::budget::Budget;
use crate::emit::SequenceIndent;
use crate::error::Error;
use crate::json::{base64, float_to_json};
use crate::resolve::{Meaning, Timestamp, resolve, resolve_tagged};
use crate::token::ScalarStyle;
use crate::{Dialect, MAX_DEPTH, too_deep};

/// More than this many errors are of no use to anybody.
const MAX_PROBLEMS: usize = 100;

impl Document {
    /// The document's value as kustomize sees it.
    pub fn to_json(&self) -> Result<Value, Error> {
        self.root.to_json()
    }
}

impl Node {
    /// The value as kustomize sees it; aliases are looked up within the node.
    pub fn to_json(&self) -> Result<Value, Error> {
        let mut decoder = Decoder {
            aliases: Aliases::of(self)?,
            following: Vec::new(),
            budget: Budget::default(),
            depth: 0,
            problems: Vec::new(),
            unsupported: None,
        };
        decoder.step()?;
        let value = match &self.content {
            Content::Mapping { .. } => decoder.map(self, Keys::Texts)?,
            _ => decoder.value(self)?,
        };
        if !decoder.problems.is_empty() {
            return Err(Error::Values(decoder.problems));
        }
        decoder.unsupported.map_or(Ok(value), Err)
    }

    /// The value as `RNode.MarshalJSON` gives it, which is what kustomize prints in the end: the tree is
    /// written and read again. That is not always the value it had: go-yaml does not read back every
    /// folded scalar it writes.
    pub fn marshal_json(&self) -> Result<Value, Error> {
        if self.is_ordinary() {
            return self.to_json();
        }
        let text = self.to_yaml(SequenceIndent::Compact);
        match super::parse(text.as_bytes())?.first() {
            Some(document) => document.to_json(),
            None => Ok(Value::Null),
        }
    }

    /// The short tag go-yaml v3 goes by: the node's own, or what its value resolves to.
    pub fn short_tag(&self) -> &str {
        match &self.content {
            Content::Scalar { .. } if self.is_marked_text() => "!!str",
            _ if !self.tag.is_empty() && self.tag != "!" => &self.tag,
            Content::Scalar { value, .. } => resolve(value, Dialect::V3).tag(),
            Content::Mapping { .. } => "!!map",
            Content::Sequence { .. } => "!!seq",
            Content::Alias(_) => "",
        }
    }

    /// Whether tag or quotes say that a scalar is text.
    fn is_marked_text(&self) -> bool {
        match &self.content {
            Content::Scalar { style, .. } => {
                self.tag == "!!str"
                    || ((self.tag.is_empty() || self.tag == "!") && *style != ScalarStyle::Plain)
            }
            _ => false,
        }
    }
}

/// What the keys of a map are taken for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    Texts,
    /// Whatever they are; JSON has no form for such a map.
    Any,
}

struct Decoder<'n> {
    aliases: Aliases<'n>,
    /// The aliases that are being followed, by address.
    following: Vec<*const Node>,
    budget: Budget,
    depth: usize,
    problems: Vec<String>,
    unsupported: Option<Error>,
}

/// The fields of a map while it is read.
#[derive(Default)]
struct Fields {
    map: Map<String, Value>,
    /// What JSON cannot hold, under the first key in JSON's order.
    unsupported: Option<(String, Error)>,
}

/// The keys that a merge may not set any more, with their type.
type Taken = BTreeSet<(&'static str, String)>;

impl<'n> Decoder<'n> {
    fn step(&mut self) -> Result<(), Error> {
        self.budget.step(!self.following.is_empty())
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        if self.depth >= MAX_DEPTH {
            return Err(too_deep());
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn follow<T>(
        &mut self,
        alias: &'n Node,
        name: &str,
        read: impl FnOnce(&mut Self, &'n Node) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let address = std::ptr::from_ref(alias);
        if self.following.contains(&address) {
            return Err(Error::problem(format!("anchor '{name}' value contains itself")));
        }
        let target = self.aliases.target(alias, name)?;
        self.following.push(address);
        let result = self.deeper(|decoder| read(decoder, target));
        self.following.pop();
        result
    }

    fn value(&mut self, node: &'n Node) -> Result<Value, Error> {
        self.step()?;
        match &node.content {
            Content::Alias(name) => self.follow(node, name, Self::value),
            Content::Scalar { value, .. } => self.scalar(node, value),
            Content::Sequence { items, .. } => self.deeper(|decoder| {
                let items = items.iter().map(|item| decoder.value(item));
                Ok(Value::Array(items.collect::<Result<_, _>>()?))
            }),
            Content::Mapping { fields, .. } => {
                if self.has_text_keys(fields) {
                    return self.map_here(node, Keys::Texts);
                }
                let before = self.unsupported.take();
                self.map_here(node, Keys::Any)?;
                self.unsupported = before.or_else(|| {
                    let problem = "json: unsupported type: map[interface {}]interface {}";
                    Some(Error::Unsupported(problem.to_owned()))
                });
                Ok(Value::Null)
            }
        }
    }

    /// Whether every key is a text, or the key of a merge.
    fn has_text_keys(&self, fields: &'n [(Node, Node)]) -> bool {
        fields.iter().all(|(key, _)| {
            let key = match &key.content {
                Content::Alias(name) => self.aliases.target(key, name).unwrap_or(key),
                _ => key,
            };
            matches!(key.short_tag(), "!!str" | "!!merge")
        })
    }

    fn scalar(&mut self, node: &Node, text: &str) -> Result<Value, Error> {
        self.budget.text(!self.following.is_empty(), text.len())?;
        Ok(match meaning(node, text)? {
            Meaning::Null => Value::Null,
            Meaning::Bool(truth) => Value::Bool(truth),
            Meaning::Integer(value) => Value::from(value),
            Meaning::Unsigned(value) => Value::from(value),
            Meaning::Float(value) => {
                if let Some(number) = float_to_json(value) {
                    return Ok(Value::Number(number));
                }
                let name = match value {
                    value if value.is_nan() => "NaN",
                    value if value > 0.0 => "+Inf",
                    _ => "-Inf",
                };
                self.unsupported.get_or_insert_with(|| {
                    Error::Unsupported(format!("json: unsupported value: {name}"))
                });
                Value::Null
            }
            Meaning::Time(time) => Value::String(time.to_rfc3339()?),
            Meaning::Binary => Value::String(base64::decode_lossy(text)?),
            Meaning::Text | Meaning::Unknown => Value::String(text.to_owned()),
        })
    }

    fn map(&mut self, node: &'n Node, keys: Keys) -> Result<Value, Error> {
        self.step()?;
        self.map_here(node, keys)
    }

    fn map_here(&mut self, node: &'n Node, keys: Keys) -> Result<Value, Error> {
        let mut out = Fields::default();
        let before = self.unsupported.take();
        self.deeper(|decoder| decoder.fields(node, keys, &mut out, None))?;
        self.unsupported = before.or(out.unsupported.map(|(_, problem)| problem));
        Ok(Value::Object(out.map))
    }

    /// Reads a mapping into `out`; `taken` are the keys that may not be set, in a merge.
    fn fields(
        &mut self,
        node: &'n Node,
        keys: Keys,
        out: &mut Fields,
        mut taken: Option<&mut Taken>,
    ) -> Result<(), Error> {
        let Content::Mapping { fields, .. } = &node.content else { return Ok(()) };
        if self.has_duplicates(fields) {
            return Ok(());
        }
        let mut merge = None;
        for (key, value) in fields {
            if key.is_merge_key() {
                merge = Some(value);
                continue;
            }
            let Some((kind, name)) = self.key(key, keys)? else { continue };
            if let Some(taken) = &mut taken
                && !taken.insert((kind, name.clone()))
            {
                continue;
            }
            let value = self.value(value)?;
            if let Some(problem) = self.unsupported.take()
                && out.unsupported.as_ref().is_none_or(|(first, _)| name < *first)
            {
                out.unsupported = Some((name.clone(), problem));
            }
            out.map.insert(name, value);
        }
        let Some(merge) = merge else { return Ok(()) };
        if let Some(taken) = taken {
            return self.merge(merge, keys, out, taken);
        }
        let mut taken = Taken::new();
        for (key, _) in fields {
            taken.extend(self.key(key, Keys::Any)?);
        }
        self.merge(merge, keys, out, &mut taken)
    }

    fn has_duplicates(&mut self, fields: &[(Node, Node)]) -> bool {
        let mut places: BTreeMap<(u8, &str), Vec<usize>> = BTreeMap::new();
        for (index, (key, _)) in fields.iter().enumerate() {
            places.entry(key.identity()).or_default().push(index);
        }
        if places.len() == fields.len() {
            return false;
        }
        for (index, (key, _)) in fields.iter().enumerate() {
            let same = places.get(&key.identity()).map(Vec::as_slice).unwrap_or_default();
            for later in same.iter().filter(|later| **later > index) {
                if self.problems.len() >= MAX_PROBLEMS {
                    return true;
                }
                let (again, _) = &fields[*later];
                self.problems.push(format!(
                    "line {}: mapping key {} already defined at line {}",
                    again.position.line,
                    quote(again.identity().1),
                    key.position.line
                ));
            }
        }
        true
    }

    fn merge(
        &mut self,
        node: &'n Node,
        keys: Keys,
        out: &mut Fields,
        taken: &mut Taken,
    ) -> Result<(), Error> {
        match &node.content {
            Content::Sequence { items, .. } => {
                items.iter().try_for_each(|item| self.merge_one(item, keys, out, taken))
            }
            _ => self.merge_one(node, keys, out, taken),
        }
    }

    fn merge_one(
        &mut self,
        node: &'n Node,
        keys: Keys,
        out: &mut Fields,
        taken: &mut Taken,
    ) -> Result<(), Error> {
        let wrong = || Error::problem("map merge requires map or sequence of maps as the value");
        match &node.content {
            Content::Mapping { .. } => {
                self.step()?;
                self.deeper(|decoder| decoder.fields(node, keys, out, Some(taken)))
            }
            Content::Alias(name) => {
                let target = self.aliases.target(node, name)?;
                if !matches!(target.content, Content::Mapping { .. }) {
                    return Err(wrong());
                }
                self.step()?;
                self.follow(node, name, |decoder, target| {
                    decoder.step()?;
                    decoder.fields(target, keys, out, Some(taken))
                })
            }
            Content::Scalar { .. } | Content::Sequence { .. } => Err(wrong()),
        }
    }

    /// A key's type and text; none where it is passed over.
    fn key(&mut self, node: &'n Node, keys: Keys) -> Result<Option<(&'static str, String)>, Error> {
        self.step()?;
        match &node.content {
            Content::Alias(name) => {
                self.follow(node, name, |decoder, target| decoder.key(target, keys))
            }
            Content::Scalar { value, .. } => {
                let meaning = meaning(node, value)?;
                let name = match meaning {
                    Meaning::Binary => base64::decode_lossy(value)?,
                    _ => value.clone(),
                };
                Ok(match (keys, meaning) {
                    (Keys::Texts, Meaning::Null) => None,
                    (Keys::Texts, _) => Some(("!!str", name)),
                    (Keys::Any, meaning) => Some((meaning.tag(), name)),
                })
            }
            Content::Sequence { .. } | Content::Mapping { .. } => {
                if keys == Keys::Any {
                    // Reading it counts its steps, which bounds the text of the error.
                    self.value(node)?;
                    let mut key = String::new();
                    self.print(node, &mut key);
                    return Err(Error::problem(format!("invalid map key: {key}")));
                }
                let line = node.position.line;
                let tag = node.short_tag();
                self.problems.push(format!("line {line}: cannot unmarshal {tag} into string"));
                Ok(None)
            }
        }
    }
}

impl<'n> Decoder<'n> {
    /// A value in Go's syntax. Merge keys are printed as they are written.
    fn print(&self, node: &'n Node, out: &mut String) {
        use std::fmt::Write as _;
        let _ = match &node.content {
            Content::Alias(name) => {
                if let Ok(target) = self.aliases.target(node, name) {
                    self.print(target, out);
                }
                Ok(())
            }
            Content::Scalar { value, .. } => match meaning(node, value) {
                Ok(Meaning::Null) => write!(out, "interface {{}}(nil)"),
                Ok(Meaning::Bool(truth)) => write!(out, "{truth}"),
                Ok(Meaning::Integer(number)) => write!(out, "{number}"),
                Ok(Meaning::Unsigned(number)) => write!(out, "{number:#x}"),
                Ok(Meaning::Float(number)) => write!(out, "{}", float::general(number)),
                _ => write!(out, "{}", quote(value)),
            },
            Content::Sequence { items, .. } => {
                out.push_str("[]interface {}{");
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index > 0 { ", " } else { "" });
                    self.print(item, out);
                }
                write!(out, "}}")
            }
            Content::Mapping { fields, .. } => {
                let key_type = if self.has_text_keys(fields) { "string" } else { "interface {}" };
                let mut printed = BTreeMap::new();
                for (key, value) in fields {
                    let (mut name, mut field) = (String::new(), String::new());
                    self.print(key, &mut name);
                    self.print(value, &mut field);
                    printed.insert(name, field);
                }
                let _ = write!(out, "map[{key_type}]interface {{}}{{");
                for (index, (name, field)) in printed.iter().enumerate() {
                    let comma = if index > 0 { ", " } else { "" };
                    let _ = write!(out, "{comma}{name}:{field}");
                }
                write!(out, "}}")
            }
        };
    }
}

impl Node {
    /// What makes two keys the same to go-yaml v3: kind and text.
    fn identity(&self) -> (u8, &str) {
        match &self.content {
            Content::Scalar { value, .. } => (0, value),
            Content::Alias(name) => (1, name),
            Content::Sequence { .. } => (2, ""),
            Content::Mapping { .. } => (3, ""),
        }
    }

    /// Whether it is the key of a merge.
    pub fn is_merge_key(&self) -> bool {
        matches!(&self.content, Content::Scalar { value, .. } if value == "<<")
            && matches!(self.tag.as_ref(), "" | "!" | "!!merge")
    }
}

/// What a scalar node means to go-yaml v3.
fn meaning(node: &Node, text: &str) -> Result<Meaning, Error> {
    match node.tag.as_ref() {
        _ if node.is_marked_text() => Ok(Meaning::Text),
        "" => Ok(resolve(text, Dialect::V3)),
        tag => resolve_tagged(tag, text, Dialect::V3),
    }
}

impl Timestamp {
    /// The time as Go's JSON encoder writes it.
    fn to_rfc3339(self) -> Result<String, Error> {
        use std::fmt::Write as _;
        let Self { year, month, day, hour, minute, second, nanosecond, offset } = self;
        let mut out = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
        if nanosecond > 0 {
            let fraction = format!("{nanosecond:09}");
            let _ = write!(out, ".{}", fraction.trim_end_matches('0'));
        }
        if offset == 0 {
            out.push('Z');
            return Ok(out);
        }
        if offset.abs() >= 24 * 60 {
            return Err(Error::Unsupported(
                "json: error calling MarshalJSON for type time.Time: Time.MarshalJSON: timezone hour outside of range [0,23]"
                    .to_owned(),
            ));
        }
        let sign = if offset < 0 { '-' } else { '+' };
        let _ = write!(out, "{sign}{:02}:{:02}", offset.abs() / 60, offset.abs() % 60);
        Ok(out)
    }
}
