//! Objects that move from one Kustomization to another: the old one lets go only when the new one has them.
//!
//! An object that is no longer wanted here is deleted only if no other Kustomization wants it on the same
//! cluster. What another wants follows from its own source as it is now: from its inventory if it has applied
//! just that, from a build of it otherwise. So it does not matter which of the two is worked on first, nor
//! whether the other is suspended, waits for us, or fails. While the object still bears our labels it stays
//! in our inventory, even if we are deleted; nothing is orphaned if the other changes its mind.
//!
//! Another namespace is another tenant: what it would build is looked at only where the operator allows
//! references across namespaces, its name is not shown, and it holds a deletion here for a limited time.

mod memory;
mod rights;
mod stay;
mod wishes;

use std::time::Duration;

use sluice_api::kustomize::kustomization::Kustomization;
use sluice_api::names::sluice::conditions::HANDING_OVER;
use sluice_api::names::sluice::reasons::CLAIMED;
use sluice_api::shared::condition::ConditionStatus;
use sluice_base::duration::GoDuration;
use sluice_runtime::events::Severity;
use sluice_runtime::key::Key;
use sluice_ssa::{Action, Applier, ChangeSet, Inventory, ObjectKey};
use tracing::info;

use super::drifting::cluster_of;
use super::{Kustomizations, Pass, references};
use crate::origin::Reading;
use crate::safety::SafetyRule;
use crate::sources::SourceArtifact;
use rights::{Right, Rights};
use stay::{Claims, Stay, shown};
use wishes::{Budget, ahead};

pub(super) use memory::HandOver;
pub(super) use wishes::holds;

/// How long a Kustomization that is being deleted waits for one of another namespace, or for a source.
pub(super) const PATIENCE: Duration = Duration::from_mins(10);

/// How long a prune waits for a source of the same repository, whatever that one's interval is.
const LONGEST: Duration = Duration::from_hours(1);

/// What a source may be late beyond its interval and timeout.
const GRACE: Duration = Duration::from_mins(1);

impl Kustomizations {
    /// Which of the objects that are no longer wanted here stay for others. What was applied is the
    /// revision at hand; if the source has moved on since, our own newer wishes count as well.
    pub(super) async fn claimed(
        &self,
        own: &Kustomization,
        applier: &Applier,
        stale: &[ObjectKey],
        applied: Option<&SourceArtifact>,
    ) -> Claims {
        let (own_key, cluster) = (Key::of(&own.metadata), cluster_of(own));
        let mut claims = Claims::default();
        let keeps = |rule| self.context.settings.keeps(rule);
        if stale.is_empty() || !keeps(SafetyRule::WantedElsewhereStays) {
            return claims;
        }
        let counts_twins = keeps(SafetyRule::SameRepositoryCounts);
        let readings = if counts_twins { self.sources.readings() } else { Vec::new() };
        let newest = self.sources.artifact(&references::source(own)).flatten();
        let is_old = applied.is_some_and(|applied| {
            newest.as_ref().is_some_and(|newest| newest.digest != applied.digest)
        });
        let at_hand = applied.or(newest.as_ref());
        let source = references::source(own);
        let ours = readings.iter().find(|it| it.source == source).zip(at_hand);
        let (mut rights, mut budget) = (Rights::default(), Budget::default());
        for other in self.core.store.list() {
            let key = Key::of(&other.metadata);
            if stale.iter().all(|object| claims.is_wanted(&object.id)) {
                break;
            }
            if key == own_key && !is_old
                || other.metadata.deletion_timestamp.is_some()
                || cluster_of(&other) != cluster
            {
                continue;
            }
            let crosses = key.namespace != own_key.namespace;
            let newer = ahead(&other, ours, &readings);
            let wishes = self.wishes(&other, crosses, &newer, applier, &mut budget).await;
            let theirs = references::source(&other);
            let theirs = readings.iter().find(|it| it.source == theirs);
            let source = theirs.filter(|_| !newer.is_empty());
            let source = source.map(|it| it.obstacle.unwrap_or("has yet to read it"));
            let awaited = ours.zip(theirs).filter(|((_, artifact), _)| {
                !newer.iter().any(|newer| newer.revision == artifact.revision)
            });
            let awaited = awaited.and_then(|((ours, artifact), theirs)| {
                let stay = self.awaited(own, &other, (ours, artifact), theirs)?;
                stay.map_err(|note| claims.notes.insert(note)).ok()
            });
            for object in stale {
                if claims.is_wanted(&object.id) {
                    continue;
                }
                let is_wanted = wishes.iter().any(|it| self.wants(&other, it, &object.id));
                let (stay, right) = match &awaited {
                    _ if is_wanted => {
                        let stay = Stay::For { taker: key.clone(), source };
                        (stay, self.right_to(own, &other, object, &mut rights).await)
                    }
                    Some(stay) if !claims.stays.contains_key(&object.id) => {
                        (stay.clone(), self.right_to_kind(own, &other, object, &mut rights).await)
                    }
                    _ => continue,
                };
                if right != Right::No {
                    claims.stays.insert(object.id.clone(), stay);
                }
            }
        }
        claims
    }

    /// The source that another Kustomization builds from, if it reads what ours reads and is behind it. It is
    /// waited for as long as it can be expected to fetch; if it cannot, the error says why.
    fn awaited(
        &self,
        own: &Kustomization,
        other: &Kustomization,
        (ours, at_hand): (&Reading, &SourceArtifact),
        theirs: &Reading,
    ) -> Option<Result<Stay, String>> {
        let (own_key, taker) = (Key::of(&own.metadata), Key::of(&other.metadata));
        let is_locked = self.context.settings.no_cross_namespace_refs;
        if is_locked && own_key.namespace != taker.namespace
            || self.check_gates(other).is_err()
            || ours.source == theirs.source
            || !ours.is_of_same_place(theirs)
            || !theirs.is_behind(at_hand)
        {
            return None;
        }
        let now = self.context.clock.now();
        let since = |moment: jiff::Timestamp| {
            Duration::try_from(now.duration_since(moment)).unwrap_or_default()
        };
        let deleted = own.metadata.deletion_timestamp.as_ref();
        let is_late = since(at_hand.last_update_time.0) > (theirs.pace + GRACE).min(LONGEST)
            || deleted.is_some_and(|deleted| since(deleted.0) > PATIENCE);
        let obstacle = theirs.obstacle.or_else(|| is_late.then_some("has not fetched in time"));
        if let Some(obstacle) = obstacle {
            let source = shown(&theirs.source, &own_key);
            return Some(Err(format!(
                "{source} reads the same repository and {obstacle}: it is not waited for"
            )));
        }
        let revision = at_hand.revision.clone();
        Some(Ok(Stay::Until { taker, source: theirs.source.clone(), revision }))
    }

    /// What was spared because others want it and is still marked as ours: it stays in the inventory, that
    /// is said, and they are waited for. One that believes to have it already is asked to look again.
    ///
    /// A deletion waits for another namespace, and for a source that is behind, as long as its patience lasts;
    /// then the object stays as it is.
    pub(super) fn keep(
        &self,
        pass: &mut Pass<'_>,
        changes: &ChangeSet,
        claims: &Claims,
    ) -> Inventory {
        let spared = changes.entries.iter().filter(|entry| entry.action == Action::Unchanged);
        let spared =
            spared.filter_map(|entry| Some((&entry.key, claims.stays.get(&entry.key.id)?)));
        let deleted = pass.object.metadata.deletion_timestamp.as_ref();
        let is_over = deleted.is_some_and(|since| {
            Duration::try_from(self.context.clock.now().duration_since(since.0))
                .is_ok_and(|waited| waited > PATIENCE)
        });
        let (mut kept, mut lines, mut left) = (Vec::new(), Vec::new(), Vec::new());
        for (object, stay) in spared {
            let taker = stay.taker();
            if is_over && stay.is_doubtful(&pass.key) {
                left.push(object.to_string());
                continue;
            }
            self.handover.wait(stay, &pass.key);
            if self.core.store.get(taker).is_some_and(|taker| holds(&taker, &object.id))
                && self.handover.asks_first(taker, &pass.key)
            {
                self.ask(taker);
            }
            info!(object = %pass.key, %taker, "{object} stays");
            lines.push(stay.text(object, &pass.key));
            kept.push(object.clone());
        }
        if changes.entries.iter().any(|entry| entry.action == Action::Deleted) {
            for note in &claims.notes {
                pass.event(Severity::Info, CLAIMED, note);
            }
        }
        if !left.is_empty() {
            let patience = i64::try_from(PATIENCE.as_nanos()).unwrap_or(i64::MAX);
            let message = format!(
                "left as they are, because others want them and have not taken them in {}:\n{}",
                GoDuration::from_nanos(patience),
                left.join("\n")
            );
            pass.event(Severity::Info, CLAIMED, &message);
        }
        if lines.is_empty() {
            self.handover.settle(&pass.key);
            pass.conditions.remove(HANDING_OVER);
        } else {
            let message = lines.join("\n");
            if pass.conditions.get(HANDING_OVER).is_none_or(|before| before.message != message) {
                pass.event(Severity::Info, CLAIMED, &message);
            }
            pass.conditions.set(HANDING_OVER, ConditionStatus::True, CLAIMED, &message);
        }
        Inventory::of_keys(kept)
    }
}
