//! Correlation of parts of the new object with parts of the old one.
//!
//! Fields correlate by name, items of map lists by their keys; items of other lists do not correlate. CEL's `oldSelf`
//! follows the same rules, so the type is public.

use serde_json::Value;

use crate::structural::{Additional, Schema};

/// A value with its predecessor.
#[derive(Debug, Clone, Copy)]
pub struct Correlated<'a> {
    /// The new value.
    pub value: &'a Value,
    /// What stood in its place.
    pub old: &'a Value,
    /// The schema of both.
    pub schema: &'a Schema,
}

impl<'a> Correlated<'a> {
    /// The pair of two whole objects.
    pub fn new(value: &'a Value, old: &'a Value, schema: &'a Schema) -> Self {
        Self { value, old, schema }
    }

    /// The pair below the field `name`, if both have it and the schema knows it.
    pub fn field(&self, name: &str) -> Option<Self> {
        let value = self.value.as_object()?.get(name)?;
        let old = self.old.as_object()?.get(name)?;
        let schema = match self.schema.properties.get(name) {
            Some(property) => property,
            None => self.schema.additional_properties.as_ref().and_then(Additional::schema)?,
        };
        Some(Self { value, old, schema })
    }

    /// The pair at the new list's `index`, if the list is a map and the old one has that key.
    pub fn item(&self, index: usize) -> Option<Self> {
        let value = self.value.as_array()?.get(index)?;
        let old = self.old.as_array()?;
        let schema = self.schema.items.as_deref()?;
        if !self.is_map_list() {
            return None;
        }
        let key = self.key_of(value)?;
        let old = old.iter().find(|item| self.key_of(item).as_ref() == Some(&key))?;
        Some(Self { value, old, schema })
    }

    fn is_map_list(&self) -> bool {
        self.schema.list_type.as_deref() == Some("map")
            && self.schema.kind == "array"
            && !self.schema.list_map_keys.is_empty()
    }

    fn key_of<'v>(&self, item: &'v Value) -> Option<Vec<&'v Value>> {
        let fields = item.as_object()?;
        let scalar =
            |value: &&Value| !matches!(value, Value::Null | Value::Array(_) | Value::Object(_));
        self.schema.list_map_keys.iter().map(|key| fields.get(key).filter(scalar)).collect()
    }

    /// Whether nothing changed, as upstream sees it: a field the schema does not know makes an
    /// object count as changed, the order of a map list does not.
    pub fn is_unchanged(&self) -> bool {
        match (self.value, self.old) {
            (Value::Array(new), Value::Array(old)) => {
                if new.len() != old.len() {
                    return false;
                }
                if self.schema.list_type.as_deref() != Some("map") {
                    return new == old;
                }
                (0..new.len()).all(|index| self.item(index).is_some_and(|item| item.is_unchanged()))
            }
            (Value::Object(new), Value::Object(old)) => {
                new.len() == old.len()
                    && new
                        .keys()
                        .all(|name| self.field(name).is_some_and(|field| field.is_unchanged()))
            }
            (new, old) => new == old,
        }
    }
}
