//! The shape of built-in kinds: the table of Go types, OpenAPI's merge keys.

use serde_json::Value;
use sluice_schema::gotypes::{Document, Types};

use crate::resource::{Decoded, Shape, api_version};
use crate::status::Status;

/// A built-in kind in one version.
pub(crate) struct BuiltIn {
    api_version: String,
    kind: String,
}

impl BuiltIn {
    pub(crate) fn new(group: &str, version: &str, kind: &str) -> Self {
        Self { api_version: api_version(group, version), kind: kind.to_owned() }
    }
}

impl Shape for BuiltIn {
    fn decode(&self, document: Document) -> Result<Decoded, String> {
        let decoded = Types::recorded()
            .decode(&self.api_version, &self.kind, document)
            .map_err(|error| error.to_string())?;
        Ok(Decoded { value: decoded.value, problems: decoded.strict })
    }

    fn normalize(&self, value: &mut Value) {
        // Hooks keep objects well-typed; one that did not is left as it is and fails validation.
        let before = value.clone();
        if Types::recorded().normalize(&self.api_version, &self.kind, value).is_err() {
            *value = before;
        }
    }

    fn strategic_merge(&self, object: &Value, patch: &Value) -> Option<Result<Value, Status>> {
        let _ = (object, patch);
        None
    }
}
