//! The end of a Kustomization: what it applied goes, as its policy says, and then its finalizer.

use serde_json::json;
use sluice_api::crd::CustomResource as _;
use sluice_api::kustomize::kustomization::Kustomization;
use sluice_api::names::finalizers::FLUX;
use sluice_runtime::events::Severity;
use sluice_runtime::queue::Next;
use sluice_runtime::status::patch_metadata;
use sluice_ssa::{Applier, DeleteOptions, Inventory, Owner, Removal};
use tracing::error;

use super::Kustomizations;
use super::pass::{Pass, STATUS_MANAGER};
use super::timing;

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
        if removal != Removal::Keep
            && let Err(message) = self.remove_all(pass, removal).await
        {
            error!(object = %pass.key, error = message, "pruning for deleted resource failed");
            pass.event(Severity::Error, "pruning for deleted resource failed");
            return Next::Backoff;
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

    async fn remove_all(&self, pass: &Pass<'_>, removal: Removal) -> Result<(), String> {
        let Some(stored) = &pass.status.inventory else { return Ok(()) };
        let inventory = Inventory::read(stored).map_err(|error| error.to_string())?;
        if inventory.is_empty() {
            return Ok(());
        }
        if !self.can_impersonate(&pass.object).await? {
            // Nobody may delete them any more; they stay, and that is said.
            let names: Vec<String> = inventory.keys().iter().map(ToString::to_string).collect();
            let message = format!("unable to prune objects: \n{}", names.join("\n"));
            pass.event(Severity::Error, &message);
            return Ok(());
        }
        let target = self.target(&pass.object).await.map_err(|stop| stop.to_string())?;
        let owner = Owner::kustomize();
        let clock = self.context.clock.clone();
        let applier = Applier::new(target.client, target.discovery, owner.clone(), clock);
        let mut options = DeleteOptions::kustomize(&owner, &pass.key.name, &pass.key.namespace);
        // What another has taken over from the source stays for it.
        let claimed = self.claimed(&pass.object, &applier, inventory.keys(), None).await;
        options.spared = claimed.into_keys().collect();
        let changes = applier
            .delete(inventory.keys().to_vec(), &options)
            .await
            .map_err(|error| error.to_string())?;
        let log = changes.to_string();
        if log.is_empty() {
            return Ok(());
        }
        pass.event(Severity::Info, &log);
        if removal == Removal::DeleteAndWait {
            let timeout = timing::timeout(&pass.object.spec);
            if let Err(error) = applier.wait_for_termination(&changes, timeout).await {
                error!(object = %pass.key, %error, "failed to wait for resources termination");
                pass.event(Severity::Error, "failed to wait for resources termination");
            }
        }
        Ok(())
    }
}
