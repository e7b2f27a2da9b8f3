//! Recreate: no new pod before the last old pod is gone.

use serde_json::Value;

use super::{Next, Pass, Sets};
use crate::controllers::pods;
use crate::status::Status;

impl Pass<'_> {
    pub(super) async fn recreate(&mut self, owned: Vec<Value>) -> Result<Next, Status> {
        let mut sets = self.sync_revision(owned, false).await?;
        let mut shrunk = false;
        for set in &mut sets.old {
            shrunk |= self.resize(set, 0).await?;
        }
        if shrunk || self.old_pods_run(&sets) {
            return self.sync_rollout_status(&sets).await;
        }
        if sets.new.is_none() {
            sets = self.sync_revision(sets.old, true).await?;
        }
        let wanted = self.replicas();
        if let Some(new) = &mut sets.new {
            self.resize(new, wanted).await?;
        }
        if self.is_complete(&self.deployment["status"]) {
            self.clean_up(&sets.old).await?;
        }
        self.sync_rollout_status(&sets).await
    }

    fn old_pods_run(&self, sets: &Sets) -> bool {
        let mut pods = sets.old.iter().flat_map(|set| self.control.controlled("", "pods", set));
        pods.any(|pod| !pods::is_finished(&pod))
    }
}
