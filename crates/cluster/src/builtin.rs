//! The shape of built-in kinds: the table of Go types, OpenAPI's merge keys.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};
use sluice_schema::gotypes::{Document, Types};
use sluice_schema::managed::OneVersion;
use sluice_schema::patch::{self, GoSchema, PatchError};
use sluice_schema::recorded;
use sluice_schema::smd::{TypeRef, Versions};

use crate::kind::Kind;
use crate::kinds::conversion;
use crate::resource::{Decoded, Shape, api_version};

/// A built-in kind in one version. Expensive tables are computed on first use.
pub(crate) struct BuiltIn {
    api_version: String,
    kind: String,
    types: OnceLock<TypeRef>,
    empty: OnceLock<Value>,
    /// The hooks, if they also default on read.
    reader: Option<Arc<dyn Kind>>,
}

impl BuiltIn {
    pub(crate) fn new(group: &str, version: &str, kind: &str, hooks: &Arc<dyn Kind>) -> Self {
        Self {
            reader: hooks.defaults_on_read().then(|| hooks.clone()),
            api_version: api_version(group, version),
            kind: kind.to_owned(),
            types: OnceLock::new(),
            empty: OnceLock::new(),
        }
    }
}

/// The merge types of a built-in kind, from the recorded OpenAPI.
fn merge_types(api_version: &str, kind: &str) -> TypeRef {
    let openapi = recorded::openapi();
    openapi
        .schema_name(api_version, kind)
        .and_then(|root| TypeRef::from_openapi(root, |name| openapi.schema(name)).ok())
        .unwrap_or_else(TypeRef::deduced)
}

impl Shape for BuiltIn {
    fn decode(&self, document: Document) -> Result<Decoded, String> {
        let decoded = Types::recorded()
            .decode(&self.api_version, &self.kind, document)
            .map_err(|error| error.to_string())?;
        Ok(Decoded { value: decoded.value, problems: decoded.strict })
    }

    fn normalize(&self, value: &mut Value) {
        // Hooks keep objects well-typed; if one does not, the object stays as it is and fails validation.
        let _ = Types::recorded().normalize(&self.api_version, &self.kind, value);
    }

    fn settle(&self, value: &mut Value) {
        // Upstream stores these as JSON; everything else goes through protobuf.
        if self.kind != "CustomResourceDefinition" {
            Types::recorded().as_stored(&self.api_version, &self.kind, value);
        }
    }

    fn restore(&self, value: Value) -> Result<Decoded, String> {
        let decoded = Types::recorded()
            .restore(&self.api_version, &self.kind, value)
            .map_err(|error| error.to_string())?;
        Ok(Decoded { value: decoded.value, problems: decoded.strict })
    }

    fn served<'a>(&self, stored: &'a Value) -> Cow<'a, Value> {
        let served = conversion::served(&self.api_version, stored);
        let Some(hooks) = &self.reader else { return served };
        let mut served = served.into_owned();
        hooks.default(&mut served);
        Cow::Owned(served)
    }

    fn stored_form(&self, value: Value) -> Value {
        conversion::stored_form(value)
    }

    fn merge_types(&self) -> TypeRef {
        self.types.get_or_init(|| merge_types(&self.api_version, &self.kind)).clone()
    }

    fn versions(&self) -> &dyn Versions {
        &OneVersion
    }

    fn empty(&self) -> &Value {
        self.empty.get_or_init(|| {
            let mut empty = json!({"apiVersion": self.api_version, "kind": self.kind});
            self.normalize(&mut empty);
            empty
        })
    }

    fn strategic_merge(&self, object: &Value, patch: &Value) -> Option<Result<Value, PatchError>> {
        let schema = GoSchema::of(&self.api_version, &self.kind)?;
        Some(patch::strategic(object, patch, &schema))
    }
}
