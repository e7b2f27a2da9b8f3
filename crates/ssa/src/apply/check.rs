//! Checks one object: skipped, dry run, drift.

use std::time::Duration;

use serde_json::Value;
use sluice_base::place::Place;

use super::{Applier, ApplyOptions, Defined, Desired, Pending};
use crate::change::{Action, Change};
use crate::contest::Contest;
use crate::drift::has_drifted;
use crate::failure::{ApiError, Failure};
use crate::imprint::{Imprint, digest};
use crate::managers;
use crate::metadata::has_mark;
use crate::normalise::drop_invalid_bundle;
use crate::object::ObjectKey;
use crate::resource::Resource;

/// How long a server may take to serve an established kind.
const SERVED_WITHIN: Duration = Duration::from_secs(10);

/// Whether writing may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// It may.
    Apply,
    /// It must not, after a failure.
    Look,
}

/// The result of a check.
pub(super) enum Verdict {
    /// Nothing to do.
    Done(Box<Change>),
    /// The object has to be written.
    Write(Box<Pending>),
}

impl Verdict {
    /// The same with the place where the object is written.
    fn at(mut self, place: Option<Place>) -> Self {
        match &mut self {
            Self::Done(change) => change.place = place,
            Self::Write(pending) => pending.place = place,
        }
        self
    }

    /// Group and kind.
    pub(super) fn kind(&self) -> (String, String) {
        let id = match self {
            Self::Done(change) => &change.key.id,
            Self::Write(pending) => &pending.key.id,
        };
        (id.group.clone(), id.kind.clone())
    }
}

impl Applier {
    pub(super) async fn check(
        &self,
        desired: Desired,
        options: &ApplyOptions,
        mode: Mode,
        defined: &Defined,
    ) -> Result<Verdict, Failure> {
        let Desired { mut object, place } = desired;
        drop_invalid_bundle(&mut object);
        let key = ObjectKey::of(&object);
        match self.look_at(key, object, options, mode, defined).await {
            Ok(verdict) => Ok(verdict.at(place)),
            Err(failure) => Err(Failure { place, ..failure }),
        }
    }

    async fn look_at(
        &self,
        key: ObjectKey,
        object: Value,
        options: &ApplyOptions,
        mode: Mode,
        defined: &Defined,
    ) -> Result<Verdict, Failure> {
        if let Some(knowledge) = &options.knowledge
            && let Some(change) = knowledge.settled(&key, &object)
        {
            return Ok(Verdict::Done(Box::new(change)));
        }
        let digest = options.imprint.then(|| digest(&object));
        let resource =
            self.resolve(&key, defined).await.map_err(|error| Failure::dry_run(&key, &error))?;
        if let Some(merged) = self.would_create(&key, &resource, &object, options).await {
            let pending = Pending::create(resource, object, merged, digest);
            return Ok(Verdict::Write(Box::new(pending)));
        }
        let mut live = self.read(&resource, &key).await?;
        if let Some(skipped) = skipped(&key, &object, live.as_ref(), options) {
            return Ok(Verdict::Done(Box::new(skipped)));
        }
        let mut must_write = false;
        if options.migrate_api_version
            && mode == Mode::Apply
            && let Some(found) = &live
            && let Some(patch) = managers::migration(found, &key.api_version())
        {
            live = Some(self.patch(&resource, &key, &patch).await.map_err(|error| {
                let what = "failed to migrate API version: failed to migrate managed fields API \
                            version to";
                Failure::of(&key, &format!("{what} {}", key.api_version()), &error)
            })?);
            must_write = true;
        }

        let manager = &self.owner.field_manager;
        let merged = match resource.apply(&self.client, &object, manager, true).await {
            Ok(merged) => merged,
            Err(error) if is_forced(&object, live.as_ref(), options, &error) => {
                let pending = Pending::recreate(key, resource, object, live, digest);
                return Ok(Verdict::Write(Box::new(pending)));
            }
            Err(error) => {
                if error.is_unknown_path() {
                    self.discovery.forget(&resource.group, &resource.version);
                }
                return Err(Failure::dry_run(&key, &error));
            }
        };
        let cleanup = live.as_ref().filter(|live| {
            let marks = &options.cleanup.exclusions;
            !has_mark(&object, marks) && !has_mark(live, marks)
        });
        let cleanup = cleanup.and_then(|live| options.cleanup.patch(live, manager));
        must_write |= cleanup.is_some();
        if !must_write && !has_drifted(live.as_ref(), &merged, &options.ignore) {
            let imprint = live.as_ref().and_then(|live| self.imprint(live, digest, options));
            let state = live.map(without_managed_fields);
            let key = ObjectKey::of(&merged);
            let change = Change::new(key, Action::Unchanged);
            return Ok(Verdict::Done(Box::new(Change { state, imprint, ..change })));
        }
        let contest = live.as_ref().and_then(|live| Contest::between(live, &merged, &self.owner));
        Ok(Verdict::Write(Box::new(Pending {
            key: ObjectKey::of(&merged),
            resource,
            payload: object,
            live,
            merged: Some(merged),
            cleanup,
            digest,
            contest,
            place: None,
        })))
    }

    /// The result of a dry run for an object that is new. Any other outcome is `None`: the object is then read and
    /// dry-run again.
    async fn would_create(
        &self,
        key: &ObjectKey,
        resource: &Resource,
        object: &Value,
        options: &ApplyOptions,
    ) -> Option<Value> {
        if !options.unseen.contains(&key.id) || has_mark(object, &options.exclusions) {
            return None;
        }
        let manager = &self.owner.field_manager;
        let merged = resource.apply(&self.client, object, manager, true).await.ok()?;
        merged.pointer("/metadata/resourceVersion").is_none().then_some(merged)
    }

    /// The resource of an object's kind. A kind with its CRD in the same set is waited for, because servers serve
    /// it a moment after they call it established.
    pub(super) async fn resolve(
        &self,
        key: &ObjectKey,
        defined: &Defined,
    ) -> Result<Resource, ApiError> {
        let is_new = defined.contains_key(&(key.id.group.clone(), key.id.kind.clone()));
        let deadline = tokio::time::Instant::now() + SERVED_WITHIN;
        loop {
            match self.discovery.resolve(&self.client, key).await {
                Err(ApiError::NoMatch { .. })
                    if is_new && tokio::time::Instant::now() < deadline =>
                {
                    tokio::time::sleep(Duration::from_millis(500)).await;
                }
                resolved => return resolved,
            }
        }
    }

    /// The imprint of an object, if requested.
    pub(super) fn imprint(
        &self,
        object: &Value,
        digest: Option<u64>,
        options: &ApplyOptions,
    ) -> Option<(Imprint, u64)> {
        let metadata = object.get("metadata")?;
        Some((Imprint::of(metadata, &self.owner, options), digest?))
    }

    /// The live object. A missing right to read it is no reason not to apply.
    pub(super) async fn read(
        &self,
        resource: &Resource,
        key: &ObjectKey,
    ) -> Result<Option<Value>, Failure> {
        match resource.get(&self.client, &key.id.namespace, &key.id.name).await {
            Ok(live) => Ok(Some(live)),
            Err(error) if error.is_transient() => Err(Failure::of(key, "query failed", &error)),
            Err(_) => Ok(None),
        }
    }

    pub(super) async fn patch(
        &self,
        resource: &Resource,
        key: &ObjectKey,
        patch: &Value,
    ) -> Result<Value, ApiError> {
        let name = (key.id.namespace.as_str(), key.id.name.as_str());
        resource.json_patch(&self.client, name, patch, &self.owner.field_manager).await
    }
}

/// The change of a skipped object, with the key that the server has for it.
pub(super) fn skipped(
    key: &ObjectKey,
    object: &Value,
    live: Option<&Value>,
    options: &ApplyOptions,
) -> Option<Change> {
    let excluded = has_mark(object, &options.exclusions)
        || live.is_some_and(|live| has_mark(live, &options.exclusions));
    let present = live.is_some() && has_mark(object, &options.if_not_present);
    (excluded || present)
        .then(|| Change::new(live.map_or_else(|| key.clone(), ObjectKey::of), Action::Skipped))
}

/// Whether an object is recreated after an error: never one that does not exist, because its error cannot be about
/// a change.
pub(super) fn is_forced(
    object: &Value,
    live: Option<&Value>,
    options: &ApplyOptions,
    error: &ApiError,
) -> bool {
    let Some(live) = live else { return false };
    error.is_immutable()
        && (options.force
            || has_mark(object, &options.force_marks)
            || has_mark(live, &options.force_marks))
}

/// An object without managed fields.
pub(super) fn without_managed_fields(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}
