//! Delete: preconditions, finalizers, propagation policies, the grace period of pods.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sluice_base::time;

use super::Writer;
use crate::admission::{self, Operation};
use crate::metadata;
use crate::status::Status;
use crate::store::{Refused, Stored};

/// The propagation policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Propagation {
    Orphan,
    Background,
    Foreground,
}

/// The options of a delete request.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) grace_period: Option<i64>,
    pub(crate) propagation: Option<Propagation>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
    /// The deprecated form of the policy, which changes the code of the response.
    pub(crate) orphan_dependents: Option<bool>,
}

impl DeleteOptions {
    /// Whether an object that remains is answered with 202, as for `orphanDependents: false`.
    pub(crate) fn old_style_foreground(&self) -> bool {
        self.orphan_dependents == Some(false)
    }
}

/// The result of a delete.
#[derive(Debug)]
pub(crate) enum Deleted {
    /// The object is removed; this was its last state.
    Gone(Arc<Value>),
    /// The object remains until finalizers are removed or the grace period is over.
    Lingers(Arc<Value>),
}

pub(crate) const FOREGROUND: &str = "foregroundDeletion";
pub(crate) const ORPHAN: &str = "orphan";
const RACE_TRIES: usize = 32;

impl Writer<'_> {
    /// Deletes an object, or begins to.
    pub(crate) async fn delete(
        &self,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<Deleted, Status> {
        let resource = self.resource;
        for _ in 0..RACE_TRIES {
            let Some(stored) = self.state.store.get(&resource.storage, &self.key(name)) else {
                return Err(resource.not_found(name));
            };
            let old = resource.shape.served(&stored.value).into_owned();
            self.check_delete(name, options, &old)?;
            admission::admit(self, Operation::Delete, name, None, Some(&old)).await?;
            if let Some(deleted) = self.delete_once(name, options, &stored, &old)? {
                return Ok(deleted);
            }
        }
        Err(Status::modified(&resource.group, &resource.plural, name))
    }

    fn check_delete(&self, name: &str, options: &DeleteOptions, old: &Value) -> Result<(), Status> {
        // Upstream's message has the kind here, not the resource.
        let conflict =
            |why: &str| Err(Status::conflict(&self.resource.group, &self.resource.kind, name, why));
        if let Some(uid) = &options.uid
            && uid != metadata::uid(old)
        {
            return conflict(&format!(
                "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted and then recreated",
                metadata::uid(old)
            ));
        }
        let version = metadata::text(old, "resourceVersion");
        if let Some(wanted) = &options.resource_version
            && wanted != version
        {
            return conflict(&format!(
                "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record ({version}). The object might have been modified"
            ));
        }
        Ok(())
    }

    fn delete_once(
        &self,
        name: &str,
        options: &DeleteOptions,
        stored: &Arc<Stored>,
        old: &Value,
    ) -> Result<Option<Deleted>, Status> {
        let resource = self.resource;
        let mut object = old.clone();
        let finalizers = self.finalizers_after(options, old);
        let had: Vec<&str> = metadata::finalizers(old).collect();
        if finalizers != had {
            let value = if finalizers.is_empty() { Value::Null } else { json!(finalizers) };
            metadata::set(&mut object, "finalizers", value);
        }
        let grace = self.grace(options, old);
        let lingers = !finalizers.is_empty() || grace > 0 || !resource.hooks.removable(&object);
        if lingers || resource.hooks.grace_period(old).is_some() {
            self.mark_terminating(&mut object, old, grace);
        }
        if lingers {
            resource.hooks.prepare_delete(&self.context(), &mut object);
        }
        if self.dry_run {
            let object = Arc::new(object);
            return Ok(Some(if lingers {
                Deleted::Lingers(object)
            } else {
                Deleted::Gone(object)
            }));
        }
        let key = self.key(name);
        if !lingers {
            return match self.state.store.delete(&resource.storage, &key, stored.revision) {
                Ok(last) => {
                    metadata::set(&mut object, "resourceVersion", last.revision.to_string());
                    Ok(Some(Deleted::Gone(Arc::new(object))))
                }
                Err(Refused::Stale) => Ok(None),
                Err(Refused::Missing | Refused::Exists) => Err(resource.not_found(name)),
            };
        }
        if object == *old {
            return Ok(Some(Deleted::Lingers(Arc::new(object))));
        }
        let value = resource.shape.stored_form(object);
        match self.state.store.update(&resource.storage, &key, stored.revision, value) {
            Ok(stored) => {
                let object = Arc::new(resource.shape.served(&stored.value).into_owned());
                Ok(Some(Deleted::Lingers(object)))
            }
            Err(Refused::Stale) => Ok(None),
            Err(Refused::Missing | Refused::Exists) => Err(resource.not_found(name)),
        }
    }

    /// The finalizers that the propagation policy adds, beside existing ones.
    fn finalizers_after<'o>(&self, options: &DeleteOptions, old: &'o Value) -> Vec<&'o str> {
        let had: Vec<&str> = metadata::finalizers(old).collect();
        let wants = match options.propagation {
            Some(policy) => policy,
            None if had.contains(&ORPHAN) => Propagation::Orphan,
            None if had.contains(&FOREGROUND) => Propagation::Foreground,
            None if self.orphans_by_default() => Propagation::Orphan,
            None => Propagation::Background,
        };
        let mut out: Vec<&str> =
            had.into_iter().filter(|name| *name != ORPHAN && *name != FOREGROUND).collect();
        match wants {
            Propagation::Orphan => out.push(ORPHAN),
            Propagation::Foreground => out.push(FOREGROUND),
            Propagation::Background => {}
        }
        out
    }

    /// Whether the kind orphans dependents by default, as kinds older than the garbage collector do.
    fn orphans_by_default(&self) -> bool {
        matches!(
            (self.resource.group.as_str(), self.resource.plural.as_str()),
            ("", "replicationcontrollers") | ("batch", "jobs")
        )
    }

    /// The grace period in seconds. A second delete can only shorten it.
    fn grace(&self, options: &DeleteOptions, old: &Value) -> i64 {
        let Some(own) = self.resource.hooks.grace_period(old) else { return 0 };
        let wanted = options.grace_period.unwrap_or(own).max(0);
        let pending = metadata::of(old).get("deletionGracePeriodSeconds").and_then(Value::as_i64);
        match pending {
            Some(pending) => wanted.min(pending),
            None => wanted,
        }
    }

    fn mark_terminating(&self, object: &mut Value, old: &Value, grace: i64) {
        let pending = metadata::of(old).get("deletionGracePeriodSeconds").and_then(Value::as_i64);
        if metadata::is_terminating(old) && pending.unwrap_or(0) <= grace {
            return;
        }
        let moment = self
            .now()
            .checked_add(Duration::from_secs(u64::try_from(grace).unwrap_or_default()))
            .unwrap_or(jiff::Timestamp::MAX);
        metadata::set(object, "deletionTimestamp", time::format_seconds(moment));
        // Upstream deletes namespaces by other code than the generic one, which is visible here.
        let is_namespace = self.resource.group.is_empty() && self.resource.plural == "namespaces";
        if !is_namespace {
            metadata::set(object, "deletionGracePeriodSeconds", grace);
        }
        if !metadata::is_terminating(old)
            && let Some(generation) = metadata::of(old).get("generation").and_then(Value::as_i64)
            && generation > 0
        {
            metadata::set(object, "generation", generation + 1);
        }
    }
}
