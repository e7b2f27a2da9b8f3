//! Structural schemas of CustomResourceDefinitions, and the passes that upstream runs with them on every
//! object.
//!
//! ```text
//! request body ─▶ prune ─▶ prune_nulls ─▶ coerce ─▶ default ─▶ validate ─▶ listtype ─▶ (CEL rules)
//! ```
//!
//! - [`Schema::parse`] reads `openAPIV3Schema`; [`invariants::check`] says whether it is structural.
//! - [`prune`](pruning::prune) drops fields the schema does not name and reports them,
//!   [`defaulting`] fills in defaults, [`coercion`] checks embedded metadata.
//! - [`validation`] checks values with kube-openapi's messages, [`listtype`] the uniqueness of set and map
//!   lists. Rules in `x-kubernetes-validations` are kept in [`Schema::rules`] for the caller: evaluating
//!   them needs the expression engine, which is a sibling of this crate.
//! - [`definition`] validates and defaults the CustomResourceDefinition itself and computes its
//!   conditions.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

pub mod coercion;
pub mod defaulting;
pub mod definition;
pub mod field_path;
pub mod formats;
pub mod invariants;
pub mod listtype;
pub mod object_meta;
pub mod pattern;
pub mod pruning;
pub mod validation;

use pattern::Pattern;

/// One node of a schema. The same type stands for the structural part and for the value
/// validations below `allOf`, `anyOf`, `oneOf` and `not`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Schema {
    /// `type`; empty when not given.
    pub kind: String,
    /// `format`; empty when not given.
    pub format: String,
    /// `title`.
    pub title: String,
    /// `description`.
    pub description: String,
    /// Whether `null` is a value here.
    pub nullable: bool,
    /// What is filled in when the field is missing.
    pub default: Option<Value>,
    /// The fields of an object.
    pub properties: BTreeMap<String, Self>,
    /// What holds for the fields of an object that `properties` does not name.
    pub additional_properties: Option<Additional>,
    /// What holds for each item of a list.
    pub items: Option<Box<Self>>,
    /// `maximum`.
    pub maximum: Option<f64>,
    /// Whether `maximum` itself is excluded.
    pub exclusive_maximum: bool,
    /// `minimum`.
    pub minimum: Option<f64>,
    /// Whether `minimum` itself is excluded.
    pub exclusive_minimum: bool,
    /// `multipleOf`.
    pub multiple_of: Option<f64>,
    /// `maxLength`, in characters.
    pub max_length: Option<i64>,
    /// `minLength`, in characters.
    pub min_length: Option<i64>,
    /// `pattern`.
    pub pattern: Option<Pattern>,
    /// `maxItems`.
    pub max_items: Option<i64>,
    /// `minItems`.
    pub min_items: Option<i64>,
    /// Whether no two items of a list may be equal.
    pub unique_items: bool,
    /// `maxProperties`.
    pub max_properties: Option<i64>,
    /// `minProperties`.
    pub min_properties: Option<i64>,
    /// The fields an object must have.
    pub required: Vec<String>,
    /// The allowed values, if limited.
    pub allowed: Vec<Value>,
    /// `allOf`.
    pub all_of: Vec<Self>,
    /// `anyOf`.
    pub any_of: Vec<Self>,
    /// `oneOf`.
    pub one_of: Vec<Self>,
    /// `not`.
    pub not: Option<Box<Self>>,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserve_unknown_fields: bool,
    /// `x-kubernetes-embedded-resource`.
    pub embedded_resource: bool,
    /// `x-kubernetes-int-or-string`.
    pub int_or_string: bool,
    /// `x-kubernetes-list-type`.
    pub list_type: Option<String>,
    /// `x-kubernetes-list-map-keys`.
    pub list_map_keys: Vec<String>,
    /// `x-kubernetes-map-type`.
    pub map_type: Option<String>,
    /// `x-kubernetes-validations`, as written.
    pub rules: Vec<Value>,
}

/// `additionalProperties`.
#[derive(Debug, Clone, PartialEq)]
pub enum Additional {
    /// Any value, or none at all.
    Allowed(bool),
    /// Values of this schema.
    Of(Box<Schema>),
}

impl Additional {
    /// The schema of additional fields, if one is given.
    pub fn schema(&self) -> Option<&Schema> {
        match self {
            Self::Allowed(_) => None,
            Self::Of(schema) => Some(schema),
        }
    }
}

/// Why a document is no structural schema at all. These constructs are refused when a definition
/// is created, so stored schemas do not have them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// A JSON schema construct that custom resources do not have.
    #[error("OpenAPIV3Schema '{0}' is not supported")]
    Unsupported(&'static str),
    /// `items` is a list.
    #[error("OpenAPIV3Schema 'items' must be a schema, but is an array")]
    ItemsArray,
    /// Preserving is on or absent, never off.
    #[error("internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined")]
    PreserveFalse,
}

fn text(node: &Map<String, Value>, key: &str) -> String {
    node.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn flag(node: &Map<String, Value>, key: &str) -> bool {
    node.get(key).and_then(Value::as_bool).unwrap_or_default()
}

fn number(node: &Map<String, Value>, key: &str) -> Option<f64> {
    node.get(key).and_then(Value::as_f64)
}

fn integer(node: &Map<String, Value>, key: &str) -> Option<i64> {
    node.get(key).and_then(Value::as_i64)
}

fn texts(node: &Map<String, Value>, key: &str) -> Vec<String> {
    let items = node.get(key).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn values(node: &Map<String, Value>, key: &str) -> Vec<Value> {
    node.get(key).and_then(Value::as_array).cloned().unwrap_or_default()
}

fn is_set(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Object(fields)) => !fields.is_empty(),
        Some(_) => true,
    }
}

impl Schema {
    /// Reads `openAPIV3Schema`, which has been through the Go types of the definition: fields have
    /// their types, unknown ones are gone.
    pub fn parse(document: &Value) -> Result<Self, SchemaError> {
        let empty = Map::new();
        let node = document.as_object().unwrap_or(&empty);
        for (key, name) in [
            ("id", "id"),
            ("$schema", "schema"),
            ("$ref", "$ref"),
            ("patternProperties", "patternProperties"),
            ("dependencies", "dependencies"),
            ("additionalItems", "additionalItems"),
            ("definitions", "definitions"),
        ] {
            if is_set(node.get(key)) {
                return Err(SchemaError::Unsupported(name));
            }
        }
        if node.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
            return Err(SchemaError::PreserveFalse);
        }
        let branch = |key: &str| -> Result<Vec<Self>, SchemaError> {
            values(node, key).iter().map(Self::parse).collect()
        };
        let items = match node.get("items") {
            None | Some(Value::Null) => None,
            Some(Value::Array(_)) => return Err(SchemaError::ItemsArray),
            Some(items) => Some(Box::new(Self::parse(items)?)),
        };
        let mut properties = BTreeMap::new();
        for (name, property) in
            node.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            properties.insert(name.clone(), Self::parse(property)?);
        }
        let additional_properties = match node.get("additionalProperties") {
            None | Some(Value::Null) => None,
            Some(Value::Bool(allowed)) => Some(Additional::Allowed(*allowed)),
            Some(schema) => Some(Additional::Of(Box::new(Self::parse(schema)?))),
        };
        let not = match node.get("not") {
            None | Some(Value::Null) => None,
            Some(schema) => Some(Box::new(Self::parse(schema)?)),
        };
        let optional_text = |key: &str| node.get(key).and_then(Value::as_str).map(str::to_owned);
        let pattern = Some(text(node, "pattern")).filter(|pattern| !pattern.is_empty());
        Ok(Self {
            kind: text(node, "type"),
            format: text(node, "format"),
            title: text(node, "title"),
            description: text(node, "description"),
            nullable: flag(node, "nullable"),
            default: node.get("default").filter(|default| !default.is_null()).cloned(),
            properties,
            additional_properties,
            items,
            maximum: number(node, "maximum"),
            exclusive_maximum: flag(node, "exclusiveMaximum"),
            minimum: number(node, "minimum"),
            exclusive_minimum: flag(node, "exclusiveMinimum"),
            multiple_of: number(node, "multipleOf"),
            max_length: integer(node, "maxLength"),
            min_length: integer(node, "minLength"),
            pattern: pattern.map(|pattern| Pattern::new(&pattern)),
            max_items: integer(node, "maxItems"),
            min_items: integer(node, "minItems"),
            unique_items: flag(node, "uniqueItems"),
            max_properties: integer(node, "maxProperties"),
            min_properties: integer(node, "minProperties"),
            required: texts(node, "required"),
            allowed: values(node, "enum"),
            all_of: branch("allOf")?,
            any_of: branch("anyOf")?,
            one_of: branch("oneOf")?,
            not,
            preserve_unknown_fields: flag(node, "x-kubernetes-preserve-unknown-fields"),
            embedded_resource: flag(node, "x-kubernetes-embedded-resource"),
            int_or_string: flag(node, "x-kubernetes-int-or-string"),
            list_type: optional_text("x-kubernetes-list-type"),
            list_map_keys: texts(node, "x-kubernetes-list-map-keys"),
            map_type: optional_text("x-kubernetes-map-type"),
            rules: values(node, "x-kubernetes-validations"),
        })
    }

    /// The schema of the field `name`: its own, or the one for additional fields.
    pub fn field(&self, name: &str) -> Option<&Self> {
        self.properties
            .get(name)
            .or_else(|| self.additional_properties.as_ref().and_then(Additional::schema))
    }

    /// Whether this node or one below it (value validations aside) has CEL rules.
    pub fn has_rules(&self) -> bool {
        !self.rules.is_empty()
            || self.items.as_deref().is_some_and(Self::has_rules)
            || self.properties.values().any(Self::has_rules)
            || self
                .additional_properties
                .as_ref()
                .and_then(Additional::schema)
                .is_some_and(Self::has_rules)
    }
}

/// Makes floats of the numbers that Go's untyped decoder makes floats of: integers beyond `int64`.
pub fn normalize_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_u64() && !number.is_i64() => {
            *value = number.as_f64().into();
        }
        Value::Array(items) => items.iter_mut().for_each(normalize_numbers),
        Value::Object(fields) => fields.values_mut().for_each(normalize_numbers),
        _ => {}
    }
}

/// Whether the walk starts at a resource with `apiVersion`, `kind` and `metadata`, which need no schema,
/// or at a plain value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Root {
    /// A whole resource.
    Resource,
    /// Part of one.
    Value,
}

/// The fields every resource has, whether its schema names them or not.
pub(crate) fn is_meta_field(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}
