//! Decodes a tree in go-yaml v2's order of steps: follows aliases, applies merge keys, compares keys, and counts alias
//! expansion.

use crate::budget::Budget;
use crate::error::Error;
use crate::json::go::Go;
use crate::resolve::{Meaning, resolve, resolve_tagged, short_tag};
use crate::tree::{EntryKind, Tree};
use crate::{Dialect, MAX_DEPTH, too_deep};

use super::base64;

/// A key with its type; floats by their bits, so that keys have an order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Null,
    Bool(bool),
    Integer(i64),
    Unsigned(u64),
    Float(u64),
    Text(String),
}

/// What values are made into.
pub(super) trait Build {
    type Value: Default;
    type Fields: Default;

    fn scalar(&mut self, meaning: Meaning, text: &str) -> Result<Self::Value, Error>;
    fn sequence(&mut self, items: Vec<Self::Value>) -> Self::Value;
    fn mapping(&mut self, fields: Self::Fields) -> Self::Value;
    fn contains(&self, fields: &Self::Fields, key: &Key) -> bool;
    fn insert(&mut self, fields: &mut Self::Fields, key: Key, value: Self::Value);
}

/// One pass over a tree.
pub(super) struct Decoder<'t, 'a, B> {
    tree: &'t Tree<'a>,
    strict: bool,
    pub(super) build: B,
    budget: Budget,
    /// The aliases that are being followed.
    aliases: Vec<usize>,
    depth: usize,
    problems: Vec<String>,
}

impl<'t, 'a, B: Build> Decoder<'t, 'a, B> {
    pub(super) fn new(tree: &'t Tree<'a>, strict: bool, build: B) -> Self {
        Self {
            tree,
            strict,
            build,
            budget: Budget::default(),
            aliases: Vec::new(),
            depth: 0,
            problems: Vec::new(),
        }
    }

    /// Reads the whole tree.
    pub(super) fn document(&mut self) -> Result<B::Value, Error> {
        self.step()?;
        let value = self.value(0)?;
        if self.problems.is_empty() {
            Ok(value)
        } else {
            Err(Error::Values(std::mem::take(&mut self.problems)))
        }
    }

    fn step(&mut self) -> Result<(), Error> {
        self.budget.step(!self.aliases.is_empty())
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

    pub(super) fn value(&mut self, index: usize) -> Result<B::Value, Error> {
        self.step()?;
        let tree = self.tree;
        let Some(entry) = tree.entries.get(index) else { return Ok(B::Value::default()) };
        match &entry.kind {
            EntryKind::Alias(name, target) => {
                self.follow(index, name, |decoder| decoder.value(*target))
            }
            EntryKind::Scalar { value, tag, plain } => {
                self.budget.text(!self.aliases.is_empty(), value.len())?;
                let meaning = meaning(value, tag.as_deref(), *plain)?;
                self.build.scalar(meaning, value)
            }
            EntryKind::Sequence => self.deeper(|decoder| {
                let items = tree.children(index).map(|child| decoder.value(child));
                let items = items.collect::<Result<_, _>>()?;
                Ok(decoder.build.sequence(items))
            }),
            EntryKind::Mapping => self.deeper(|decoder| {
                let mut fields = B::Fields::default();
                decoder.fields(index, &mut fields)?;
                Ok(decoder.build.mapping(fields))
            }),
        }
    }

    /// Reads the mapping at `index` into `fields`, which may hold some already (a merge).
    fn fields(&mut self, index: usize, fields: &mut B::Fields) -> Result<(), Error> {
        let tree = self.tree;
        let mut children = tree.children(index);
        while let (Some(key_index), Some(value_index)) = (children.next(), children.next()) {
            if self.is_merge(key_index) {
                self.merge(value_index, fields)?;
                continue;
            }
            let key = self.key(key_index)?;
            let value = self.value(value_index)?;
            if self.strict && self.build.contains(fields, &key) {
                let line = tree.entries.get(value_index).map_or(0, |entry| entry.line);
                let key = key.to_go();
                self.problems.push(format!("line {line}: key {key} already set in map"));
            } else {
                self.build.insert(fields, key, value);
            }
        }
        Ok(())
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

    fn merge(&mut self, index: usize, fields: &mut B::Fields) -> Result<(), Error> {
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

    fn merge_one(&mut self, index: usize, fields: &mut B::Fields) -> Result<(), Error> {
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
        let tree = self.tree;
        match tree.entries.get(index).map(|entry| &entry.kind) {
            None => Ok(Key::Null),
            Some(EntryKind::Alias(name, target)) => {
                self.step()?;
                self.follow(index, name, |decoder| decoder.key(*target))
            }
            Some(EntryKind::Scalar { value, tag, plain }) => {
                self.step()?;
                self.budget.text(!self.aliases.is_empty(), value.len())?;
                Ok(match meaning(value, tag.as_deref(), *plain)? {
                    Meaning::Null => Key::Null,
                    Meaning::Bool(truth) => Key::Bool(truth),
                    Meaning::Integer(value) => Key::Integer(value),
                    Meaning::Unsigned(value) => Key::Unsigned(value),
                    Meaning::Float(value) => Key::Float(value.to_bits()),
                    Meaning::Binary => Key::Text(base64::decode_lossy(value)?),
                    Meaning::Time(_) | Meaning::Text | Meaning::Unknown => {
                        Key::Text(value.clone().into_owned())
                    }
                })
            }
            Some(EntryKind::Sequence | EntryKind::Mapping) => {
                // Reading it counts its steps, which bounds the text of the error.
                self.value(index)?;
                let key = Decoder::new(tree, self.strict, Go).value(index)?;
                Err(Error::problem(format!("invalid map key: {}", key.to_go())))
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
