//! A served resource: one version of one kind, with everything that the generic code needs.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use sluice_schema::gotypes::Document;
use sluice_schema::patch::PatchError;
use sluice_schema::smd::{TypeRef, Versions};

use crate::kind::Kind;
use crate::status::Status;
use crate::store::GroupResource;
use crate::table::Columns;

/// The handling of unknown and duplicate fields (`fieldValidation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum FieldValidation {
    Ignore,
    #[default]
    Warn,
    Strict,
}

/// A decoded object, with the problems found on the way.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) value: Value,
    /// Messages such as `unknown field "spec.x"`.
    pub(crate) problems: Vec<String>,
}

/// Decoding, normalising, merging and converting objects of a type. Built-in kinds use the table of
/// Go types, custom kinds their structural schema.
pub(crate) trait Shape: Send + Sync {
    /// Decodes an object: drops unknown fields, makes values canonical.
    fn decode(&self, document: Document) -> Result<Decoded, String>;

    /// Makes an object canonical again after hooks have changed it.
    fn normalize(&self, value: &mut Value);

    /// Removes fields that are not stored.
    fn settle(&self, value: &mut Value) {
        let _ = value;
    }

    /// Decodes the result of a strategic merge; like [`Shape::decode`], with other error texts.
    fn restore(&self, value: Value) -> Result<Decoded, String> {
        self.decode(value.into())
    }

    /// Converts a stored object to this version.
    fn served<'a>(&self, stored: &'a Value) -> Cow<'a, Value> {
        Cow::Borrowed(stored)
    }

    /// Converts an object of this version to the storage version.
    fn stored_form(&self, value: Value) -> Value {
        value
    }

    /// The schema for server-side apply in this version.
    fn merge_types(&self) -> TypeRef;

    /// The other versions of the kind, for managed fields that were recorded in them.
    fn versions(&self) -> &dyn Versions;

    /// The empty object of the kind.
    fn empty(&self) -> &Value;

    /// Applies a strategic merge patch; `None` if the kind has no merge keys (custom kinds).
    fn strategic_merge(&self, object: &Value, patch: &Value) -> Option<Result<Value, PatchError>>;

    /// Whether the kind is custom: its status endpoint also restores metadata.
    fn is_custom(&self) -> bool {
        false
    }

    /// The JSON paths of the scale subresource.
    fn scale_paths(&self) -> Option<ScalePaths> {
        None
    }
}

/// JSON paths of a scale subresource, such as `.spec.replicas`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScalePaths {
    pub(crate) spec: String,
    pub(crate) status: String,
    pub(crate) selector: Option<String>,
}

/// A subresource in discovery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subresource {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) verbs: Vec<String>,
}

/// One served version of one resource.
pub(crate) struct Resource {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) namespaced: bool,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) verbs: Vec<String>,
    pub(crate) subresources: BTreeMap<String, Subresource>,
    /// The resource that objects are stored under; `events.k8s.io` shares the core group's.
    pub(crate) storage: GroupResource,
    pub(crate) hooks: Arc<dyn Kind>,
    pub(crate) shape: Arc<dyn Shape>,
    pub(crate) columns: Columns,
    /// The `Warning` header of a deprecated version.
    pub(crate) deprecation: Option<String>,
    /// `storageVersionHash` of discovery.
    pub(crate) storage_hash: Option<String>,
    /// The revision of the definition that a custom resource was made from; 0 for built-in ones.
    pub(crate) definition: u64,
}

impl Resource {
    /// `v1` or `group/version`.
    pub(crate) fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// Whether the resource supports `verb`.
    pub(crate) fn allows(&self, verb: &str) -> bool {
        self.verbs.iter().any(|allowed| allowed == verb)
    }

    /// 404 for an object of this resource.
    pub(crate) fn not_found(&self, name: &str) -> Status {
        Status::not_found(&self.group, &self.plural, name)
    }
}

/// `v1` for the core group, else `group/version`.
pub(crate) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}
