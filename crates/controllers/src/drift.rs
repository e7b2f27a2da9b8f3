//! Drift: what others do to objects that were applied, and what is done about it.
//!
//! ```text
//! apply ─▶ ledger (what was left on each object) ◀─ watches of metadata, one for each kind and cluster
//!             │ a foreign change or delete                 only objects with our labels
//!             ├─▶ repair: the owner is woken; only what was touched is looked at
//!             ├─▶ warn:   an event and a condition; the interval puts it right
//!             └─▶ fights: the same object again and again: back to the interval, and a condition says who
//! ```
//!
//! Without the annotation (mode `interval`) nothing is watched or remembered: objects are looked at when the
//! interval comes, as Flux does it.

mod fights;
mod ledger;

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use kube::core::ObjectMeta;
use serde_json::Value;
use sluice_api::names::labels::KUSTOMIZE_NAME;
use sluice_base::clock::Clock;
use sluice_runtime::key::Key;
use sluice_runtime::watches::{Topic, WatchEvent};
use sluice_ssa::{ApplyOptions, Change, ChangeSet, Imprint, Knowledge, ObjectId, ObjectKey, Owner};

use fights::Fights;
use ledger::Ledger;

pub use fights::{Fight, Opponent};
pub use ledger::Foreign;

/// Definitions and admission decide what a dry run comes to: when one changes, nothing is settled.
pub const GUARDS: [(&str, &str); 3] = [
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
];

/// What is done about changes in the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DriftMode {
    /// They are put right when the interval comes.
    #[default]
    Interval,
    /// They are told at once, and put right when the interval comes.
    Warn,
    /// They are put right at once.
    Repair,
}

impl DriftMode {
    const ALL: [Self; 3] = [Self::Interval, Self::Warn, Self::Repair];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Interval => "interval",
            Self::Warn => "warn",
            Self::Repair => "repair",
        }
    }
}

impl fmt::Display for DriftMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is none of interval, warn and repair")]
pub struct UnknownMode(String);

impl FromStr for DriftMode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        let found = Self::ALL.into_iter().find(|mode| mode.as_str() == text);
        found.ok_or_else(|| UnknownMode(text.to_owned()))
    }
}

/// How much is watched at most; past that, the interval has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DriftLimits {
    /// Kinds, on all clusters together.
    pub kinds: usize,
    /// Objects.
    pub objects: usize,
}

impl Default for DriftLimits {
    fn default() -> Self {
        Self { kinds: 500, objects: 200_000 }
    }
}

/// An object that was put right although nothing new was wanted of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// Which object.
    pub object: ObjectId,
    /// Against whom.
    pub opponent: Opponent,
    /// The fields, as paths.
    pub fields: Vec<String>,
}

/// What came of learning from a pass.
#[derive(Debug, Default)]
pub struct Learned {
    /// What was put right.
    pub repairs: Vec<Repair>,
    /// Whether all of it is remembered; if not, the interval has to do.
    pub is_full: bool,
}

/// What is known of the objects that were applied, and of those who fight over them.
#[derive(Clone)]
pub struct Drift {
    ledger: Arc<Mutex<Ledger>>,
    fights: Arc<Mutex<Fights>>,
    clock: Arc<dyn Clock>,
    /// How objects are applied: what counts as an imprint follows from it.
    how: Arc<(Owner, ApplyOptions)>,
}

impl fmt::Debug for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drift").finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drift {
    /// Nothing known yet, for one who applies so.
    pub fn new(
        clock: Arc<dyn Clock>,
        owner: Owner,
        options: ApplyOptions,
        limits: DriftLimits,
    ) -> Self {
        let ledger = Arc::new(Mutex::new(Ledger::new(limits.objects)));
        Self { ledger, fights: Arc::default(), clock, how: Arc::new((owner, options)) }
    }

    /// The topic of a kind's objects that bear our labels.
    pub fn topic(cluster: &str, id: &ObjectId) -> Topic {
        Topic {
            cluster: cluster.to_owned(),
            group: id.group.clone(),
            kind: id.kind.clone(),
            labels: KUSTOMIZE_NAME.to_owned(),
        }
    }

    /// An owner is going to write: what happens to its objects is judged when it has.
    pub fn enter(&self, owner: &Key) {
        lock(&self.ledger).enter(owner);
    }

    /// It has written what it wants. Gives what others did meanwhile.
    pub fn leave(&self, owner: &Key) -> Vec<Foreign> {
        lock(&self.ledger).leave(owner)
    }

    /// What others did that is told to nobody yet; it counts as told from now on.
    pub fn untold(&self, owner: &Key) -> Vec<Foreign> {
        lock(&self.ledger).untold(owner)
    }

    /// Everything that others did and that was not put right.
    pub fn standing(&self, owner: &Key) -> Vec<Foreign> {
        lock(&self.ledger).standing(owner)
    }

    /// Whether others did something that nobody was told of.
    pub fn has_untold(&self, owner: &Key) -> bool {
        lock(&self.ledger).has_untold(owner)
    }

    /// Takes in what a watch of our objects tells; gives what others did to them.
    pub fn observe(&self, topic: &Topic, told: WatchEvent) -> Vec<Foreign> {
        let mut ledger = lock(&self.ledger);
        match told {
            WatchEvent::Restarted => ledger.begins(topic),
            WatchEvent::Synced => return ledger.listed(topic),
            WatchEvent::Ended(_) => ledger.ended(topic),
            WatchEvent::Applied(metadata) => {
                let (imprint, by) = self.read(&metadata);
                return ledger.is(topic, &metadata, imprint, by).into_iter().collect();
            }
            WatchEvent::Deleted(metadata) => {
                let version = metadata.resource_version.as_deref().unwrap_or_default();
                let version = version.parse().unwrap_or_default();
                return ledger.gone(topic, &metadata, version).into_iter().collect();
            }
        }
        Vec::new()
    }

    /// Takes in what a watch of definitions or webhooks tells.
    pub fn observe_guard(&self, topic: &Topic, told: &WatchEvent) {
        lock(&self.ledger).guard(topic, told);
    }

    /// The imprint on an object, whose hand was on it last, and whose labels it bears.
    fn read(&self, metadata: &ObjectMeta) -> (Imprint, Hand) {
        let (owner, options) = &*self.how;
        let value = serde_json::to_value(metadata).unwrap_or(Value::Null);
        let imprint = Imprint::of(&value, owner, options);
        let entries = metadata.managed_fields.iter().flatten();
        let others = entries.filter(|entry| {
            entry.subresource.as_deref() != Some("status")
                && (entry.manager.as_deref() != Some(&owner.field_manager)
                    || entry.operation.as_deref() != Some("Apply"))
        });
        let last = others.max_by(|left, right| left.time.cmp(&right.time));
        let object = serde_json::json!({"metadata": {"labels": metadata.labels}});
        let hand = Hand {
            manager: last.and_then(|entry| entry.manager.clone()),
            owner: owner.marked(&object).map(|(namespace, name)| Key::new(namespace, name)),
        };
        (imprint, hand)
    }

    /// What is known for one owner on one cluster, so that what nobody touched is not looked at.
    pub fn knowledge(&self, owner: &Key, cluster: &str) -> Arc<dyn Knowledge> {
        Arc::new(Known { drift: self.clone(), owner: owner.clone(), cluster: cluster.to_owned() })
    }

    /// Remembers what a pass applied. If that is everything, the rest of the owner's is forgotten.
    pub fn learn(
        &self,
        owner: &Key,
        mode: DriftMode,
        cluster: &str,
        changes: &ChangeSet,
        is_whole: bool,
    ) -> Learned {
        let now = self.clock.now();
        let mut ledger = lock(&self.ledger);
        match mode {
            DriftMode::Interval => {
                ledger.forget(owner);
                let repairs = changes.entries.iter().filter_map(Repair::of_ownership).collect();
                Learned { repairs, is_full: false }
            }
            DriftMode::Warn | DriftMode::Repair => {
                let learned = ledger.learn(owner, mode, cluster, changes, now);
                if is_whole {
                    ledger.keep_only(owner, cluster, changes);
                }
                learned
            }
        }
    }

    /// Forgets an owner.
    pub fn forget(&self, owner: &Key) {
        lock(&self.ledger).forget(owner);
        lock(&self.fights).forget(owner);
    }

    /// Takes note of what was put right; gives the fights that are new.
    pub fn note(&self, owner: &Key, repairs: &[Repair], interval: Duration) -> Vec<Fight> {
        let now = self.clock.now();
        let mut fights = lock(&self.fights);
        fights.expire(owner, now, interval);
        repairs.iter().filter_map(|repair| fights.note(owner, repair, now)).collect()
    }

    /// The fights of an owner.
    pub fn fights(&self, owner: &Key) -> Vec<Fight> {
        lock(&self.fights).of(owner)
    }

    /// Whether an object is fought over: then it is left to the interval.
    pub fn is_fought_over(&self, owner: &Key, object: &ObjectId) -> bool {
        lock(&self.fights).is_fought_over(owner, object)
    }

    /// How many objects are remembered.
    pub fn len(&self) -> usize {
        lock(&self.ledger).len()
    }

    /// Whether none are.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Repair {
    /// The taking of an object from another owner.
    fn of_ownership(change: &Change) -> Option<Self> {
        let contest = change.contest.as_ref()?;
        let (namespace, name) = contest.owner.clone()?;
        Some(Self {
            object: change.key.id.clone(),
            opponent: Opponent::Owner(Key::new(namespace, name)),
            fields: Vec::new(),
        })
    }
}

/// Whose hand was on an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hand {
    /// The field manager that wrote last, ours apart.
    pub manager: Option<String>,
    /// The owner whose labels it bears.
    pub owner: Option<Key>,
}

/// What is known for one owner on one cluster.
#[derive(Debug)]
struct Known {
    drift: Drift,
    owner: Key,
    cluster: String,
}

impl Knowledge for Known {
    fn settled(&self, key: &ObjectKey, desired: &Value) -> Option<Change> {
        let now: Timestamp = self.drift.clock.now();
        let ledger = lock(&self.drift.ledger);
        ledger.settled(&self.owner, &self.cluster, key, desired, now)
    }
}
