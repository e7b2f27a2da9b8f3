//! The uniqueness that `x-kubernetes-list-type: set` and `map` promise.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use sluice_base::gojson;

use super::{Additional, Schema};
use crate::field::{FieldError, Path};

/// What is wrong with the set and map lists in `object`: the second occurrence of each item or key.
pub fn validate(object: &Value, schema: &Schema, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(object, schema, path, &mut errors);
    errors
}

fn walk(value: &Value, schema: &Schema, path: &Path, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => {
            if let Some(additional) =
                schema.additional_properties.as_ref().and_then(Additional::schema)
            {
                for (name, field) in fields {
                    walk(field, additional, &path.key(name), errors);
                }
            }
            for (name, field) in fields {
                if let Some(property) = schema.properties.get(name) {
                    walk(field, property, &path.child(name), errors);
                }
            }
        }
        Value::Array(items) => {
            match schema.list_type.as_deref() {
                Some("set") => {
                    let seconds = second_occurrences(items);
                    errors.extend(seconds.into_iter().map(|index| {
                        FieldError::duplicate(&path.index(index), items[index].clone())
                    }));
                }
                Some("map") => validate_map(items, schema, path, errors),
                _ => {}
            }
            if let Some(schema) = schema.items.as_deref() {
                for (index, item) in items.iter().enumerate() {
                    walk(item, schema, &path.index(index), errors);
                }
            }
        }
        _ => {}
    }
}

fn validate_map(items: &[Value], schema: &Schema, path: &Path, errors: &mut Vec<FieldError>) {
    for (index, item) in items.iter().enumerate() {
        if !item.is_object() && !item.is_null() {
            let why = "must be an object for an array of list-type map";
            errors.push(FieldError::invalid(&path.index(index), item.clone(), why));
            return;
        }
    }
    let keys: Vec<Value> = items
        .iter()
        .map(|item| {
            let present = schema
                .list_map_keys
                .iter()
                .filter_map(|key| item.get(key).map(|value| (key.clone(), value.clone())));
            Value::Object(present.collect::<Map<_, _>>())
        })
        .collect();
    for index in second_occurrences(&keys) {
        errors.push(FieldError::duplicate(&path.index(index), keys[index].clone()));
    }
}

/// The index at which each repeated item appears for the second time; later ones are not reported.
fn second_occurrences(items: &[Value]) -> Vec<usize> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut seconds = Vec::new();
    for (index, item) in items.iter().enumerate() {
        // 1 and 1.0 are different items, but both are written `1`.
        let key = if item.is_f64() {
            json!([item, "float"]).to_string()
        } else {
            gojson::to_string(item)
        };
        let times = seen.entry(key).or_default();
        *times += 1;
        if *times == 2 {
            seconds.push(index);
        }
    }
    seconds
}
