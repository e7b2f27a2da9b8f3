//! Which old value belongs to a new one, and whether anything changed.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::schema::{ListType, Schema};

/// The key of an element of a keyed list; elements without one belong to nothing.
fn key_of(element: &Json, keys: &[String]) -> Option<Vec<String>> {
    let object = element.as_object()?;
    keys.iter()
        .map(|key| match object.get(key)? {
            scalar @ (Json::Bool(_) | Json::Number(_) | Json::String(_)) => {
                Some(scalar.to_string())
            }
            _ => None,
        })
        .collect()
}

/// The old elements of a keyed list by their keys; of two with the same key the first counts.
pub(super) struct OldElements<'v>(BTreeMap<Vec<String>, &'v Json>);

impl<'v> OldElements<'v> {
    pub(super) fn new(schema: &Schema, old: Option<&'v Json>) -> Self {
        let mut elements = BTreeMap::new();
        if schema.list_type == ListType::Map && !schema.list_map_keys.is_empty() {
            for element in old.and_then(Json::as_array).into_iter().flatten() {
                if let Some(key) = key_of(element, &schema.list_map_keys) {
                    elements.entry(key).or_insert(element);
                }
            }
        }
        Self(elements)
    }

    pub(super) fn get(&self, schema: &Schema, element: &Json) -> Option<&'v Json> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get(&key_of(element, &schema.list_map_keys)?).copied()
    }
}

/// A new value with the old one in its place.
#[derive(Clone, Copy)]
pub(super) struct Pair<'v> {
    new: &'v Json,
    old: &'v Json,
    schema: &'v Schema,
}

impl<'v> Pair<'v> {
    pub(super) fn new(new: &'v Json, old: &'v Json, schema: &'v Schema) -> Self {
        Self { new, old, schema }
    }

    fn key(&self, field: &str) -> Option<Pair<'v>> {
        let (new, old) = (self.new.as_object()?.get(field)?, self.old.as_object()?.get(field)?);
        let known = self.schema.properties.as_ref().and_then(|known| known.get(field));
        let schema = known.or(self.schema.additional.as_ref())?;
        Some(Pair { new, old, schema })
    }

    fn index(&self, old: &OldElements<'v>, element: &'v Json) -> Option<Pair<'v>> {
        let old = old.get(self.schema, element)?;
        Some(Pair { new: element, old, schema: self.schema.items.as_deref()? })
    }

    /// Whether nothing changed that the schema knows of.
    fn is_unchanged(&self) -> bool {
        match (self.new, self.old) {
            (Json::Array(new), Json::Array(old)) => {
                if new.len() != old.len() {
                    return false;
                }
                if self.schema.list_type != ListType::Map || new.is_empty() {
                    return new == old;
                }
                let elements = OldElements::new(self.schema, Some(self.old));
                new.iter().all(|element| {
                    self.index(&elements, element).is_some_and(|pair| pair.is_unchanged())
                })
            }
            (Json::Object(new), Json::Object(old)) => {
                new.len() == old.len()
                    && new.keys().all(|key| self.key(key).is_some_and(|pair| pair.is_unchanged()))
            }
            (new, old) => new == old,
        }
    }
}

/// What decides whether a failed rule is only warned of: its value, or if that is new the nearest
/// value around it that is not.
#[derive(Clone, Copy, Default)]
pub(super) struct Ratchet<'v> {
    current: Option<Pair<'v>>,
    nearest: Option<Pair<'v>>,
}

impl<'v> Ratchet<'v> {
    pub(super) fn root(pair: Option<Pair<'v>>) -> Self {
        Self { current: pair, nearest: None }
    }

    pub(super) fn forgives(&self) -> bool {
        self.current.or(self.nearest).is_some_and(|pair| pair.is_unchanged())
    }

    /// For the branches of `allOf`, which correlate only through what is around them.
    pub(super) fn branch(&self) -> Self {
        Self { current: None, nearest: self.nearest }
    }

    pub(super) fn key(&self, field: &str) -> Self {
        let Some(current) = self.current else { return *self };
        if self.nearest.is_none() && matches!(field, "apiVersion" | "kind") {
            return Self::default();
        }
        Self { current: current.key(field), nearest: Some(current) }
    }

    pub(super) fn index(&self, old: &OldElements<'v>, element: &'v Json) -> Self {
        let Some(current) = self.current else { return *self };
        Self { current: current.index(old, element), nearest: Some(current) }
    }
}
