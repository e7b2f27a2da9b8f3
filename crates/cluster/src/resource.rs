//! A resource as it is served: one version of one kind, with everything the generic code asks.

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

/// What to do about fields that the type does not have, or that stand twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum FieldValidation {
    Ignore,
    #[default]
    Warn,
    Strict,
}

/// An object as read from a request, and what was wrong with it on the way.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) value: Value,
    /// `unknown field "spec.x"` and the like.
    pub(crate) problems: Vec<String>,
}

/// How objects of a type are read, written, compared and merged. Built-in kinds follow the table of
/// Go types, custom kinds their structural schema.
pub(crate) trait Shape: Send + Sync {
    /// Reads an object: drops what the type does not know, brings values into their canonical form.
    fn decode(&self, document: Document) -> Result<Decoded, String>;

    /// Brings an object that hooks have changed back into the form the wire shows.
    fn normalize(&self, value: &mut Value);

    /// Takes away what does not survive being stored.
    fn settle(&self, value: &mut Value) {
        let _ = value;
    }

    /// Reads an object that a strategic merge made; like [`Shape::decode`], in other words.
    fn restore(&self, value: Value) -> Result<Decoded, String> {
        self.decode(value.into())
    }

    /// A stored object in this version.
    fn served<'a>(&self, stored: &'a Value) -> Cow<'a, Value> {
        Cow::Borrowed(stored)
    }

    /// An object of this version as it is stored.
    fn stored_form(&self, value: Value) -> Value {
        value
    }

    /// The types that server-side apply merges by, in this version.
    fn merge_types(&self) -> TypeRef;

    /// The other versions of the kind, for ownership that was recorded in them.
    fn versions(&self) -> &dyn Versions;

    /// An object of the kind before anything is set.
    fn empty(&self) -> &Value;

    /// A strategic merge patch applied; `None` where the kind has no merge keys (custom kinds).
    fn strategic_merge(&self, object: &Value, patch: &Value) -> Option<Result<Value, PatchError>>;

    /// Whether the status endpoint keeps the rest of the object (custom kinds also keep metadata).
    fn is_custom(&self) -> bool {
        false
    }

    /// Where `scale` finds its numbers.
    fn scale_paths(&self) -> Option<ScalePaths> {
        None
    }
}

/// JSON paths of a scale subresource, as `.spec.replicas`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScalePaths {
    pub(crate) spec: String,
    pub(crate) status: String,
    pub(crate) selector: Option<String>,
}

/// A subresource as discovery lists it.
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
    /// Where the objects are filed; `events.k8s.io` shares with the core group.
    pub(crate) storage: GroupResource,
    pub(crate) hooks: Arc<dyn Kind>,
    pub(crate) shape: Arc<dyn Shape>,
    pub(crate) columns: Columns,
    /// The `Warning` that requests to a deprecated version earn.
    pub(crate) deprecation: Option<String>,
    /// `storageVersionHash` of discovery.
    pub(crate) storage_hash: Option<String>,
    /// The revision of the definition that a custom resource is made from; 0 for built-in ones.
    pub(crate) definition: u64,
}

impl Resource {
    /// `v1` or `group/version`.
    pub(crate) fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// Whether the resource answers to `verb` at all.
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
