//! Dropping the fields that a schema does not name.

use std::fmt::Write as _;

use serde_json::Value;

use super::{Additional, Root, Schema, is_meta_field};

/// Removes from `object` every field that `schema` does not specify. Returns their paths, sorted,
/// the way strict decoding reports them (`spec.template[0].extra`).
///
/// With no schema every field of an object goes. `metadata` itself is left alone here: see
/// [`object_meta`](super::object_meta).
pub fn prune(object: &mut Value, schema: Option<&Schema>, root: Root) -> Vec<String> {
    let mut pruner = Pruner { path: String::new(), unknown: Vec::new() };
    let default = Schema::default();
    let (schema, embedded) = match root {
        Root::Resource => (Some(schema.unwrap_or(&default)), true),
        Root::Value => (schema, schema.is_some_and(|schema| schema.embedded_resource)),
    };
    pruner.prune(object, schema, embedded);
    pruner.unknown.sort();
    pruner.unknown
}

struct Pruner {
    path: String,
    unknown: Vec<String>,
}

impl Pruner {
    fn below(&mut self, key: &str, visit: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(key);
        visit(self);
        self.path.truncate(length);
    }

    fn below_index(&mut self, index: usize, visit: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        let _ = write!(self.path, "[{index}]");
        visit(self);
        self.path.truncate(length);
    }

    fn record(&mut self, key: &str) {
        self.below(key, |this| this.unknown.push(this.path.clone()));
    }

    fn prune_child(&mut self, value: &mut Value, schema: Option<&Schema>) {
        self.prune(value, schema, schema.is_some_and(|schema| schema.embedded_resource));
    }

    fn prune(&mut self, value: &mut Value, schema: Option<&Schema>, embedded: bool) {
        if let Some(schema) = schema
            && schema.preserve_unknown_fields
        {
            self.keep(value, schema, embedded);
            return;
        }
        match value {
            Value::Object(fields) => {
                let Some(schema) = schema else {
                    for key in fields.keys() {
                        self.record(key);
                    }
                    fields.clear();
                    return;
                };
                fields.retain(|key, field| {
                    if embedded && is_meta_field(key) {
                        return true;
                    }
                    if let Some(property) = schema.properties.get(key) {
                        self.below(key, |this| this.prune_child(field, Some(property)));
                        return true;
                    }
                    if let Some(additional) = &schema.additional_properties {
                        self.below(key, |this| this.prune_child(field, additional.schema()));
                        return true;
                    }
                    if !is_meta_field(key) || !self.path.is_empty() {
                        self.record(key);
                    }
                    false
                });
            }
            Value::Array(items) => {
                let schema = schema.and_then(|schema| schema.items.as_deref());
                for (index, item) in items.iter_mut().enumerate() {
                    self.below_index(index, |this| this.prune_child(item, schema));
                }
            }
            _ => {}
        }
    }

    /// Below a preserving node, named fields are pruned again and all others are left alone.
    fn keep(&mut self, value: &mut Value, schema: &Schema, embedded: bool) {
        match value {
            Value::Object(fields) => {
                for (key, field) in fields.iter_mut() {
                    if embedded && is_meta_field(key) {
                        continue;
                    }
                    if let Some(property) = schema.properties.get(key) {
                        self.below(key, |this| this.prune_child(field, Some(property)));
                    } else if let Some(additional) = &schema.additional_properties {
                        let schema = Additional::schema(additional);
                        self.below(key, |this| this.prune_child(field, schema));
                    }
                }
            }
            Value::Array(items) => {
                let Some(schema) = schema.items.as_deref() else { return };
                for (index, item) in items.iter_mut().enumerate() {
                    let embedded = schema.embedded_resource;
                    self.below_index(index, |this| this.keep(item, schema, embedded));
                }
            }
            _ => {}
        }
    }
}
