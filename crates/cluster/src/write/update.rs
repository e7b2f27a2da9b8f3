//! Guarded update: applies a PUT, a patch, an apply or a controller's change to the newest object,
//! exactly once.

use std::sync::Arc;

use serde_json::{Map, Value};
use sluice_base::go::quote;
use sluice_schema::field::{FieldError, Path};

use super::{Writer, Written};
use crate::admission::{self, Operation};
use crate::status::Status;
use crate::store::{Refused, Stored};
use crate::{managed, metadata, validation};

/// The caller's assumption about the stored object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Precondition {
    /// The object carries the resource version it was made from; without one the update is
    /// unconditional, if the kind allows that (PUT).
    FromObject,
    /// The object was computed from the newest one; it conflicts only if the client set another
    /// resource version in it (patches).
    Computed,
}

/// The number of attempts after concurrent writes, before the caller gets a conflict.
const RACE_TRIES: usize = 32;

impl Writer<'_> {
    /// Replaces the object `name` by the result of `compute`, which gets the stored object in the version
    /// of the request, and runs again after a concurrent write. With `owned`, `compute` has set the
    /// managed fields itself (server-side apply).
    pub(crate) async fn update(
        &self,
        name: &str,
        precondition: Precondition,
        owned: bool,
        compute: &mut (dyn FnMut(&Value) -> Result<Value, Status> + Send),
    ) -> Result<Written, Status> {
        let resource = self.resource;
        for _ in 0..RACE_TRIES {
            let Some(stored) = self.state.store.get(&resource.storage, &self.key(name)) else {
                return Err(resource.not_found(name));
            };
            let old = resource.shape.served(&stored.value).into_owned();
            let wanted = compute(&old)?;
            let tried = self.update_once(name, precondition, owned, &stored, &old, wanted).await?;
            if let Some(written) = tried {
                return Ok(written);
            }
        }
        Err(Status::modified(&resource.group, &resource.plural, name))
    }

    /// One attempt; `None` means that another write came in between.
    async fn update_once(
        &self,
        name: &str,
        precondition: Precondition,
        owned: bool,
        stored: &Arc<Stored>,
        old: &Value,
        mut object: Value,
    ) -> Result<Option<Written>, Status> {
        let resource = self.resource;
        let given_version = metadata::text(&object, "resourceVersion").to_owned();
        if !owned {
            object = managed::track(self, old, object);
        }
        admission::admit(self, Operation::Update, name, Some(&mut object), Some(old)).await?;
        self.check_preconditions(name, precondition, &given_version, &object, old)?;
        self.prepare(&mut object, old)?;
        resource.shape.normalize(&mut object);
        let errors = self.problems(&object, old);
        if !errors.is_empty() {
            return Err(Status::invalid(&resource.storage.group, &resource.kind, name, &errors));
        }
        let warnings = resource.hooks.warnings(&object, Some(old));
        resource.shape.settle(&mut object);
        managed::revert_times(old, &mut object);
        // The first update writes what defaulting on read has filled in.
        let settled = !resource.hooks.defaults_on_read() || *stored.value == *old;
        if object == *old && settled {
            return Ok(Some(Written { object: Arc::new(old.clone()), warnings }));
        }
        let gone = metadata::is_terminating(&object)
            && metadata::finalizers(&object).next().is_none()
            && metadata::of(&object)
                .get("deletionGracePeriodSeconds")
                .and_then(Value::as_i64)
                .unwrap_or(0)
                == 0
            && resource.hooks.removable(&object);
        if self.dry_run {
            return Ok(Some(Written { object: Arc::new(object), warnings }));
        }
        let key = self.key(name);
        let result = if gone {
            // The update that removes the last finalizer is answered with the object as sent, not as deleted.
            self.state
                .store
                .delete(&resource.storage, &key, stored.revision)
                .map(|_| Arc::new(object))
        } else {
            let value = resource.shape.stored_form(object);
            self.state
                .store
                .update(&resource.storage, &key, stored.revision, value)
                .map(|stored| Arc::new(resource.shape.served(&stored.value).into_owned()))
        };
        match result {
            Ok(object) => Ok(Some(Written { object, warnings })),
            Err(Refused::Missing | Refused::Exists) => Err(resource.not_found(name)),
            Err(Refused::Stale)
                if precondition == Precondition::FromObject && !given_version.is_empty() =>
            {
                Err(Status::modified(&resource.group, &resource.plural, name))
            }
            Err(Refused::Stale) => Ok(None),
        }
    }

    fn check_preconditions(
        &self,
        name: &str,
        precondition: Precondition,
        given_version: &str,
        object: &Value,
        old: &Value,
    ) -> Result<(), Status> {
        let resource = self.resource;
        let given_uid = metadata::uid(object);
        // A patch that changes the uid fails validation; a PUT means an object that is gone.
        let meant = precondition == Precondition::FromObject && !given_uid.is_empty();
        if meant && given_uid != metadata::uid(old) {
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {given_uid}, UID in object meta: {}",
                self.storage_path(name),
                metadata::uid(old)
            );
            return Err(Status::conflict(&resource.group, &resource.plural, name, &why));
        }
        if given_version.is_empty() || given_version == "0" {
            if precondition == Precondition::FromObject
                && !resource.hooks.allows_unconditional_update()
            {
                let path = Path::new("metadata").child("resourceVersion");
                let error = FieldError::invalid(&path, 0, "must be specified for an update");
                // Upstream's message has the resource here, elsewhere the kind.
                return Err(Status::invalid(&resource.group, &resource.plural, name, &[error]));
            }
            return Ok(());
        }
        if given_version.parse::<u64>().is_err() {
            let message =
                format!("strconv.ParseUint: parsing {}: invalid syntax", quote(given_version));
            return Err(Status::new(500, "", message));
        }
        if given_version != metadata::text(old, "resourceVersion") {
            return Err(Status::modified(&resource.group, &resource.plural, name));
        }
        Ok(())
    }

    /// Restores fields that this endpoint may not change; the kind's hook does the same.
    fn prepare(&self, object: &mut Value, old: &Value) -> Result<(), Status> {
        let resource = self.resource;
        if !resource.namespaced {
            metadata::set(object, "namespace", Value::Null);
        }
        metadata::copy(object, old, "generation");
        if metadata::uid(object).is_empty() {
            metadata::copy(object, old, "uid");
        }
        metadata::copy(object, old, "creationTimestamp");
        // Absent means unchanged; validation rejects anything else.
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
            if metadata::of(object).get(field).is_none_or(Value::is_null) {
                metadata::copy(object, old, field);
            }
        }
        metadata::set(object, "selfLink", Value::Null);
        metadata::copy(object, old, "resourceVersion");
        let context = self.context();
        if self.subresource == "status" {
            keep_all_but_status(object, old, resource.shape.is_custom());
            resource.hooks.prepare_status_update(&context, object, old);
            return Ok(());
        }
        if self.subresource == "binding" {
            return Ok(());
        }
        if resource.hooks.has_status() && self.subresource.is_empty() {
            restore(object, old, "status");
        }
        resource.hooks.prepare_update(&context, object, old)?;
        resource.shape.normalize(object);
        if resource.hooks.has_generation() && resource.hooks.changes_generation(object, old) {
            let generation =
                metadata::of(old).get("generation").and_then(Value::as_i64).unwrap_or(0);
            metadata::set(object, "generation", generation + 1);
        }
        Ok(())
    }

    fn problems(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let resource = self.resource;
        let root = Path::new("metadata");
        let null = Value::Null;
        let mut errors = validation::metadata::object_meta_update(
            object.get("metadata").unwrap_or(&null),
            old.get("metadata").unwrap_or(&null),
            &root,
        );
        // Upstream's strategies validate the metadata once more; messages appear once, causes twice.
        errors.extend(errors.clone());
        let context = self.context();
        errors.extend(match self.subresource {
            "status" => resource.hooks.validate_status_update(&context, object, old),
            // A binding sets fields that are otherwise immutable.
            "binding" => Vec::new(),
            _ => resource.hooks.validate_update(&context, object, old),
        });
        errors
    }
}

/// Restores everything but the status; of built-in kinds, labels, annotations and other metadata may
/// change as well.
fn keep_all_but_status(object: &mut Value, old: &Value, custom: bool) {
    let Some(fields) = object.as_object_mut() else { return };
    let Some(old_fields) = old.as_object() else { return };
    let mut kept: Map<String, Value> = old_fields.clone();
    match fields.remove("status") {
        Some(status) => kept.insert("status".to_owned(), status),
        None => kept.remove("status"),
    };
    let metadata = fields.remove("metadata").unwrap_or_default();
    if custom {
        if let Some(target) = kept.get_mut("metadata").and_then(Value::as_object_mut) {
            match metadata.get("managedFields") {
                Some(entries) => target.insert("managedFields".to_owned(), entries.clone()),
                None => target.remove("managedFields"),
            };
        }
    } else {
        kept.insert("metadata".to_owned(), metadata);
    }
    *fields = kept;
}

fn restore(object: &mut Value, old: &Value, field: &str) {
    let Some(fields) = object.as_object_mut() else { return };
    match old.get(field) {
        Some(value) => fields.insert(field.to_owned(), value.clone()),
        None => fields.remove(field),
    };
}
