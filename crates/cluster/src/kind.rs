//! What is special about one kind: the hand-written half of an API type.
//!
//! The generic half (decoding, metadata, managed fields, storage, watches) is the same for every
//! kind and lives in `verbs`. A [`Kind`] answers what upstream's `defaults.go`, `strategy.go` and
//! `validation.go` answer for that type. Objects are plain JSON values that have already been
//! through the Go type table: unknown fields are gone, quantities are canonical, empty `omitempty`
//! fields are absent. After the hooks ran, the same pass runs again, so a hook may leave empties.
//!
//! One kind is one file below `kinds/<group>/`.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;
use sluice_schema::field::FieldError;

use crate::status::Status;
use crate::store::index::Term;

/// What a hook may know about the request it serves.
pub struct Context<'a> {
    /// The present moment.
    pub now: Timestamp,
    /// The namespace of the request; empty for cluster-scoped kinds.
    pub namespace: &'a str,
    /// The endpoint: empty for the object itself, else `status`, `finalize` and so on.
    pub subresource: &'a str,
    /// The user the request runs as.
    pub user: &'a str,
    /// Nothing that this request allocates may be kept.
    pub dry_run: bool,
    /// The rest of the cluster.
    pub view: &'a dyn ClusterView,
}

/// A read-only look at the rest of the cluster, and its sources of chance and of addresses.
pub trait ClusterView {
    /// The object, in its storage version.
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>>;
    /// All objects of a resource, of one namespace or (with `None`) of all, in key order.
    fn list(&self, group: &str, resource: &str, namespace: Option<&str>) -> Vec<Arc<Value>>;
    /// The objects of a resource that are found by a term.
    fn holding(&self, group: &str, resource: &str, term: Term) -> Vec<Arc<Value>>;
    /// A number below `bound` from the cluster's seed.
    fn random(&self, bound: u64) -> u64;
}

/// The hooks of one kind. Every method has the behaviour of a kind without peculiarities.
pub trait Kind: Send + Sync {
    /// Fills in what the author left out. Runs on every decode: create, update, patch result.
    fn default(&self, object: &mut Value) {
        let _ = object;
    }

    /// Before create: clears what users may not set, derives what the server owns. The generic code
    /// has already cleared `metadata` server fields; whether `status` is dropped is decided here by
    /// [`Kind::has_status`].
    fn prepare_create(&self, context: &Context<'_>, object: &mut Value) -> Result<(), Status> {
        let _ = (context, object);
        Ok(())
    }

    /// Before an update of the main resource; `old` is what is stored.
    fn prepare_update(
        &self,
        context: &Context<'_>,
        object: &mut Value,
        old: &Value,
    ) -> Result<(), Status> {
        let _ = (context, object, old);
        Ok(())
    }

    /// Before an update through `/status`. The generic code has already put back `spec` and (for
    /// built-in kinds) nothing else.
    fn prepare_status_update(&self, context: &Context<'_>, object: &mut Value, old: &Value) {
        let _ = (context, object, old);
    }

    /// What is wrong with a new object. Metadata is validated by the generic code.
    fn validate(&self, context: &Context<'_>, object: &Value) -> Vec<FieldError> {
        let _ = (context, object);
        Vec::new()
    }

    /// What is wrong with a change; immutable fields above all.
    fn validate_update(
        &self,
        context: &Context<'_>,
        object: &Value,
        old: &Value,
    ) -> Vec<FieldError> {
        let _ = old;
        self.validate(context, object)
    }

    /// What is wrong with a change of the status.
    fn validate_status_update(
        &self,
        context: &Context<'_>,
        object: &Value,
        old: &Value,
    ) -> Vec<FieldError> {
        let _ = (context, object, old);
        Vec::new()
    }

    /// `Warning` headers that an object earns (upstream's `WarningsOnCreate`/`OnUpdate`).
    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let _ = (object, old);
        Vec::new()
    }

    /// Whether defaults are also filled in when a stored object is read. Upstream does so for every
    /// kind; it shows only where something is taken away between defaulting and storing, and then
    /// the first update writes what reading had filled in.
    fn defaults_on_read(&self) -> bool {
        false
    }

    /// How names are checked; the default is a DNS subdomain.
    fn name_rule(&self) -> NameRule {
        NameRule::Subdomain
    }

    /// Whether a PUT without `resourceVersion` overwrites (upstream's `AllowUnconditionalUpdate`).
    fn allows_unconditional_update(&self) -> bool {
        true
    }

    /// Whether a PUT may create.
    fn allows_create_on_update(&self) -> bool {
        false
    }

    /// Whether the main endpoint ignores `status` (and `/status` ignores the rest).
    fn has_status(&self) -> bool {
        false
    }

    /// Whether a new object keeps the `status` it came with although [`Kind::has_status`]; only
    /// nodes do.
    fn keeps_status_on_create(&self) -> bool {
        false
    }

    /// Whether `metadata.generation` counts changes: starts at 1 and grows when anything but
    /// metadata and status changes.
    fn has_generation(&self) -> bool {
        false
    }

    /// Whether a change counts for `metadata.generation`; the default looks at everything but
    /// metadata and, where the main endpoint ignores it, status.
    fn changes_generation(&self, object: &Value, old: &Value) -> bool {
        let counts = |(name, _): &(&String, &Value)| {
            !matches!(name.as_str(), "metadata" | "apiVersion" | "kind")
                && (name.as_str() != "status" || !self.has_status())
        };
        let (Some(new), Some(old)) = (object.as_object(), old.as_object()) else {
            return object != old;
        };
        !new.iter().filter(counts).eq(old.iter().filter(counts))
    }

    /// Whether an object without finalizers in its metadata may go; namespaces have others.
    fn removable(&self, object: &Value) -> bool {
        let _ = object;
        true
    }

    /// Once deletion has begun and the object lingers (namespaces turn `Terminating`).
    fn prepare_delete(&self, context: &Context<'_>, object: &mut Value) {
        let _ = (context, object);
    }

    /// Seconds between delete and removal; only pods have any.
    fn grace_period(&self, object: &Value) -> Option<i64> {
        let _ = object;
        None
    }

    /// The fields beyond `metadata.name` and `metadata.namespace` that field selectors may name,
    /// with this object's values.
    fn selectable_fields(&self, object: &Value) -> Vec<(Cow<'static, str>, String)> {
        let _ = object;
        Vec::new()
    }

    /// What to say to a selector by a field that is not among them.
    fn unsupported_field(&self, field: &str) -> String {
        if self.selectable_fields(&Value::Null).is_empty() {
            return format!(
                "{} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
                sluice_base::gojson::quote(field)
            );
        }
        format!("field label not supported: {field}")
    }
}

/// How a kind's names are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// RFC 1123 subdomain.
    Subdomain,
    /// RFC 1123 label.
    Label,
    /// RFC 1035 label (Services).
    Label1035,
    /// Any path segment (RBAC).
    PathSegment,
}

/// A kind without peculiarities.
#[derive(Debug, Clone, Copy)]
pub struct Plain;

impl Kind for Plain {}
