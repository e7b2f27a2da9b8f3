//! Filling in defaults, and dropping nulls that mean nothing.

use serde_json::Value;

use super::{Additional, Schema};

mod check;

pub use check::{DefaultValue, RuleCheck, validate};

fn is_meaningless_null(value: &Value, schema: &Schema) -> bool {
    value.is_null() && !schema.nullable
}

/// Fills the defaults of `schema` into `object`. Runs on every decode, from requests and from
/// storage alike; a null where null is no value counts as missing.
pub fn default(object: &mut Value, schema: &Schema) {
    match object {
        Value::Object(fields) => {
            for (name, property) in &schema.properties {
                let Some(default) = &property.default else { continue };
                if fields.get(name).is_none_or(|value| is_meaningless_null(value, property)) {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (name, field) in fields.iter_mut() {
                if let Some(property) = schema.properties.get(name) {
                    default(field, property);
                } else if let Some(additional) =
                    schema.additional_properties.as_ref().and_then(Additional::schema)
                {
                    default_null(field, additional);
                    default(field, additional);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = schema.items.as_deref() else { return };
            for item in items {
                default_null(item, schema);
                default(item, schema);
            }
        }
        _ => {}
    }
}

fn default_null(value: &mut Value, schema: &Schema) {
    if is_meaningless_null(value, schema) {
        *value = schema.default.clone().unwrap_or_default();
    }
}

/// Removes the fields that are null, may not be, and have no default that would replace them.
pub fn prune_nulls(object: &mut Value, schema: &Schema) {
    match object {
        Value::Object(fields) => fields.retain(|name, field| {
            let Some(schema) = schema.field(name) else { return true };
            if is_meaningless_null(field, schema) && schema.default.is_none() {
                return false;
            }
            prune_nulls(field, schema);
            true
        }),
        Value::Array(items) => {
            let Some(schema) = schema.items.as_deref() else { return };
            for item in items {
                prune_nulls(item, schema);
            }
        }
        _ => {}
    }
}
