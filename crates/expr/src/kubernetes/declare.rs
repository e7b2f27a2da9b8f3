//! Schemas as types.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::escape::escape;
use crate::schema::Schema;
use crate::types::{ObjectType, Type};

/// The type of values of a schema; objects are named by their path from `name`. Values of a schema
/// without a type cannot be seen by expressions.
pub(super) fn declare(schema: &Schema, root: bool, name: &str) -> Option<Type> {
    if schema.int_or_string {
        return Some(Type::Dyn);
    }
    let extended;
    let mut schema = schema;
    if root {
        extended = schema.with_resource_fields();
        schema = &extended;
    }
    Some(match schema.kind.as_str() {
        "array" => {
            let items = schema.items.as_deref()?;
            Type::list(declare(items, items.embedded, &format!("{name}.@idx"))?)
        }
        "object" => {
            if let Some(additional) = schema.additional.as_deref() {
                let value = declare(additional, additional.embedded, &format!("{name}.@elem"))?;
                return Some(Type::map(Type::String, value));
            }
            let mut fields = BTreeMap::new();
            for (property, schema) in schema.properties.iter().flatten() {
                let Some(escaped) = escape(property) else { continue };
                let path = format!("{name}.{escaped}");
                if let Some(declared) = declare(schema, schema.embedded, &path) {
                    fields.insert(escaped, declared);
                }
            }
            Type::Object(Arc::new(ObjectType { name: name.to_owned(), fields }))
        }
        "string" => match schema.format.as_str() {
            "byte" => Type::Bytes,
            "duration" => Type::Duration,
            "date" | "date-time" => Type::Timestamp,
            _ => Type::String,
        },
        "boolean" => Type::Bool,
        "number" => Type::Double,
        "integer" => Type::Int,
        _ => return None,
    })
}

/// Whether expressions can see values of a schema.
pub(super) fn is_typed(schema: &Schema) -> bool {
    if schema.int_or_string {
        return true;
    }
    match schema.kind.as_str() {
        "array" => schema.items.as_deref().is_some_and(is_typed),
        "object" => schema.additional.as_deref().is_none_or(is_typed),
        "string" | "boolean" | "number" | "integer" => true,
        _ => false,
    }
}
