//! Create: system fields, ownership, admission, hooks, validation, storage.

use std::sync::Arc;

use serde_json::Value;
use sluice_base::time;
use sluice_schema::field::{FieldError, Path};

use super::{Writer, Written};
use crate::admission::{self, Operation};
use crate::status::Status;
use crate::store::Refused;
use crate::{managed, metadata, validation};

/// The number of attempts to generate a free name.
const NAME_TRIES: usize = 8;
/// The longest prefix of a generated name; five letters follow.
const LONGEST_PREFIX: usize = 58;

/// Fields that only the server sets; a client's values are dropped first.
const SYSTEM_FIELDS: [&str; 6] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "resourceVersion",
    "selfLink",
    "uid",
];

impl Writer<'_> {
    /// Stores a new object that has been decoded and defaulted. With `owned`, the caller has already set
    /// the managed fields (server-side apply).
    pub(crate) async fn create(&self, object: Value, owned: bool) -> Result<Written, Status> {
        let mut object = object;
        self.check_namespace(&mut object)?;
        let generate = metadata::text(&object, "generateName").to_owned();
        let draws_name = metadata::name(&object).is_empty() && !generate.is_empty();
        let mut tries = 0;
        loop {
            let mut candidate = object.clone();
            if draws_name {
                let prefix: String = generate.chars().take(LONGEST_PREFIX).collect();
                metadata::set(
                    &mut candidate,
                    "name",
                    format!("{prefix}{}", self.state.random.suffix()),
                );
            }
            tries += 1;
            match self.create_once(candidate, owned).await {
                Err(status)
                    if draws_name && tries < NAME_TRIES && status.reason == "AlreadyExists" => {}
                other => return other,
            }
        }
    }

    async fn create_once(&self, mut object: Value, owned: bool) -> Result<Written, Status> {
        let resource = self.resource;
        let name = metadata::name(&object).to_owned();
        for field in SYSTEM_FIELDS {
            metadata::set(&mut object, field, Value::Null);
        }
        if !owned {
            object = managed::track(self, &Value::Null, object);
        }
        admission::admit(self, Operation::Create, &name, Some(&mut object), None).await?;
        let now = self.now();
        metadata::set(&mut object, "uid", self.state.random.uuid());
        metadata::set(&mut object, "creationTimestamp", time::format_seconds(now));
        if resource.hooks.has_generation() {
            metadata::set(&mut object, "generation", 1);
        }
        if resource.hooks.has_status()
            && !resource.hooks.keeps_status_on_create()
            && let Some(fields) = object.as_object_mut()
        {
            fields.remove("status");
        }
        let context = self.context();
        resource.hooks.prepare_create(&context, &mut object)?;
        resource.shape.normalize(&mut object);
        let root = Path::new("metadata");
        let rule = resource.hooks.name_rule();
        let mut errors: Vec<FieldError> = validation::metadata::object_meta(
            object.get("metadata").unwrap_or(&Value::Null),
            resource.namespaced,
            rule,
            &root,
        );
        errors.extend(resource.hooks.validate(&context, &object));
        if !errors.is_empty() {
            return Err(Status::invalid(&resource.storage.group, &resource.kind, &name, &errors));
        }
        let warnings = resource.hooks.warnings(&object, None);
        resource.shape.settle(&mut object);
        if self.dry_run {
            let key = self.key(&name);
            if self.state.store.get(&resource.storage, &key).is_some() {
                return Err(self.taken(&name));
            }
            let object = Arc::new(resource.shape.served(&object).into_owned());
            return Ok(Written { object, warnings });
        }
        let stored = resource.shape.stored_form(object);
        match self.state.store.create(&resource.storage, &self.key(&name), stored) {
            Ok(stored) => Ok(Written {
                object: Arc::new(resource.shape.served(&stored.value).into_owned()),
                warnings,
            }),
            Err(Refused::Exists | Refused::Missing | Refused::Stale) => Err(self.taken(&name)),
        }
    }

    /// 409: the name is taken, perhaps by an object that is being deleted.
    fn taken(&self, name: &str) -> Status {
        let resource = self.resource;
        let mut status = Status::already_exists(&resource.group, &resource.plural, name);
        let leaves = self
            .state
            .store
            .get(&resource.storage, &self.key(name))
            .is_some_and(|stored| metadata::is_terminating(&stored.value));
        if leaves {
            status.message = format!("object is being deleted: {}", status.message);
        }
        status
    }

    /// Requires the object's namespace to be the request's; drops it for cluster-scoped kinds.
    pub(crate) fn check_namespace(&self, object: &mut Value) -> Result<(), Status> {
        if !self.resource.namespaced {
            metadata::set(object, "namespace", Value::Null);
            return Ok(());
        }
        let given = metadata::namespace(object).to_owned();
        if given.is_empty() {
            metadata::set(object, "namespace", self.namespace);
        } else if given != self.namespace {
            return Err(Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        Ok(())
    }
}
