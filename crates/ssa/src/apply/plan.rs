//! Plans: what applying would do.

use futures::{StreamExt as _, stream};
use serde_json::Value;

use super::check::{is_forced, skipped, without_managed_fields};
use super::{Applier, ApplyOptions, Defined, Desired, defined_kinds, namespaces, staged};
use crate::change::{Action, Change};
use crate::drift::{has_drifted, mask_secrets};
use crate::failure::{ApiError, Failure};
use crate::normalise::drop_invalid_bundle;
use crate::object::ObjectKey;

/// The planned action on one object.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The change.
    pub change: Change,
    /// The live and the desired state of an object that would change, without ignored fields, with masked
    /// Secrets.
    pub drift: Option<(Value, Value)>,
}

impl Applier {
    /// The plan of [`Applier::apply`], in its order. Objects that depend on a kind or a namespace of the same set that
    /// does not exist yet would be created.
    pub async fn plan(
        &self,
        objects: Vec<Desired>,
        options: &ApplyOptions,
    ) -> Vec<Result<Planned, Failure>> {
        let (defined, namespaces) = (defined_kinds(&objects), namespaces(&objects));
        let sorted = staged(objects, options).into_values().flatten();
        stream::iter(sorted)
            .map(|Desired { object, place }| {
                let awaited = namespaces.contains(&ObjectKey::of(&object).id.namespace);
                let planned = self.plan_one(object, options, &defined, awaited);
                async move { planned.await.map_err(|failure| Failure { place, ..failure }) }
            })
            .buffered(self.concurrency)
            .collect()
            .await
    }

    async fn plan_one(
        &self,
        mut object: Value,
        options: &ApplyOptions,
        defined: &Defined,
        namespace_awaited: bool,
    ) -> Result<Planned, Failure> {
        drop_invalid_bundle(&mut object);
        let key = ObjectKey::of(&object);
        let created =
            |key: ObjectKey| Planned { change: Change::new(key, Action::Created), drift: None };
        let resource = match self.discovery.resolve(&self.client, &key).await {
            Ok(resource) => resource,
            Err(ApiError::NoMatch { .. })
                if defined.contains_key(&(key.id.group.clone(), key.id.kind.clone())) =>
            {
                return Ok(created(key));
            }
            Err(error) => return Err(Failure::dry_run(&key, &error)),
        };
        let live = self.read(&resource, &key).await?;
        if let Some(change) = skipped(&key, &object, live.as_ref(), options) {
            return Ok(Planned { change, drift: None });
        }
        let manager = &self.owner.field_manager;
        let merged = match resource.apply(&self.client, &object, manager, true).await {
            Ok(merged) => merged,
            Err(error) if is_forced(&object, live.as_ref(), options, &error) => {
                return Ok(created(key));
            }
            Err(error) if error.is_not_found() && namespace_awaited => return Ok(created(key)),
            Err(error) => return Err(Failure::dry_run(&key, &error)),
        };
        let merged_key = ObjectKey::of(&merged);
        if merged.pointer("/metadata/resourceVersion").is_none() {
            return Ok(created(merged_key));
        }
        let drifted = has_drifted(live.as_ref(), &merged, &options.ignore);
        // Flux shows changed objects with their own key, and all others with the server's.
        let (key, action) =
            if drifted { (key, Action::Configured) } else { (merged_key, Action::Unchanged) };
        let drift = drifted.then(|| {
            let mut live = without_managed_fields(live.unwrap_or(Value::Null));
            let mut merged = without_managed_fields(merged);
            options.ignore.strip(&mut live, &mut merged);
            mask_secrets(&mut live, &mut merged);
            (live, merged)
        });
        Ok(Planned { change: Change::new(key, action), drift })
    }
}
