//! Rolling update: scales the new ReplicaSet up and old ones down, within `maxSurge` and `maxUnavailable`.

use super::{Next, Pass, Sets, available_of, replicas_of, share};
use crate::status::Status;
use crate::value;
use serde_json::Value;

impl Pass<'_> {
    pub(super) async fn roll(&mut self, sets: Vec<Value>) -> Result<Next, Status> {
        let mut sets = self.sync_revision(sets, true).await?;
        if self.grow_new(&mut sets).await? || self.shrink_old(&mut sets).await? {
            return self.sync_rollout_status(&sets).await;
        }
        if self.is_complete(&self.deployment["status"]) {
            self.clean_up(&sets.old).await?;
        }
        self.sync_rollout_status(&sets).await
    }

    /// The replicas that the new ReplicaSet, now of `size`, may have while all have `total` together.
    pub(super) fn new_replicas(&self, total: i64, size: i64) -> i64 {
        if !self.is_rolling() {
            return self.replicas();
        }
        let surge = share(
            value::at(&self.deployment, "spec.strategy.rollingUpdate.maxSurge"),
            self.replicas(),
            true,
        );
        let most = self.replicas() + surge;
        if total >= most {
            return size;
        }
        size + (most - total).min(self.replicas() - size)
    }

    async fn grow_new(&mut self, sets: &mut Sets) -> Result<bool, Status> {
        let total: i64 = sets.all().map(replicas_of).sum();
        let Some(new) = &mut sets.new else { return Ok(false) };
        let size = replicas_of(new);
        if size == self.replicas() {
            return Ok(false);
        }
        let wanted =
            if size > self.replicas() { self.replicas() } else { self.new_replicas(total, size) };
        self.resize(new, wanted).await
    }

    async fn shrink_old(&mut self, sets: &mut Sets) -> Result<bool, Status> {
        let all: i64 = sets.all().map(replicas_of).sum();
        if sets.old.iter().map(replicas_of).sum::<i64>() == 0 {
            return Ok(false);
        }
        let new_unavailable =
            sets.new.as_ref().map_or(0, |new| replicas_of(new) - available_of(new));
        let least = self.replicas() - self.max_unavailable();
        let spare = all - least - new_unavailable;
        if spare <= 0 {
            return Ok(false);
        }
        let mut shrunk = 0;
        // Unhealthy replicas first: removing them costs no availability.
        for set in &mut sets.old {
            let unhealthy = replicas_of(set) - available_of(set);
            if shrunk >= spare || unhealthy <= 0 {
                continue;
            }
            let count = unhealthy.min(spare - shrunk);
            let wanted = replicas_of(set) - count;
            self.resize(set, wanted).await?;
            shrunk += count;
        }
        let available: i64 = sets.all().map(available_of).sum();
        let mut left = available - least;
        for set in &mut sets.old {
            if left <= 0 {
                break;
            }
            let count = replicas_of(set).min(left);
            if count == 0 {
                continue;
            }
            let wanted = replicas_of(set) - count;
            self.resize(set, wanted).await?;
            left -= count;
            shrunk += count;
        }
        Ok(shrunk > 0)
    }
}
