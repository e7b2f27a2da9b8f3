//! Schemas that are not recorded: of the field `openapi`, of comments and of CRDs.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::failure::{Failure, Result};

/// The schemas of a file, as kyaml indexes them.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    pub(super) by_name: BTreeMap<String, Arc<Shape>>,
    pub(super) by_kind: BTreeMap<(String, String), Arc<Shape>>,
    pub(super) namespaced: BTreeMap<(String, String), bool>,
}

/// The parts of a schema that merging needs.
#[derive(Debug, Default, Clone)]
pub(super) struct Shape {
    /// A reference that replaces the whole schema if it can be resolved.
    pub(super) reference: Option<String>,
    fields: BTreeMap<String, Arc<Shape>>,
    values: Option<Arc<Shape>>,
    pub(super) items: Option<Arc<Shape>>,
    pub(super) strategy: String,
    pub(super) keys: Vec<String>,
}

impl Definitions {
    /// Parses a Swagger document in JSON or YAML.
    pub(super) fn read(content: &[u8]) -> Result<Self> {
        let wrong = |problem: String| Failure::new(format!("invalid schema file: {problem}"));
        let document = if content.first().is_none_or(|first| *first == b'{') {
            serde_json::from_slice(content).map_err(|error| wrong(error.to_string()))?
        } else {
            let read = sluice_yaml::to_json(content, sluice_yaml::Duplicates::LastWins);
            read.map_err(|error| wrong(error.to_string()))?.unwrap_or_default()
        };
        let read = || -> Option<Self> {
            let mut all = Self::default();
            let document = match &document {
                Value::Object(document) => document,
                Value::Null => return Some(all),
                _ => return None,
            };
            for (name, definition) in members(document, "definitions")? {
                let shape = Arc::new(Shape::read(definition)?);
                for kind in kinds(definition.get(KINDS).unwrap_or(&NULL))? {
                    all.by_kind.insert(kind, Arc::clone(&shape));
                }
                all.by_name.insert(name.clone(), shape);
            }
            for (path, item) in members(document, "paths")? {
                let Some(kind) = item.get("get").and_then(|get| get.get(KINDS)) else { continue };
                let in_namespace = path.contains("namespaces/{namespace}");
                for kind in kinds(kind)? {
                    *all.namespaced.entry(kind).or_default() |= in_namespace;
                }
            }
            Some(all)
        };
        read().ok_or_else(|| wrong("this is no OpenAPI document".to_owned()))
    }
}

static NULL: Value = Value::Null;

const KINDS: &str = "x-kubernetes-group-version-kind";

/// The fields of an optional member; none if it is not an object.
fn members<'v>(
    object: &'v Map<String, Value>,
    name: &str,
) -> Option<impl Iterator<Item = (&'v String, &'v Value)>> {
    let members = match object.get(name) {
        None | Some(Value::Null) => None,
        Some(Value::Object(members)) => Some(members),
        Some(_) => return None,
    };
    Some(members.into_iter().flatten())
}

/// `apiVersion` and `kind` of each entry; others are skipped.
fn kinds(extension: &Value) -> Option<Vec<(String, String)>> {
    let entries = match extension {
        Value::Array(entries) => entries.as_slice(),
        entry => std::slice::from_ref(entry),
    };
    entries
        .iter()
        .filter_map(Value::as_object)
        .map(|entry| {
            let version = entry.get("version")?.as_str()?;
            let kind = entry.get("kind")?.as_str()?.to_owned();
            let group = entry.get("group").and_then(Value::as_str).unwrap_or_default();
            let separator = if group.is_empty() { "" } else { "/" };
            Some((format!("{group}{separator}{version}"), kind))
        })
        .collect()
}

impl Shape {
    /// Parses a JSON schema; `None` where kyaml would stop.
    pub(super) fn read(schema: &Value) -> Option<Self> {
        let schema = match schema {
            Value::Object(schema) => schema,
            Value::Null => return Some(Self::default()),
            _ => return None,
        };
        let text = |name: &str| match schema.get(name) {
            None | Some(Value::Null) => Some(None),
            Some(Value::String(text)) => Some(Some(text.clone())),
            Some(_) => None,
        };
        let mut shape = Self { reference: text("$ref")?, ..Self::default() };
        for (name, field) in members(schema, "properties")? {
            shape.fields.insert(name.clone(), Arc::new(Self::read(field)?));
        }
        if let Some(values @ Value::Object(_)) = schema.get("additionalProperties") {
            shape.values = Some(Arc::new(Self::read(values)?));
        }
        if let Some(items @ Value::Object(_)) = schema.get("items")
            && is_array(schema.get("type").unwrap_or(&NULL))
        {
            shape.items = Some(Arc::new(Self::read(items)?));
        }
        if let Some(strategy) = text("x-kubernetes-patch-strategy")? {
            shape.strategy = strategy;
            shape.keys = match list_map_keys(schema)? {
                Some(keys) => keys,
                None => text("x-kubernetes-patch-merge-key")?.into_iter().collect(),
            };
        }
        Some(shape)
    }

    /// Parses the schema of a custom resource: lists are merged where the API server merges them.
    pub(super) fn read_structural(schema: &Value) -> Self {
        let child = |name: &str| {
            let child = schema.get(name).filter(|child| child.is_object());
            child.map(|child| Arc::new(Self::read_structural(child)))
        };
        let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let mut shape = Self {
            fields: fields
                .map(|(name, field)| (name.clone(), Arc::new(Self::read_structural(field))))
                .collect(),
            values: child("additionalProperties"),
            items: child("items"),
            ..Self::default()
        };
        let keys = schema.as_object().and_then(list_map_keys).flatten();
        if let (Some("map"), Some(keys)) =
            (schema.get("x-kubernetes-list-type").and_then(Value::as_str), keys)
        {
            "merge".clone_into(&mut shape.strategy);
            shape.keys = keys;
        }
        shape
    }

    /// Parses the schema in a comment, if it has one.
    pub(super) fn read_comment(comment: &str) -> Option<Self> {
        let text = comment.trim_start_matches('#');
        if !text.trim_start().starts_with('{') {
            return None;
        }
        // kyaml keeps what it parsed before the error in the next line of the comment.
        let schema: Value = serde_json::Deserializer::from_str(text).into_iter().next()?.ok()?;
        let members = schema.as_object().filter(|members| !members.is_empty())?;
        // The shorthand of setters is a reference.
        if let Some(Value::String(setter)) = members.get("$openapi")
            && !setter.is_empty()
            && members.values().all(Value::is_string)
        {
            let reference = Some(format!("#/definitions/io.k8s.cli.setters.{setter}"));
            return Some(Self { reference, ..Self::default() });
        }
        Self::read(&schema)
    }

    /// The schema of a field.
    pub(super) fn field(&self, name: &str) -> Option<&Arc<Self>> {
        self.fields.get(name).or(self.values.as_ref())
    }
}

fn is_array(kind: &Value) -> bool {
    match kind {
        Value::String(kind) => kind == "array",
        Value::Array(kinds) => matches!(kinds.as_slice(), [Value::String(kind)] if kind == "array"),
        _ => false,
    }
}

#[expect(clippy::option_option, reason = "keys that are no texts are not keys that are missing")]
fn list_map_keys(schema: &Map<String, Value>) -> Option<Option<Vec<String>>> {
    let Some(keys) = schema.get("x-kubernetes-list-map-keys") else { return Some(None) };
    let keys = keys.as_array()?.iter().map(|key| key.as_str().map(str::to_owned));
    keys.collect::<Option<Vec<_>>>().map(Some)
}
