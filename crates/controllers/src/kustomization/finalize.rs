//! The end of a Kustomization: what it applied is deleted, as its deletion policy says.

use sluice_runtime::events::Severity;
use sluice_runtime::pass::Finalized;
use sluice_runtime::queue::Next;
use sluice_ssa::{Action, Applier, DeleteOptions, Inventory, Owner, Removal};
use tracing::error;

use super::{Kustomizations, Pass, timing};

/// The most entries that an event names.
const NAMED: usize = 20;

impl Kustomizations {
    /// Deletes what was applied. A suspended Kustomization leaves everything as it is.
    pub(super) async fn undo(&self, pass: &mut Pass<'_>) -> Finalized {
        pass.revision = pass.status.last_applied_revision.clone().unwrap_or_default();
        pass.origin_revision = pass.status.last_applied_origin_revision.clone().unwrap_or_default();
        let spec = &pass.object.spec;
        let removal =
            Removal::of(spec.deletion_policy.as_ref(), spec.prune, spec.suspend.unwrap_or(false));
        if removal == Removal::Keep {
            return Finalized::Done;
        }
        match self.remove_all(pass, removal).await {
            Ok(kept) if kept.is_empty() => Finalized::Done,
            Ok(kept) => Finalized::Later(self.linger(pass, &kept).await),
            Err(message) => {
                error!(object = %pass.key, error = message, "pruning for deleted resource failed");
                pass.ready_event(Severity::Error, "pruning for deleted resource failed");
                Finalized::Later(Next::Backoff)
            }
        }
    }

    /// Other Kustomizations want objects that still have our labels: until they have taken them over, or no longer want
    /// them, only this inventory has them. `deletionPolicy: Orphan` lets go at once.
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
            pass.ready_event(Severity::Error, &message);
        }
        if inventory.is_empty() {
            return Ok(inventory);
        }
        if !self.can_impersonate(&pass.object).await? {
            // Nobody may delete them any more; they stay, and that is said.
            let names: Vec<String> = inventory.keys().iter().map(ToString::to_string).collect();
            let message = format!("unable to prune objects: \n{}", names.join("\n"));
            pass.ready_event(Severity::Error, &message);
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
        pass.update_time();
        let kept = self.keep(pass, &changes, &claims);
        let log = changes.without(Action::Unchanged).to_string();
        if log.is_empty() {
            return Ok(kept);
        }
        pass.ready_event(Severity::Info, &log);
        if removal == Removal::DeleteAndWait {
            let timeout = timing::timeout(&pass.object.spec);
            if let Err(error) = applier.wait_for_termination(&changes, timeout).await {
                error!(object = %pass.key, %error, "failed to wait for resources termination");
                pass.ready_event(Severity::Error, "failed to wait for resources termination");
            }
        }
        Ok(kept)
    }
}
