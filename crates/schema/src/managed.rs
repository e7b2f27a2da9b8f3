//! `metadata.managedFields`: keeping it through updates, and server-side apply.
//!
//! The behaviour is that of k8s.io/apimachinery/pkg/util/managedfields around [`crate::smd`]:
//!
//! - [`update`] is for every write that brings a whole object (create, replace, patches), and
//!   [`apply`] merges a configuration. Both return the object with its new entries.
//! - [`scale_entries`] and [`parent_entries`] carry ownership to the scale subresource and back.
//! - [`object_json`] and [`list_json`] print objects with `fieldsV1` in upstream's order.
//!
//! Objects come in as the server would write them in the request's version: for a built-in kind with
//! exactly the fields its Go type writes. What [`apply`] returns may hold nulls where something was
//! emptied; a built-in kind drops them on the way through its type, a custom resource on defaulting.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::smd::{
    ConvertError, Duplicates, FieldSet, Filter, TypeRef, UpdateError, Updater, Versions,
};

mod cap;
mod conflict;
mod entries;
mod last_applied;
mod reset;
mod scale;
#[cfg(test)]
mod tests;
mod time;
mod unchanged;
mod write;

pub use reset::reset_filters;
pub use scale::{ReplicasPaths, parent_entries, scale_entries};
pub use unchanged::revert_times;
pub use write::{list_json, object_json};

use entries::{Managed, Operation};
use time::Time;

/// A write to an object.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The type of the kind in the request's version.
    pub types: &'a TypeRef,
    /// The kind's other versions.
    pub versions: &'a dyn Versions,
    /// The request's version.
    pub api_version: &'a str,
    /// The kind.
    pub kind: &'a str,
    /// The subresource, or nothing.
    pub subresource: &'a str,
    /// The writer: the field manager of the request, or the first word of its user agent.
    pub manager: &'a str,
    /// The time, as RFC 3339.
    pub now: &'a str,
    /// Per version, what this endpoint lets anybody own (for built-in kinds: [`reset_filters`]).
    pub filters: &'a BTreeMap<String, Filter>,
    /// An object of the kind before anything is set: what a built-in kind's empty Go value writes, or
    /// `apiVersion` and `kind` for a custom resource.
    pub empty: &'a Value,
}

/// Why a write failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// 409: others own what would change.
    #[error("{}", .0.message)]
    Conflict(ConflictError),
    /// 400: the configuration cannot be applied here.
    #[error("{0}")]
    BadRequest(String),
    /// 500: an object does not have its type.
    #[error("{0}")]
    Internal(String),
}

/// The conflicts of an apply, with upstream's messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictError {
    /// The message of the Status.
    pub message: String,
    /// One per field, with the reason `FieldManagerConflict`.
    pub causes: Vec<ConflictCause>,
}

/// One field that stands against an apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictCause {
    /// The path of the field.
    pub field: String,
    /// The message, which names the manager.
    pub message: String,
}

/// A kind with one version.
pub struct OneVersion;

impl Versions for OneVersion {
    fn types(&self, _: &str) -> Option<TypeRef> {
        None
    }

    fn convert(&self, _: &Value, _: &str) -> Result<Value, ConvertError> {
        Err(ConvertError::MissingVersion)
    }
}

/// The versions of a custom resource, which differ in nothing but their names.
pub struct CustomVersions {
    /// The types by `group/version`.
    pub types: BTreeMap<String, TypeRef>,
}

impl Versions for CustomVersions {
    fn types(&self, api_version: &str) -> Option<TypeRef> {
        self.types.get(api_version).cloned()
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, ConvertError> {
        if !self.types.contains_key(api_version) {
            return Err(ConvertError::Failed(format!(
                "request to convert CR to an invalid group/version: {api_version}"
            )));
        }
        let mut object = object.clone();
        if let Value::Object(fields) = &mut object {
            fields.insert("apiVersion".to_owned(), Value::String(api_version.to_owned()));
        }
        Ok(object)
    }
}

/// `new` with the entries of a write that replaces `live`; `live` is [`Request::empty`] on creation.
///
/// Like upstream, a write never fails for its entries: if ownership cannot be computed, there is none.
#[must_use]
pub fn update(request: &Request<'_>, live: &Value, mut new: Value) -> Value {
    if try_update(request, live, &mut new).is_err() {
        entries::remove_entries(&mut new);
    }
    new
}

/// [`update`] in place, with the error.
pub fn try_update(request: &Request<'_>, live: &Value, new: &mut Value) -> Result<(), Error> {
    let live_entries = || {
        let entries = entries::entries_of(live).unwrap_or_default();
        entries::decode(entries).unwrap_or_default()
    };
    // Managed fields in a request replace the entries, but not through a subresource.
    let mut managed = match entries::entries_of(new) {
        Some(entries) if request.subresource.is_empty() => {
            if entries::is_reset(entries) {
                Managed::default()
            } else {
                match entries::decode(entries) {
                    Ok(managed) if !managed.fields.is_empty() => managed,
                    _ => live_entries(),
                }
            }
        }
        _ => live_entries(),
    };
    entries::remove_entries(new);
    // An object without entries stays without them; only creation starts tracking.
    let exists = live
        .get("metadata")
        .and_then(|metadata| metadata.get("uid"))
        .and_then(Value::as_str)
        .is_some_and(|uid| !uid.is_empty());
    if !managed.fields.is_empty() || !exists {
        track_update(request, live, new, &mut managed, request.manager)?;
    }
    entries::set_entries(new, entries::encode(&managed));
    Ok(())
}

/// The live object after `patch` is applied to it; `live` is [`Request::empty`] on creation.
pub fn apply(
    request: &Request<'_>,
    live: &Value,
    patch: &Value,
    force: bool,
) -> Result<Value, Error> {
    let mut managed = entries::decode(entries::entries_of(live).unwrap_or_default())
        .map_err(|why| Error::Internal(format!("failed to decode managed fields: {why}")))?;
    let patch_version = text(patch, "apiVersion");
    if patch_version != request.api_version || text(patch, "kind") != request.kind {
        return Err(Error::BadRequest(format!("invalid object type: {}", type_text(patch))));
    }
    let live = entries::without_entries(live);
    if managed.fields.is_empty() {
        track_update(request, request.empty, &live, &mut managed, "before-first-apply").map_err(
            |error| {
                Error::Internal(format!("failed to create manager for existing fields: {error}"))
            },
        )?;
    }
    if patch
        .get("metadata")
        .and_then(|metadata| metadata.get("managedFields"))
        .is_some_and(Value::is_array)
    {
        return Err(Error::BadRequest("metadata.managedFields must be nil".to_owned()));
    }
    request.types.validate(patch, Duplicates::Refused).map_err(|faults| {
        Error::Internal(format!(
            "failed to create typed patch object ({}): {faults}",
            object_text(patch)
        ))
    })?;
    request.types.validate(&live, Duplicates::Allowed).map_err(|faults| {
        Error::Internal(format!(
            "failed to create typed live object ({}): {faults}",
            object_text(&live)
        ))
    })?;

    let manager = request.identity(request.manager, Operation::Apply);
    let merge = |force: bool| {
        let mut attempt = request.updater().apply(
            &live,
            patch,
            request.api_version,
            request.types,
            managed.fields.clone(),
            &manager,
            force,
        );
        if let Ok((_, managers)) = &mut attempt {
            strip(managers, &manager);
        }
        attempt
    };
    let mut outcome = merge(force);
    if request.manager == last_applied::MANAGER
        && let Err(UpdateError::Conflicts(conflicts)) = &outcome
        && let Some(left) =
            last_applied::unexcused(&live, request.api_version, request.types, conflicts)
    {
        outcome = if left.is_empty() { merge(true) } else { Err(UpdateError::Conflicts(left)) };
    }
    let (object, managers) = outcome.map_err(|error| match error {
        UpdateError::Conflicts(conflicts) => Error::Conflict(conflict::error(&conflicts)),
        UpdateError::Failed(why) => Error::Internal(why),
    })?;
    managed.fields = managers;
    let mut object = match object {
        Some(object) => {
            managed.stamp(manager, request.now);
            object
        }
        None => live,
    };
    if request.manager == last_applied::MANAGER {
        last_applied::refresh(&mut object, patch);
    }
    entries::set_entries(&mut object, entries::encode(&managed));
    Ok(object)
}

/// Whether these are valid entries, which admission must leave behind.
pub fn validate_entries(entries: &[Value]) -> Result<(), String> {
    entries::decode(entries).map(|_| ())
}

impl Request<'_> {
    fn updater(&self) -> Updater<'_> {
        Updater { versions: self.versions, filters: self.filters }
    }

    fn identity(&self, manager: &str, operation: Operation) -> String {
        let manager = if manager.is_empty() { "unknown" } else { manager };
        entries::identity(manager, operation, self.api_version, self.subresource)
    }
}

impl Managed {
    fn stamp(&mut self, manager: String, now: &str) {
        if let Some(time) = Time::parse(now) {
            self.times.insert(manager, time);
        }
    }
}

/// Gives the manager what changes from `live` to `new`.
fn track_update(
    request: &Request<'_>,
    live: &Value,
    new: &Value,
    managed: &mut Managed,
    manager: &str,
) -> Result<(), Error> {
    // Under a name of its own at first: whether this very write changed anything decides the time.
    const SELF: &str = "current-operation";
    for (object, which) in [(new, "new"), (live, "live")] {
        request.types.validate(object, Duplicates::Allowed).map_err(|faults| {
            Error::Internal(format!(
                "failed to convert {which} object ({}) to smd typed: {faults}",
                object_text(object)
            ))
        })?;
    }
    let managers = std::mem::take(&mut managed.fields);
    let mut managers = request
        .updater()
        .update(live, new, request.api_version, request.types, managers, SELF)
        .map_err(|error| match error {
            UpdateError::Conflicts(conflicts) => Error::Conflict(conflict::error(&conflicts)),
            UpdateError::Failed(why) => Error::Internal(format!(
                "failed to update ManagedFields ({}): {why}",
                object_text(new)
            )),
        })?;
    strip(&mut managers, SELF);
    if let Some(mut own) = managers.remove(SELF) {
        let manager = request.identity(manager, Operation::Update);
        if let Some(before) = managers.remove(&manager) {
            own.set = own.set.union(&before.set);
        }
        managers.insert(manager.clone(), own);
        managed.stamp(manager, request.now);
    }
    managed.fields = managers;
    cap::cap_updaters(managed);
    Ok(())
}

/// Removes fields that are never owned from a manager.
fn strip(managers: &mut crate::smd::Managers, manager: &str) {
    use std::sync::LazyLock;
    static STRIPPED: LazyLock<FieldSet> = LazyLock::new(|| {
        FieldSet::of_fields(&[
            &["apiVersion"],
            &["kind"],
            &["metadata"],
            &["metadata", "name"],
            &["metadata", "namespace"],
            &["metadata", "creationTimestamp"],
            &["metadata", "selfLink"],
            &["metadata", "uid"],
            &["metadata", "clusterName"],
            &["metadata", "generation"],
            &["metadata", "managedFields"],
            &["metadata", "resourceVersion"],
        ])
    });
    if let Some(owned) = managers.get_mut(manager) {
        owned.set = owned.set.difference(&STRIPPED);
        if owned.set.is_empty() {
            managers.remove(manager);
        }
    }
}

fn text<'v>(object: &'v Value, name: &str) -> &'v str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The type of an object as upstream prints it: `apps/v1, Kind=Deployment`, `/v1, Kind=Pod`.
fn type_text(object: &Value) -> String {
    let api_version = text(object, "apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    format!("{group}/{version}, Kind={}", text(object, "kind"))
}

/// An object as upstream names it in errors: `namespace/name; type`.
fn object_text(object: &Value) -> String {
    let meta = |name: &str| {
        object.get("metadata").map(|metadata| text(metadata, name)).unwrap_or_default()
    };
    format!("{}/{}; {}", meta("namespace"), meta("name"), type_text(object))
}
