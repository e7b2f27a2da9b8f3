//! Scaling a Deployment, also during a rollout, and deleting old ReplicaSets.

use serde_json::Value;

use super::revision::{self, DESIRED, MAXIMUM};
use super::{Next, Pass, SOURCE, Sets, UNLIMITED, available_of, key_of_set, replicas_of};
use crate::controllers::recorder::NewEvent;
use crate::status::Status;
use crate::write::DeleteOptions;
use crate::{metadata, value};

impl Pass<'_> {
    /// Whether `spec.replicas` differs from the size that the ReplicaSets were scaled for.
    pub(super) fn is_scaling(&self, sets: &[Value]) -> bool {
        sets.iter()
            .filter(|set| replicas_of(set) > 0)
            .filter_map(|set| metadata::entry(set, "annotations", DESIRED)?.parse::<i64>().ok())
            .any(|desired| desired != self.replicas())
    }

    /// Scales the ReplicaSets to the Deployment's size without a rollout.
    pub(super) async fn scale(&mut self, owned: Vec<Value>) -> Result<Next, Status> {
        let mut sets = self.sync_revision(owned, false).await?;
        self.scale_sets(&mut sets).await?;
        if value::flag(&self.deployment, "spec.paused") {
            self.clean_up(&sets.old).await?;
        }
        self.sync_status(&sets).await?;
        Ok(Next::Wait)
    }

    async fn scale_sets(&mut self, sets: &mut Sets) -> Result<(), Status> {
        let wanted = self.replicas();
        if let Some(only) = active_or_latest(sets) {
            self.resize(only, wanted).await?;
            return Ok(());
        }
        let saturated = sets.new.as_ref().is_some_and(|new| {
            let desired =
                metadata::entry(new, "annotations", DESIRED).and_then(|text| text.parse().ok());
            replicas_of(new) == wanted && desired == Some(wanted) && available_of(new) == wanted
        });
        if saturated {
            for set in &mut sets.old {
                self.resize(set, 0).await?;
            }
            return Ok(());
        }
        if self.is_rolling() {
            self.scale_by_share(sets).await?;
        }
        Ok(())
    }

    /// Distributes a change of size over the ReplicaSets in proportion to their size.
    async fn scale_by_share(&mut self, sets: &mut Sets) -> Result<(), Status> {
        let allowed = if self.replicas() > 0 { self.replicas() + self.max_surge() } else { 0 };
        let before = value::number(&self.deployment, "status.replicas");
        let mut active: Vec<&mut Value> =
            sets.old.iter_mut().chain(&mut sets.new).filter(|set| replicas_of(set) > 0).collect();
        let change = allowed - active.iter().map(|set| replicas_of(set)).sum::<i64>();
        active.sort_by(|left, right| {
            let age = metadata::text(left, "creationTimestamp")
                .cmp(metadata::text(right, "creationTimestamp"));
            let age = if change > 0 { age.reverse() } else { age };
            replicas_of(right).cmp(&replicas_of(left)).then(age)
        });
        let mut added = 0;
        let mut sizes: Vec<i64> = Vec::new();
        for set in &active {
            let share = if change == 0 || change == added {
                0
            } else {
                let fraction = self.fraction(set, before);
                let allowed = change - added;
                if change > 0 { fraction.min(allowed) } else { fraction.max(allowed) }
            };
            added += share;
            sizes.push(replicas_of(set) + share);
        }
        if let Some(first) = sizes.first_mut() {
            *first = (*first + change - added).max(0);
        }
        for (set, size) in active.into_iter().zip(sizes) {
            self.resize_always(set, size).await?;
        }
        Ok(())
    }

    /// The proportional growth of a ReplicaSet when the Deployment grows.
    fn fraction(&self, set: &Value, before: i64) -> i64 {
        let size = replicas_of(set);
        if self.replicas() == 0 {
            return -size;
        }
        let most = self.replicas() + self.max_surge();
        let most_before = metadata::entry(set, "annotations", MAXIMUM)
            .and_then(|text| text.parse().ok())
            .filter(|most| *most != 0)
            .unwrap_or(before);
        if most_before == 0 {
            return 0;
        }
        // Rounded half away from zero; both factors are positive.
        (2 * size * most + most_before) / (2 * most_before) - size
    }

    /// Scales a ReplicaSet; returns whether its size changed.
    pub(super) async fn resize(&self, set: &mut Value, size: i64) -> Result<bool, Status> {
        if replicas_of(set) == size {
            return Ok(false);
        }
        self.resize_always(set, size).await
    }

    async fn resize_always(&self, set: &mut Value, size: i64) -> Result<bool, Status> {
        let before = replicas_of(set);
        if !self.annotate_size(&mut set.clone()) && before == size {
            return Ok(false);
        }
        let written = self
            .control
            .update(SOURCE.actor, &key_of_set(set), "", &mut |set| {
                set["spec"]["replicas"] = size.into();
                self.annotate_size(set);
            })
            .await?;
        *set = written.as_ref().clone();
        if before == size {
            return Ok(false);
        }
        let direction = if before < size { "up" } else { "down" };
        let name = metadata::name(set);
        let message = format!("Scaled {direction} replica set {name} from {before} to {size}");
        let event = NewEvent::normal("ScalingReplicaSet", &message);
        self.control.record(SOURCE, &self.deployment, event).await;
        Ok(true)
    }

    /// Deletes the oldest ReplicaSets beyond `revisionHistoryLimit`.
    pub(super) async fn clean_up(&self, old: &[Value]) -> Result<(), Status> {
        let Some(limit) = value::int(&self.deployment, "spec.revisionHistoryLimit")
            .filter(|limit| *limit != UNLIMITED)
        else {
            return Ok(());
        };
        let mut candidates: Vec<&Value> =
            old.iter().filter(|set| !metadata::is_terminating(set)).collect();
        let surplus = candidates.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
        candidates.sort_by_key(|set| revision::number(set));
        for set in candidates.into_iter().take(surplus) {
            let generation = value::number(set, "metadata.generation");
            let busy = value::number(set, "status.replicas") != 0
                || replicas_of(set) != 0
                || generation > value::number(set, "status.observedGeneration");
            if busy {
                continue;
            }
            let (key, options) = (key_of_set(set), DeleteOptions::default());
            match self.control.delete(SOURCE.actor, &key, options, metadata::uid(set)).await {
                Err(status) if status.code != 404 => return Err(status),
                _ => {}
            }
        }
        Ok(())
    }
}

/// The only ReplicaSet with replicas; without one, the latest.
fn active_or_latest(sets: &mut Sets) -> Option<&mut Value> {
    match sets.all().filter(|set| replicas_of(set) > 0).count() {
        0 if sets.new.is_some() => sets.new.as_mut(),
        0 => sets.old.last_mut(),
        1 => sets.old.iter_mut().chain(&mut sets.new).find(|set| replicas_of(set) > 0),
        _ => None,
    }
}
