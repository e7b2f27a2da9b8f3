//! `apiVersion`, `kind` and `metadata` of embedded objects: given Go's types, then validated.

use serde_json::{Map, Value};

use super::object_meta::{self, Malformed};
use super::{Additional, Root, Schema};
use crate::field::{FieldError, Path};
use sluice_base::names;

use crate::metadata;

/// Gives embedded metadata Go's types. Returns the paths of fields that metadata does not have.
pub fn coerce(
    object: &mut Value,
    schema: Option<&Schema>,
    root: Root,
    malformed: Malformed,
    path: &Path,
) -> Result<Vec<String>, Box<FieldError>> {
    let default = Schema::default();
    let (schema, embedded) = match (root, schema) {
        (Root::Resource, schema) => (schema.unwrap_or(&default), true),
        (Root::Value, Some(schema)) => (schema, schema.embedded_resource),
        (Root::Value, None) => return Ok(Vec::new()),
    };
    let mut coercer = Coercer { malformed, unknown: Vec::new() };
    coercer.walk(object, schema, embedded, path)?;
    coercer.unknown.sort();
    Ok(coercer.unknown)
}

struct Coercer {
    malformed: Malformed,
    unknown: Vec<String>,
}

impl Coercer {
    fn walk(
        &mut self,
        value: &mut Value,
        schema: &Schema,
        embedded: bool,
        path: &Path,
    ) -> Result<(), Box<FieldError>> {
        match value {
            Value::Object(fields) => {
                if embedded {
                    self.coerce_meta(fields, path)?;
                }
                for (name, field) in fields.iter_mut() {
                    if let Some(property) = schema.properties.get(name) {
                        let at = path.child(name);
                        self.walk(field, property, property.embedded_resource, &at)?;
                    } else if let Some(additional) =
                        schema.additional_properties.as_ref().and_then(Additional::schema)
                    {
                        let at = path.key(name);
                        self.walk(field, additional, additional.embedded_resource, &at)?;
                    }
                }
            }
            Value::Array(items) => {
                let Some(schema) = schema.items.as_deref() else { return Ok(()) };
                for (index, item) in items.iter_mut().enumerate() {
                    self.walk(item, schema, schema.embedded_resource, &path.index(index))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn coerce_meta(
        &mut self,
        fields: &mut Map<String, Value>,
        path: &Path,
    ) -> Result<(), Box<FieldError>> {
        for name in ["apiVersion", "kind"] {
            let Some(value) = fields.get(name).filter(|value| !value.is_string()) else { continue };
            if self.malformed == Malformed::Refuse {
                let at = path.child(name);
                return Err(Box::new(FieldError::invalid(&at, value.clone(), "must be a string")));
            }
            fields.remove(name);
        }
        let Some(metadata) = fields.get_mut("metadata") else { return Ok(()) };
        let at = path.child("metadata");
        match object_meta::decode(metadata, self.malformed) {
            Ok(decoded) => {
                self.unknown.extend(decoded.unknown.iter().map(|name| format!("{at}.{name}")));
                *metadata = Value::Object(decoded.value);
            }
            Err(why) if self.malformed == Malformed::Refuse => {
                return Err(Box::new(FieldError::invalid(&at, metadata.clone(), why)));
            }
            Err(_) => {}
        }
        Ok(())
    }
}

/// What is wrong with embedded `apiVersion`, `kind` and `metadata`.
pub fn validate(
    object: &Value,
    schema: Option<&Schema>,
    root: Root,
    path: &Path,
) -> Vec<FieldError> {
    let default = Schema::default();
    let (schema, embedded) = match (root, schema) {
        (Root::Resource, schema) => (schema.unwrap_or(&default), true),
        (Root::Value, Some(schema)) => (schema, schema.embedded_resource),
        (Root::Value, None) => return Vec::new(),
    };
    let mut errors = Vec::new();
    validate_node(object, schema, embedded, path, &mut errors);
    errors
}

fn validate_node(
    value: &Value,
    schema: &Schema,
    embedded: bool,
    path: &Path,
    errors: &mut Vec<FieldError>,
) {
    match value {
        Value::Object(fields) => {
            if embedded {
                validate_meta(fields, path, errors);
            }
            for (name, field) in fields {
                if let Some(property) = schema.properties.get(name) {
                    let at = path.child(name);
                    validate_node(field, property, property.embedded_resource, &at, errors);
                } else if let Some(additional) =
                    schema.additional_properties.as_ref().and_then(Additional::schema)
                {
                    let at = path.key(name);
                    validate_node(field, additional, additional.embedded_resource, &at, errors);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = schema.items.as_deref() else { return };
            for (index, item) in items.iter().enumerate() {
                let at = path.index(index);
                validate_node(item, schema, schema.embedded_resource, &at, errors);
            }
        }
        _ => {}
    }
}

fn validate_meta(fields: &Map<String, Value>, path: &Path, errors: &mut Vec<FieldError>) {
    for name in ["apiVersion", "kind"] {
        if !fields.contains_key(name) {
            errors.push(FieldError::required(&path.child(name), ""));
        }
    }
    for (name, value) in fields {
        let at = path.child(name);
        match (name.as_str(), value) {
            ("apiVersion" | "kind", Value::String(text)) if text.is_empty() => {
                errors.push(FieldError::invalid(&at, text.as_str(), "must not be empty"));
            }
            ("apiVersion", Value::String(text)) if text.matches('/').count() > 1 => {
                let why = format!("unexpected GroupVersion string: {text}");
                errors.push(FieldError::invalid(&at, text.as_str(), why));
            }
            ("apiVersion", Value::String(_)) => {}
            ("kind", Value::String(text)) => {
                let wrong = names::dns1035_label(&text.to_lowercase());
                if !wrong.is_empty() {
                    let why = format!(
                        "may have mixed case, but should otherwise match: {}",
                        wrong.join(",")
                    );
                    errors.push(FieldError::invalid(&at, text.as_str(), why));
                }
            }
            ("apiVersion" | "kind", other) => {
                errors.push(FieldError::invalid(&at, other.clone(), "must be a string"));
            }
            ("metadata", value) => validate_metadata(value, &at, errors),
            _ => {}
        }
    }
}

fn validate_metadata(value: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    match object_meta::decode(value, Malformed::Refuse) {
        Err(why) => errors.push(FieldError::invalid(path, value.clone(), why)),
        Ok(mut decoded) => {
            let text = |key: &str| decoded.value.get(key).and_then(Value::as_str).unwrap_or("");
            let namespaced = !text("namespace").is_empty();
            if text("name").is_empty() {
                // An embedded object needs no name, but the rules below ask for one.
                decoded.value.insert("name".to_owned(), "fakename".into());
            }
            let rule = |name: &str, prefix: bool| names::path_segment(name, prefix);
            let metadata = Value::Object(decoded.value);
            errors.extend(metadata::validate(&metadata, namespaced, &rule, path));
        }
    }
}
