//! Lists and maps, whether built by an expression or read from an object.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value as Json;

use super::{EvalError, LIST_LIMIT, Outcome, Text, Value};
use crate::schema::Schema;

/// A list.
#[derive(Clone, Debug)]
pub struct List<'v> {
    pub(crate) items: Items<'v>,
    pub(crate) kind: Kind<'v>,
}

/// Where a list's elements are.
#[derive(Clone, Debug)]
pub(crate) enum Items<'v> {
    /// In the list.
    Values(Arc<Vec<Value<'v>>>),
    /// In JSON without a schema.
    Native(&'v [Json]),
    /// In JSON, with the schema of an element.
    Typed(&'v [Json], &'v Schema),
}

/// How a list compares and adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind<'v> {
    /// As the language defines it.
    Plain,
    /// As Kubernetes defines it for lists with a schema: comparing with no list is an error.
    Typed,
    /// Without regard to order.
    Set,
    /// As a map from these fields.
    Keyed(&'v [String]),
}

impl<'v> From<Vec<Value<'v>>> for List<'v> {
    fn from(values: Vec<Value<'v>>) -> Self {
        List { items: Items::Values(Arc::new(values)), kind: Kind::Plain }
    }
}

impl<'v> List<'v> {
    pub(crate) fn native(items: &'v [Json]) -> Self {
        List { items: Items::Native(items), kind: Kind::Plain }
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        match &self.items {
            Items::Values(values) => values.len(),
            Items::Native(items) | Items::Typed(items, _) => items.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at `index`; an element that does not fit its schema is an error.
    pub fn get(&self, index: usize) -> Option<Result<Value<'v>, EvalError>> {
        match &self.items {
            Items::Values(values) => values.get(index).cloned().map(Ok),
            Items::Native(items) => items.get(index).map(|item| Ok(Value::from_json(item))),
            Items::Typed(items, schema) => {
                items.get(index).map(|item| Value::from_schema(item, schema))
            }
        }
    }

    /// All elements in order.
    pub fn iter(&self) -> impl Iterator<Item = Result<Value<'v>, EvalError>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Lists with a schema never count as zero.
    pub(crate) fn has_zero(&self) -> bool {
        self.kind == Kind::Plain
    }

    /// This list and then the other; sets and keyed lists leave out what they already have.
    pub(crate) fn concat(&self, other: &List<'v>) -> Outcome<'v> {
        if self.kind == Kind::Plain {
            if self.is_empty() {
                return Ok(Value::List(other.clone()));
            }
            if other.is_empty() {
                return Ok(Value::List(self.clone()));
            }
        }
        if self.len() + other.len() > LIST_LIMIT {
            return Err(EvalError::cost_limit());
        }
        let mut values = self.iter().collect::<Result<Vec<_>, _>>()?;
        match self.kind {
            Kind::Plain | Kind::Typed => {
                for added in other.iter() {
                    values.push(added?);
                }
            }
            Kind::Set => {
                let mut known: BTreeSet<Option<Key>> = values.iter().map(Key::of).collect();
                for added in other.iter() {
                    let added = added?;
                    if known.insert(Key::of(&added)) {
                        values.push(added);
                    }
                }
            }
            Kind::Keyed(keys) => {
                let mut places: BTreeMap<ElementKey, usize> = BTreeMap::new();
                for (index, element) in values.iter().enumerate() {
                    places.insert(element_key(element, keys), index);
                }
                for added in other.iter() {
                    let added = added?;
                    match places.get(&element_key(&added, keys)) {
                        Some(index) => values[*index] = added,
                        None => values.push(added),
                    }
                }
            }
        }
        Ok(Value::List(List { items: Items::Values(Arc::new(values)), kind: self.kind }))
    }
}

/// The identity of an element of a keyed list.
pub(crate) type ElementKey = Vec<Option<Key>>;

/// The key of an element of a keyed list.
pub(crate) fn element_key(element: &Value, keys: &[String]) -> ElementKey {
    keys.iter()
        .map(|key| match element {
            Value::Map(map) => Key::of(&map.find_str(key)?.ok()?),
            _ => None,
        })
        .collect()
}

/// A map's key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// A truth value.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// A floating point number, by its bits.
    Double(u64),
    /// A string.
    String(Arc<str>),
    /// `null`.
    Null,
}

impl Key {
    /// The key a value makes, if it can be one.
    pub(crate) fn of(value: &Value) -> Option<Key> {
        Some(match value {
            Value::Bool(value) => Key::Bool(*value),
            Value::Int(value) => Key::Int(*value),
            Value::Uint(value) => Key::Uint(*value),
            Value::Double(value) => Key::Double(value.to_bits()),
            Value::String(Text::Shared(text)) => Key::String(Arc::clone(text)),
            Value::String(text) => Key::String(Arc::from(&**text)),
            Value::Null => Key::Null,
            _ => return None,
        })
    }

    /// The key as a value.
    pub fn value(&self) -> Value<'static> {
        match self {
            Key::Bool(value) => Value::Bool(*value),
            Key::Int(value) => Value::Int(*value),
            Key::Uint(value) => Value::Uint(*value),
            Key::Double(bits) => Value::Double(f64::from_bits(*bits)),
            Key::String(text) => Value::String(Text::Shared(Arc::clone(text))),
            Key::Null => Value::Null,
        }
    }

    /// The same number as the other kinds of integers write it.
    fn alike(&self) -> Vec<Key> {
        match self {
            Key::Int(value) => u64::try_from(*value).ok().map(Key::Uint).into_iter().collect(),
            Key::Uint(value) => i64::try_from(*value).ok().map(Key::Int).into_iter().collect(),
            Key::Double(bits) => {
                let value = f64::from_bits(*bits);
                let mut keys = Vec::new();
                if let Some(whole) = crate::functions::numbers::exact_int(value) {
                    keys.push(Key::Int(whole));
                }
                if let Some(whole) = crate::functions::numbers::exact_uint(value) {
                    keys.push(Key::Uint(whole));
                }
                keys
            }
            _ => Vec::new(),
        }
    }
}

/// A map, or an object with a schema.
#[derive(Clone, Debug)]
pub enum Map<'v> {
    /// Built by an expression.
    Values(Arc<BTreeMap<Key, Value<'v>>>),
    /// JSON without a schema.
    Native(&'v serde_json::Map<String, Json>),
    /// JSON with a schema: only what the schema names can be seen.
    Typed(&'v serde_json::Map<String, Json>, &'v Schema),
}

impl<'v> Map<'v> {
    /// How many entries there are; for objects also those the schema does not name.
    pub fn len(&self) -> usize {
        match self {
            Map::Values(values) => values.len(),
            Map::Native(object) | Map::Typed(object, _) => object.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Objects with a schema never count as zero.
    pub(crate) fn has_zero(&self) -> bool {
        !matches!(self, Map::Typed(..))
    }

    /// The value under a text key.
    pub fn find_str(&self, key: &str) -> Option<Result<Value<'v>, EvalError>> {
        match self {
            Map::Values(values) => values.get(&Key::String(Arc::from(key))).cloned().map(Ok),
            Map::Native(object) => object.get(key).map(|value| Ok(Value::from_json(value))),
            Map::Typed(object, schema) => {
                let unescaped;
                let mut key = key;
                if schema.is_object() {
                    unescaped = crate::escape::unescape(key)?;
                    key = &unescaped;
                }
                let value = object.get(key)?;
                if schema.is_object() && value.is_null() {
                    return None;
                }
                Some(Value::from_schema(value, schema.property(key)?))
            }
        }
    }

    /// The value under any key; numbers find the same number of another kind.
    pub fn find(&self, key: &Value) -> Option<Result<Value<'v>, EvalError>> {
        if let Some(key) = key.as_str() {
            return self.find_str(key);
        }
        match self {
            Map::Values(values) => {
                let key = Key::of(key)?;
                let found = values.get(&key).cloned();
                found
                    .or_else(|| key.alike().iter().find_map(|key| values.get(key).cloned()))
                    .map(Ok)
            }
            Map::Native(_) => None,
            Map::Typed(..) => Some(Err(EvalError::no_such_overload())),
        }
    }

    /// The keys in order, objects' fields escaped.
    pub fn keys(&self) -> Vec<Value<'v>> {
        match self {
            Map::Values(values) => values.keys().map(Key::value).collect(),
            Map::Native(object) => object.keys().map(|key| Value::from(key.as_str())).collect(),
            Map::Typed(object, schema) => object
                .keys()
                .filter(|key| schema.property(key).is_some())
                .map(|key| {
                    let escaped = schema.is_object().then(|| crate::escape::escape(key)).flatten();
                    escaped.map_or_else(|| Value::from(key.as_str()), Value::from)
                })
                .collect(),
        }
    }
}
