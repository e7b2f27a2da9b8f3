//! What a Kustomization does about changes that others make to its objects.

use std::collections::BTreeMap;

use kube::Client;
use kube::core::{ApiResource, GroupVersionKind};
use sluice_api::kustomize::kustomization::Kustomization;
use sluice_api::names::conditions::DRIFTED;
use sluice_api::names::reasons::{DRIFT_DETECTED, RECONCILIATION_FAILED};
use sluice_api::names::sluice::DRIFT;
use sluice_api::names::sluice::conditions::{FIGHTING, UNWATCHED};
use sluice_api::names::sluice::reasons::{CONTESTED, LIMIT_REACHED};
use sluice_api::shared::condition::ConditionStatus;
use sluice_runtime::controller::reconcile_request;
use sluice_runtime::events::Severity;
use sluice_runtime::index::Reference;
use sluice_runtime::key::Key;
use sluice_runtime::outcome::Stop;
use sluice_runtime::queue::Next;
use sluice_runtime::watches::{Topic, Wanted, WatchEvent};
use sluice_ssa::{ApplyOptions, ChangeSet, Discovery, ObjectId, ObjectKey};
use tracing::{error, info, warn};

use super::access::Target;
use super::handover::holds;
use super::{Kustomizations, Pass};
use crate::drift::{Drift, DriftMode, Foreign, GUARDS};

/// The most objects that a message names.
const NAMED: usize = 20;

/// What a pass has to know about the watching of what it applies.
pub(super) struct Watching {
    pub(super) mode: DriftMode,
    /// The cluster that is applied to.
    pub(super) cluster: String,
    /// In whose name it is watched.
    pub(super) client: Client,
    /// What is known of that cluster's kinds.
    pub(super) discovery: Discovery,
}

/// The name of the cluster that a Kustomization is applied to: nothing for the one it lives on, else where
/// its kubeconfig is.
pub(super) fn cluster_of(object: &Kustomization) -> String {
    let Some(way) = &object.spec.kube_config else { return String::new() };
    let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
    let secret = way.secret_ref.as_ref().map(|it| {
        format!("Secret/{namespace}/{}/{}", it.name, it.key.as_deref().unwrap_or_default())
    });
    let config = way.config_map_ref.as_ref().map(|it| format!("ConfigMap/{namespace}/{}", it.name));
    secret.or(config).unwrap_or_default()
}

/// Where a kind is served.
pub(super) async fn served(
    discovery: &Discovery,
    client: &Client,
    key: &ObjectKey,
) -> Option<ApiResource> {
    let resource = discovery.resolve(client, key).await.ok()?;
    let kind = GroupVersionKind::gvk(&key.id.group, &key.version, &key.id.kind);
    Some(ApiResource::from_gvk_with_plural(&kind, &resource.plural))
}

/// Who wants watches for drift.
pub(super) fn watcher(key: &Key) -> String {
    format!("drift {key}")
}

impl Kustomizations {
    /// How changes of others are dealt with, here.
    pub(super) fn watching(
        &self,
        object: &Kustomization,
        target: &Target,
    ) -> Result<Watching, Stop> {
        let annotations = object.metadata.annotations.as_ref();
        let mode = match annotations.and_then(|annotations| annotations.get(DRIFT)) {
            Some(text) => text.parse().map_err(|error| {
                Stop::failed(RECONCILIATION_FAILED, format!("annotation {DRIFT}: {error}"))
            })?,
            None => self.context.settings.drift,
        };
        let cluster = cluster_of(object);
        // Whoever is applied as may do less than watch; on our own cluster we watch in our own name.
        let own = cluster.is_empty();
        let client = if own { &self.context.client } else { &target.client }.clone();
        Ok(Watching { mode, cluster, client, discovery: target.discovery.clone() })
    }

    /// Lets the applier know what nobody touched. A new spec, or somebody who asks, has everything looked at.
    pub(super) fn inform(&self, pass: &Pass<'_>, watching: &Watching, options: &mut ApplyOptions) {
        if watching.mode == DriftMode::Interval {
            return;
        }
        options.imprint = true;
        let request = reconcile_request(&pass.object.metadata);
        let is_asked =
            request.is_some() && request != pass.status.last_handled_reconcile_at.as_ref();
        let is_new = pass.object.metadata.generation != pass.status.observed_generation;
        if !is_asked && !is_new {
            options.knowledge = Some(self.drift.knowledge(&pass.key, &watching.cluster));
        }
    }

    /// Learns from what was applied: what to watch, and who fights.
    pub(super) async fn learn(
        &self,
        pass: &mut Pass<'_>,
        watching: &Watching,
        changes: &ChangeSet,
        is_whole: bool,
    ) {
        let Watching { mode, cluster, .. } = watching;
        let learned = self.drift.learn(&pass.key, *mode, cluster, changes, is_whole);
        if is_whole {
            // Nothing more is written: what happens from here on is others' doing.
            for foreign in self.drift.leave(&pass.key) {
                self.on_foreign(&foreign);
            }
            let mut limits = self.watch_kinds(pass, watching, changes).await;
            if *mode != DriftMode::Interval && !learned.is_full {
                limits.push("too many objects are watched".to_owned());
            }
            pass.conditions.remove(DRIFTED);
            if limits.is_empty() {
                pass.conditions.remove(UNWATCHED);
            } else {
                let message = format!("{}; the interval has to do", limits.join(", "));
                warn!(object = %pass.key, "{message}");
                pass.conditions.set(UNWATCHED, ConditionStatus::True, LIMIT_REACHED, &message);
            }
        }
        let interval = pass.object.spec.interval.to_std();
        for fight in self.drift.note(&pass.key, &learned.repairs, interval) {
            let message = format!("{fight}; it is left to the interval");
            pass.event(Severity::Error, CONTESTED, &message);
        }
        let fights = self.drift.fights(&pass.key);
        if fights.is_empty() {
            pass.conditions.remove(FIGHTING);
        } else {
            let lines: Vec<String> = fights.iter().take(NAMED).map(ToString::to_string).collect();
            let message = lines.join("\n");
            pass.conditions.set(FIGHTING, ConditionStatus::True, CONTESTED, &message);
        }
    }

    /// Watches the kinds that were applied, and what decides about dry runs; says what cannot be watched.
    async fn watch_kinds(
        &self,
        pass: &Pass<'_>,
        watching: &Watching,
        changes: &ChangeSet,
    ) -> Vec<String> {
        let user = watcher(&pass.key);
        if watching.mode == DriftMode::Interval {
            self.watches.want(&user, Vec::new());
            return Vec::new();
        }
        let mut topics: BTreeMap<Topic, ObjectKey> = BTreeMap::new();
        for change in &changes.entries {
            let topic = Drift::topic(&watching.cluster, &change.key.id);
            topics.entry(topic).or_insert_with(|| change.key.clone());
        }
        for (group, kind) in GUARDS {
            let (cluster, labels) = (watching.cluster.clone(), String::new());
            let (group, kind) = (group.to_owned(), kind.to_owned());
            let id = ObjectId {
                group: group.clone(),
                kind: kind.clone(),
                namespace: String::new(),
                name: String::new(),
            };
            let key = ObjectKey { id, version: "v1".to_owned() };
            topics.insert(Topic { cluster, group, kind, labels }, key);
        }
        let mut wanted = Vec::with_capacity(topics.len());
        for (topic, key) in topics {
            // A kind that is gone again is found out by the next pass.
            if let Some(resource) = served(&watching.discovery, &watching.client, &key).await {
                wanted.push(Wanted { topic, resource, client: watching.client.clone() });
            }
        }
        let refused = self.watches.want(&user, wanted);
        if refused.is_empty() {
            return Vec::new();
        }
        let kinds: Vec<&str> = refused.iter().map(|topic| topic.kind.as_str()).collect();
        vec![format!("there are too many kinds to watch: {}", kinds.join(", "))]
    }

    /// Nothing of a Kustomization is watched any more.
    pub(super) fn unwatch(&self, key: &Key) {
        self.drift.forget(key);
        self.watches.want(&watcher(key), Vec::new());
    }

    /// A watch of metadata tells something.
    pub(super) fn on_metadata(&self, topic: &Topic, told: WatchEvent) {
        if !topic.labels.is_empty() {
            for foreign in self.drift.observe(topic, told) {
                self.on_foreign(&foreign);
            }
            return;
        }
        if GUARDS.contains(&(topic.group.as_str(), topic.kind.as_str())) {
            self.drift.observe_guard(topic, &told);
        }
        if let WatchEvent::Applied(metadata) = &told {
            let name = super::references::any_kind(&topic.group, &topic.kind);
            self.wake_waiting(&Reference::new(name, Key::of(metadata)));
        }
    }

    /// Somebody changed or deleted an object of ours.
    pub(super) fn on_foreign(&self, foreign: &Foreign) {
        let owner = &foreign.owner;
        let is_suspended = |object: &Kustomization| object.spec.suspend.unwrap_or(false);
        let lives = |key: &Key| {
            let found = self.core.store.get(key);
            found.filter(|object| object.metadata.deletion_timestamp.is_none())
        };
        let taken = foreign.hand.owner.as_ref().filter(|other| *other != owner);
        let has_taken = |other| lives(other).is_some_and(|it| holds(&it, &foreign.object));
        let facts = Facts {
            mode: foreign.mode,
            is_active: lives(owner).is_some_and(|object| !is_suspended(&object)),
            is_taken: taken.is_some_and(has_taken),
            is_fought_over: self.drift.is_fought_over(owner, &foreign.object),
        };
        match facts.reaction() {
            Reaction::Nothing => {}
            Reaction::Warn => self.core.queue.add(owner),
            Reaction::LeaveToInterval => {
                info!(object = %owner, "{} is left to the interval", foreign.object);
            }
            Reaction::Repair => {
                self.cancel(owner, &foreign.object.to_string());
                self.ask(owner);
            }
        }
    }

    /// A pass that only tells what others did.
    pub(super) async fn warn(&self, pass: &mut Pass<'_>) -> Next {
        let new = self.drift.untold(&pass.key);
        let text = |found: &[Foreign]| {
            let lines: Vec<String> = found.iter().take(NAMED).map(sentence).collect();
            lines.join("\n")
        };
        let all = self.drift.standing(&pass.key);
        pass.conditions.set(DRIFTED, ConditionStatus::True, DRIFT_DETECTED, &text(&all));
        pass.event(Severity::Error, DRIFT_DETECTED, &text(&new));
        match pass.write().await {
            Ok(()) => self.schedule.rest(&pass.key),
            Err(error) => {
                error!(object = %pass.key, %error, "status not written");
                Next::Backoff
            }
        }
    }
}

/// What decides about a change that somebody else made.
#[derive(Debug, Clone, Copy)]
struct Facts {
    mode: DriftMode,
    /// The Kustomization is there, not deleted and not suspended.
    is_active: bool,
    /// Another Kustomization has applied the object. Its labels alone do not show that: anybody who may change the
    /// object may change them.
    is_taken: bool,
    /// The object was repaired again and again.
    is_fought_over: bool,
}

/// What is done about a change that somebody else made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reaction {
    Nothing,
    /// The change is reported.
    Warn,
    /// A hand-over or a fight is not settled in haste.
    LeaveToInterval,
    /// The object is applied again at once.
    Repair,
}

impl Facts {
    fn reaction(self) -> Reaction {
        match self {
            Self { is_active: false, .. } => Reaction::Nothing,
            Self { mode: DriftMode::Warn, .. } => Reaction::Warn,
            Self { is_taken: true, .. } | Self { is_fought_over: true, .. } => {
                Reaction::LeaveToInterval
            }
            _ => Reaction::Repair,
        }
    }
}

fn sentence(foreign: &Foreign) -> String {
    let object = &foreign.object;
    let other = foreign.hand.owner.as_ref().filter(|other| **other != foreign.owner);
    match (other, &foreign.hand.manager) {
        _ if foreign.is_gone => format!("{object} was deleted"),
        (Some(other), _) => format!("{object} was applied by Kustomization {other}"),
        (None, Some(manager)) => format!("{object} was changed by {manager}"),
        (None, None) => format!("{object} was changed"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Facts, Reaction};
    use crate::drift::DriftMode::{Repair, Warn};

    #[test]
    fn a_foreign_change_is_reported_repaired_or_left() {
        for (mode, is_active, is_taken, is_fought_over, expected) in [
            (Repair, true, false, false, Reaction::Repair),
            (Repair, false, false, false, Reaction::Nothing),
            (Warn, false, false, false, Reaction::Nothing),
            (Warn, true, true, true, Reaction::Warn),
            (Repair, true, true, false, Reaction::LeaveToInterval),
            (Repair, true, false, true, Reaction::LeaveToInterval),
        ] {
            let facts = Facts { mode, is_active, is_taken, is_fought_over };
            assert_eq!(facts.reaction(), expected, "{facts:?}");
        }
    }
}
