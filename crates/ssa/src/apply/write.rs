//! Writes one object: cleans up or deletes it, then applies it.

use serde_json::Value;
use sluice_base::place::Place;

use super::check::without_managed_fields;
use super::{Applier, ApplyOptions};
use crate::change::{Action, Change};
use crate::contest::Contest;
use crate::failure::Failure;
use crate::object::ObjectKey;
use crate::prune::Propagation;
use crate::resource::Resource;
use sluice_runtime::class::ErrorClass;

/// An object to write.
pub(super) struct Pending {
    pub(super) key: ObjectKey,
    pub(super) resource: Resource,
    pub(super) payload: Value,
    /// The live object.
    pub(super) live: Option<Value>,
    /// The result of the dry run; absent if the object has to be deleted first.
    pub(super) merged: Option<Value>,
    /// The patch that takes over fields.
    pub(super) cleanup: Option<Value>,
    /// The digest of the desired object, if requested.
    pub(super) digest: Option<u64>,
    /// The foreign managers that lose fields.
    pub(super) contest: Option<Contest>,
    /// Where the object is written.
    pub(super) place: Option<Place>,
}

impl Pending {
    /// An object that does not exist.
    pub(super) fn create(
        resource: Resource,
        payload: Value,
        merged: Value,
        digest: Option<u64>,
    ) -> Self {
        let key = ObjectKey::of(&merged);
        Self { merged: Some(merged), ..Self::recreate(key, resource, payload, None, digest) }
    }

    /// An object that is deleted and created again.
    pub(super) fn recreate(
        key: ObjectKey,
        resource: Resource,
        payload: Value,
        live: Option<Value>,
        digest: Option<u64>,
    ) -> Self {
        Self {
            key,
            resource,
            payload,
            live,
            merged: None,
            cleanup: None,
            digest,
            contest: None,
            place: None,
        }
    }
}

impl Applier {
    pub(super) async fn write(
        &self,
        pending: Pending,
        options: &ApplyOptions,
    ) -> Result<Change, Failure> {
        let place = pending.place.clone();
        match self.write_pending(pending, options).await {
            Ok(change) => Ok(Change { place, ..change }),
            Err(failure) => Err(Failure { place, ..failure }),
        }
    }

    async fn write_pending(
        &self,
        pending: Pending,
        options: &ApplyOptions,
    ) -> Result<Change, Failure> {
        let Pending {
            key, resource, mut payload, mut live, merged, cleanup, digest, contest, ..
        } = pending;
        if let Some(patch) = cleanup {
            let cleaned = self.patch(&resource, &key, &patch).await.map_err(|error| {
                Failure::of(&key, "metadata.managedFields cleanup failed", &error)
            })?;
            live = Some(cleaned);
        }
        let action = match &merged {
            None => {
                self.remove(&key, &resource, live.as_ref(), options).await?;
                Action::Created
            }
            Some(merged) if merged.pointer("/metadata/resourceVersion").is_none() => {
                Action::Created
            }
            Some(merged) => {
                if let Some(live) = &live {
                    options.ignore.adapt(&mut payload, live, merged, &self.owner.field_manager);
                }
                Action::Configured
            }
        };
        let manager = &self.owner.field_manager;
        match resource.apply(&self.client, &payload, manager, false).await {
            Ok(applied) => Ok(Change {
                imprint: self.imprint(&applied, digest, options),
                contest,
                ..Change::new(ObjectKey::of(&applied), action)
            }
            .with_state(without_managed_fields(applied))),
            // Without a dry run, this is the first validation of the recreated object.
            Err(error) if merged.is_none() => Err(Failure::dry_run(&key, &error)),
            Err(error) => Err(Failure::of(&key, "apply failed", &error)),
        }
    }

    /// Deletes an object with changed immutable fields, and waits until it is gone.
    async fn remove(
        &self,
        key: &ObjectKey,
        resource: &Resource,
        live: Option<&Value>,
        options: &ApplyOptions,
    ) -> Result<(), Failure> {
        let uid = live.and_then(|live| live.pointer("/metadata/uid")).and_then(Value::as_str);
        let name = (key.id.namespace.as_str(), key.id.name.as_str());
        let background = Propagation::Background.as_str();
        match resource.delete(&self.client, name, uid, background).await {
            Err(error) if !error.is_not_found() => {
                let what = "immutable field detected, failed to delete object";
                return Err(Failure::of(key, what, &error));
            }
            _ => {}
        }
        let keys = std::slice::from_ref(key);
        self.until_gone(keys, options.wait_timeout).await.map_err(|_| Failure {
            object: Some(key.clone()),
            class: ErrorClass::Dependency,
            message: format!(
                "{key} immutable field detected, failed to wait for object to be deleted: \
                 context deadline exceeded"
            ),
            place: None,
        })
    }
}
