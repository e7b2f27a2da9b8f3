//! The hooks of one kind: defaulting, strategy and validation.
//!
//! The generic code (`write`, `decode`) handles metadata, managed fields, storage and watches for all
//! kinds. A [`Kind`] implements what upstream's `defaults.go`, `strategy.go` and `validation.go`
//! implement for that type. Objects are plain JSON values that have been through the Go type table:
//! unknown fields are gone, quantities are canonical, empty `omitempty` fields are absent. The table
//! is applied once more after the hooks, so a hook may leave empty fields.
//!
//! One kind is one file below `kinds/<group>/`.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;
use sluice_schema::field::FieldError;

use crate::status::Status;
use crate::store::index::Term;

/// The request that a hook runs for.
pub struct Context<'a> {
    /// The present moment.
    pub now: Timestamp,
    /// The namespace of the request; empty for cluster-scoped kinds.
    pub namespace: &'a str,
    /// The endpoint: empty for the object itself, else `status`, `finalize` and so on.
    pub subresource: &'a str,
    /// The user the request runs as.
    pub user: &'a str,
    /// Whether the request is a dry run: nothing that it allocates may be kept.
    pub dry_run: bool,
    /// The rest of the cluster.
    pub view: &'a dyn ClusterView,
}

/// Read-only access to the rest of the cluster, with its random numbers.
pub trait ClusterView {
    /// The object, in its storage version.
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>>;
    /// All objects of a resource, of one namespace or (with `None`) of all, in key order.
    fn list(&self, group: &str, resource: &str, namespace: Option<&str>) -> Vec<Arc<Value>>;
    /// The objects of a resource that the index has under a term.
    fn holding(&self, group: &str, resource: &str, term: Term) -> Vec<Arc<Value>>;
    /// A number below `bound` from the cluster's seed.
    fn random(&self, bound: u64) -> u64;
}

/// The hooks of one kind. The default methods suit a kind without special rules.
pub trait Kind: Send + Sync {
    /// Sets defaults. Runs on every decode: create, update, patch result.
    fn default(&self, object: &mut Value) {
        let _ = object;
    }

    /// Runs before create: clears fields that users may not set, sets fields that the server owns. The
    /// generic code has already cleared the server's `metadata` fields; [`Kind::has_status`] decides
    /// here whether `status` is dropped.
    fn prepare_create(&self, context: &Context<'_>, object: &mut Value) -> Result<(), Status> {
        let _ = (context, object);
        Ok(())
    }

    /// Runs before an update of the main resource; `old` is the stored object.
    fn prepare_update(
        &self,
        context: &Context<'_>,
        object: &mut Value,
        old: &Value,
    ) -> Result<(), Status> {
        let _ = (context, object, old);
        Ok(())
    }

    /// Runs before an update through `/status`. The generic code has already restored `spec` and (for
    /// built-in kinds) nothing else.
    fn prepare_status_update(&self, context: &Context<'_>, object: &mut Value, old: &Value) {
        let _ = (context, object, old);
    }

    /// Validates a new object. Metadata is validated by the generic code.
    fn validate(&self, context: &Context<'_>, object: &Value) -> Vec<FieldError> {
        let _ = (context, object);
        Vec::new()
    }

    /// Validates a change, above all of immutable fields.
    fn validate_update(
        &self,
        context: &Context<'_>,
        object: &Value,
        old: &Value,
    ) -> Vec<FieldError> {
        let _ = old;
        self.validate(context, object)
    }

    /// Validates a change of the status.
    fn validate_status_update(
        &self,
        context: &Context<'_>,
        object: &Value,
        old: &Value,
    ) -> Vec<FieldError> {
        let _ = (context, object, old);
        Vec::new()
    }

    /// `Warning` headers for an object (upstream's `WarningsOnCreate`/`OnUpdate`).
    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let _ = (object, old);
        Vec::new()
    }

    /// Whether a stored object is defaulted when it is read. Upstream does so for every kind; it shows
    /// only where a field is removed between defaulting and storing: then the first update writes the
    /// value that reading has filled in.
    fn defaults_on_read(&self) -> bool {
        false
    }

    /// The rule for names; a DNS subdomain unless overridden.
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

    /// Whether a new object keeps its `status` although [`Kind::has_status`]; only nodes do.
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

    /// Whether an object without `metadata.finalizers` may be removed; namespaces have other finalizers.
    fn removable(&self, object: &Value) -> bool {
        let _ = object;
        true
    }

    /// Runs when deletion begins and the object remains (namespaces become `Terminating`).
    fn prepare_delete(&self, context: &Context<'_>, object: &mut Value) {
        let _ = (context, object);
    }

    /// The grace period in seconds; only pods have one.
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

    /// The error for a field selector with any other field.
    fn unsupported_field(&self, field: &str) -> String {
        if self.selectable_fields(&Value::Null).is_empty() {
            return format!(
                "{} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
                sluice_base::go::quote(field)
            );
        }
        format!("field label not supported: {field}")
    }
}

/// The rule for a kind's names.
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

/// A kind without special rules.
#[derive(Debug, Clone, Copy)]
pub struct Plain;

impl Kind for Plain {}
