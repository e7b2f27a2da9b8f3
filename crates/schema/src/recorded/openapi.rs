//! The recorded OpenAPI v3 documents: schemas once, paths per document.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::members::Members;

const SCHEMA_PREFIX: &str = "#/components/schemas/";
const DOCUMENT_PREFIX: &str = "/openapi/v3/";

/// All OpenAPI v3 documents of the built-in API.
pub struct OpenApi {
    members: Members,
}

impl OpenApi {
    pub(super) fn new(members: Members) -> Self {
        Self { members }
    }

    /// The names of the documents as the index has them: `api/v1`, `apis/apps/v1`, `version`.
    pub fn documents(&self) -> impl Iterator<Item = &str> {
        self.members.names().filter_map(|name| name.strip_prefix(DOCUMENT_PREFIX))
    }

    /// The URL that the index of `/openapi/v3` gives for a document, with the recorded hash.
    pub fn url(&self, document: &str) -> Option<&str> {
        self.member("urls").get(document)?.as_str()
    }

    /// The whole document `apis/apps/v1`, the same as the recorded server's.
    pub fn document(&self, name: &str) -> Option<Value> {
        let mut paths = self.members.get(&format!("{DOCUMENT_PREFIX}{name}"))?.clone();
        let parameters = self.member("parameters");
        restore_parameters(&mut paths, parameters);
        let head = self.member("head");
        let mut components = Map::new();
        let schemas: Map<String, Value> = self
            .reached_from(&paths)
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), self.schema(name)?.clone())))
            .collect();
        if !schemas.is_empty() {
            components.insert("schemas".to_owned(), Value::Object(schemas));
        }
        components.insert("securitySchemes".to_owned(), head["securitySchemes"].clone());
        Some(json!({
            "openapi": head["openapi"],
            "info": head["info"],
            "paths": paths,
            "components": components,
        }))
    }

    /// The names of the schemas, like `io.k8s.api.apps.v1.Deployment`.
    pub fn schema_names(&self) -> impl Iterator<Item = &str> {
        self.members.names().filter_map(|name| name.strip_prefix(SCHEMA_PREFIX))
    }

    /// The schema of that name.
    pub fn schema(&self, name: &str) -> Option<&Value> {
        self.members.get(&format!("{SCHEMA_PREFIX}{name}"))
    }

    /// The schema that a `$ref` means.
    pub fn resolve(&self, reference: &str) -> Option<&Value> {
        self.members.get(reference).filter(|_| reference.starts_with(SCHEMA_PREFIX))
    }

    /// The name of the schema of a kind; `api_version` is `v1` or `apps/v1`.
    pub fn schema_name(&self, api_version: &str, kind: &str) -> Option<&str> {
        self.member("kinds").get(format!("{api_version} {kind}"))?.as_str()
    }

    /// The schema of a kind; `api_version` is `v1` or `apps/v1`.
    pub fn schema_of(&self, api_version: &str, kind: &str) -> Option<&Value> {
        self.schema(self.schema_name(api_version, kind)?)
    }

    /// The list of security schemes and the other parts that all documents share.
    pub fn head(&self) -> &Value {
        self.member("head")
    }

    /// The names of the schemas that `start` refers to, directly or through other schemas.
    pub fn reached_from<'a>(&'a self, start: &'a Value) -> BTreeSet<&'a str> {
        let mut reached = BTreeSet::new();
        let mut open = vec![start];
        while let Some(value) = open.pop() {
            match value {
                Value::Object(fields) => {
                    if let Some(Value::String(reference)) = fields.get("$ref")
                        && let Some(reference) = self.members.name(reference)
                        && let Some(name) = reference.strip_prefix(SCHEMA_PREFIX)
                        && reached.insert(name)
                    {
                        open.extend(self.members.get(reference));
                    }
                    open.extend(fields.values());
                }
                Value::Array(items) => open.extend(items),
                _ => {}
            }
        }
        reached
    }

    pub(super) fn version(&self) -> &Value {
        self.member("version")
    }

    fn member(&self, name: &str) -> &Value {
        static ABSENT: Value = Value::Null;
        self.members.get(name).unwrap_or(&ABSENT)
    }
}

/// Puts query parameters back in the place of their numbers.
fn restore_parameters(value: &mut Value, parameters: &Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::Array(items) if name == "parameters" => {
                        for item in items {
                            let number = item.as_u64().and_then(|n| usize::try_from(n).ok());
                            if let Some(parameter) = number.and_then(|n| parameters.get(n)) {
                                *item = parameter.clone();
                            }
                        }
                    }
                    other => restore_parameters(other, parameters),
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                restore_parameters(item, parameters);
            }
        }
        _ => {}
    }
}
