//! The end of a Kustomization: what it applied goes, as its policy says, and then its finalizer.

use serde_json::json;
use sluice_api::crd::CustomResource as _;
use sluice_api::kustomize::kustomization::Kustomization;
use sluice_api::names::finalizers::FLUX;
use sluice_runtime::events::Severity;
use sluice_runtime::queue::Next;
use sluice_runtime::status::patch_metadata;
use sluice_ssa::{Action, Applier, DeleteOptions, Inventory, Owner, Removal};
use tracing::error;

use super::Kustomizations;
use super::pass::{Pass, STATUS_MANAGER};
use super::timing;

/// The most entries that an event names.
const NAMED: usize = 20;

impl Kustomizations {
    /// Deletes what was applied and lets the object go. A suspended one leaves everything as it is.
    pub(super) async fn finalize(&self, pass: &mut Pass<'_>) -> Next {
        let finalizers = pass.object.metadata.finalizers.clone().unwrap_or_default();
        if !finalizers.iter().any(|name| name == FLUX) {
            return Next::Event;
        }
        pass.revision = pass.status.last_applied_revision.clone().unwrap_or_default();
        pass.origin_revision = pass.status.last_applied_origin_revision.clone().unwrap_or_default();
        let spec = &pass.object.spec;
        let removal =
            Removal::of(spec.deletion_policy.as_ref(), spec.prune, spec.suspend.unwrap_or(false));
        if removal != Removal::Keep {
            match self.remove_all(pass, removal).await {
                Ok(kept) if kept.is_empty() => {}
                Ok(kept) => return self.linger(pass, &kept).await,
                Err(message) => {
                    error!(object = %pass.key, error = message, "pruning for deleted resource failed");
                    pass.event(Severity::Error, "pruning for deleted resource failed");
                    return Next::Backoff;
                }
            }
        }
        let rest: Vec<String> = finalizers.into_iter().filter(|name| name != FLUX).collect();
        let patch =
            json!({"finalizers": rest, "resourceVersion": pass.object.metadata.resource_version});
        let definition = Kustomization::DEFINITION;
        let client = &self.context.client;
        match patch_metadata(client, &definition, &pass.key, STATUS_MANAGER, patch).await {
            Ok(_) => Next::Event,
            Err(error) if error.is_not_found() => Next::Event,
            Err(error) => {
                error!(object = %pass.key, %error, "finalizer not removed");
                Next::Backoff
            }
        }
    }

    /// Others want what still bears our labels, and have not taken it yet: until they have, or no longer want
    /// it, nobody but us remembers it. `deletionPolicy: Orphan` lets go at once.
    async fn linger(&self, pass: &mut Pass<'_>, kept: &Inventory) -> Next {
        pass.status.inventory = Some(kept.write());
        match pass.write().await {
            Ok(()) => Next::After(self.context.settings.requeue_dependency),
            Err(error) => {
                error!(object = %pass.key, %error, "status not written");
                Next::Backoff
            }
        }
    }

    /// Deletes what was applied; gives what stays for others and is still marked as ours.
    async fn remove_all(&self, pass: &mut Pass<'_>, removal: Removal) -> Result<Inventory, String> {
        let Some(stored) = &pass.status.inventory else { return Ok(Inventory::default()) };
        let (inventory, unreadable) = Inventory::readable(stored);
        if !unreadable.is_empty() {
            // Nothing can have such an id; a status that anybody wrote must not hold the deletion.
            let shown: Vec<&str> = unreadable.iter().copied().take(NAMED).collect();
            let message = format!("entries of the inventory cannot be read: {shown:?}");
            error!(object = %pass.key, "{message}");
            pass.event(Severity::Error, &message);
        }
        if inventory.is_empty() {
            return Ok(inventory);
        }
        if !self.can_impersonate(&pass.object).await? {
            // Nobody may delete them any more; they stay, and that is said.
            let names: Vec<String> = inventory.keys().iter().map(ToString::to_string).collect();
            let message = format!("unable to prune objects: \n{}", names.join("\n"));
            pass.event(Severity::Error, &message);
            return Ok(Inventory::default());
        }
        let target = self.target(&pass.object).await.map_err(|stop| stop.to_string())?;
        let owner = Owner::kustomize();
        let clock = self.context.clock.clone();
        let applier = Applier::new(target.client, target.discovery, owner.clone(), clock);
        let mut options = DeleteOptions::kustomize(&owner, &pass.key.name, &pass.key.namespace);
        // What another has taken over from the source stays for it.
        let claims = self.claimed(&pass.object, &applier, inventory.keys(), None).await;
        options.spared = claims.spared();
        let changes = applier
            .delete(inventory.keys().to_vec(), &options)
            .await
            .map_err(|error| error.to_string())?;
        pass.conditions.set_now(self.context.clock.now());
        let kept = self.keep(pass, &changes, &claims);
        let log = changes.without(Action::Unchanged).to_string();
        if log.is_empty() {
            return Ok(kept);
        }
        pass.event(Severity::Info, &log);
        if removal == Removal::DeleteAndWait {
            let timeout = timing::timeout(&pass.object.spec);
            if let Err(error) = applier.wait_for_termination(&changes, timeout).await {
                error!(object = %pass.key, %error, "failed to wait for resources termination");
                pass.event(Severity::Error, "failed to wait for resources termination");
            }
        }
        Ok(kept)
    }
}
