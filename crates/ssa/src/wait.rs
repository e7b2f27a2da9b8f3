//! Waits until objects are healthy, or gone, by watches and not by polling.

mod observe;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use serde_json::Value;
use sluice_base::place::Place;
use sluice_kstatus::Status;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::apply::{Applier, Desired};
use crate::change::Change;
use crate::health::Seen;
use crate::object::{ObjectId, ObjectKey};
use observe::{Member, Observer};

/// The maximum number of objects of a kind and namespace that are watched one by one.
const WATCHED_ALONE: usize = 4;

/// An object to wait for.
#[derive(Clone, PartialEq)]
pub struct WaitTarget {
    /// The object.
    pub key: ObjectKey,
    /// Its last known state, which saves a request.
    pub state: Option<Value>,
    /// Where the object is written, if that is known.
    pub place: Option<Place>,
}

/// Shows the key only, because the object may be a Secret.
impl fmt::Debug for WaitTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitTarget").field("key", &self.key).finish_non_exhaustive()
    }
}

impl From<&Change> for WaitTarget {
    fn from(change: &Change) -> Self {
        Self { key: change.key.clone(), state: change.state.clone(), place: change.place.clone() }
    }
}

impl From<ObjectKey> for WaitTarget {
    fn from(key: ObjectKey) -> Self {
        Self { key, state: None, place: None }
    }
}

/// Options of a wait.
#[derive(Clone, Debug)]
pub struct WaitOptions {
    /// The timeout.
    pub timeout: Duration,
    /// Whether to stop as soon as one object has failed.
    pub fail_fast: bool,
    /// Jobs with a TTL: a missing one counts as done.
    pub jobs_with_ttl: BTreeSet<ObjectId>,
    /// A label selector that matches all objects, for watches of many.
    pub labels: Option<String>,
    /// Cancels the wait, because there is something newer to apply.
    pub cancel: CancellationToken,
}

impl Default for WaitOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_mins(1),
            fail_fast: false,
            jobs_with_ttl: BTreeSet::new(),
            labels: None,
            cancel: CancellationToken::new(),
        }
    }
}

/// An object that did not become healthy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unhealthy {
    /// The object.
    pub key: ObjectKey,
    /// Its last observed health.
    pub seen: Seen,
    /// Where it is written, if that is known.
    pub place: Option<Place>,
}

/// Why a wait ended without success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitError {
    /// It was cancelled.
    Canceled,
    /// Some objects have failed, and all others are healthy or need not be waited for.
    Stalled(Vec<Unhealthy>),
    /// The timeout.
    TimedOut(Vec<Unhealthy>),
}

impl WaitError {
    /// The objects that did not become healthy.
    pub fn objects(&self) -> &[Unhealthy] {
        match self {
            Self::Canceled => &[],
            Self::Stalled(objects) | Self::TimedOut(objects) => objects,
        }
    }
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Canceled => return f.write_str("context canceled"),
            Self::Stalled(_) => "failed early due to stalled resources",
            Self::TimedOut(_) => "timeout waiting for",
        })?;
        f.write_str(": [")?;
        for (index, object) in self.objects().iter().enumerate() {
            let gap = if index == 0 { "" } else { ", " };
            write!(f, "{gap}{} status: '{}'", object.key, object.seen.status)?;
            if let Some(error) = &object.seen.error {
                write!(f, ": {error}")?;
            }
        }
        f.write_str("]")
    }
}

impl std::error::Error for WaitError {}

/// The Jobs of a set that have a TTL.
pub fn jobs_with_ttl(objects: &[Desired]) -> BTreeSet<ObjectId> {
    objects
        .iter()
        .filter(|desired| {
            desired.object.pointer("/spec/ttlSecondsAfterFinished").is_some_and(Value::is_i64)
        })
        .map(|desired| ObjectKey::of(&desired.object).id)
        .filter(|id| id.group == "batch" && id.kind == "Job")
        .collect()
}

impl Applier {
    /// Waits until all objects are current. Ends early when all others have failed, or with `fail_fast` when one has.
    /// Objects that are known to be healthy cost no request.
    ///
    /// Cancel-safe; the watches end with it.
    pub async fn wait(
        &self,
        targets: Vec<WaitTarget>,
        options: &WaitOptions,
    ) -> Result<(), WaitError> {
        let mut waited: BTreeMap<ObjectId, WaitTarget> = BTreeMap::new();
        for target in targets {
            waited.entry(target.key.id.clone()).or_insert(target);
        }
        let waited: Vec<WaitTarget> = waited.into_values().collect();
        let now = self.clock.now();
        let mut seen: Vec<Seen> = waited
            .iter()
            .map(|target| match &target.state {
                Some(state) => self.checks.see(&target.key.id, state, &[], now),
                None => Seen::plain(Status::Unknown, ""),
            })
            .collect();
        // A Job with a TTL that is gone counts as current.
        let effective = |index: usize, seen: &Seen| match (seen.status, waited.get(index)) {
            (Status::NotFound, Some(target)) if options.jobs_with_ttl.contains(&target.key.id) => {
                Status::Current
            }
            (status, _) => status,
        };
        let is_over = |seen: &[Seen]| {
            let mut statuses = seen.iter().enumerate().map(|(index, seen)| effective(index, seen));
            options.fail_fast && statuses.clone().any(|status| status == Status::Failed)
                || statuses.all(|status| matches!(status, Status::Failed | Status::Current))
        };
        let ended = if is_over(&seen) {
            Ended::Decided
        } else {
            let open = (0..waited.len()).filter(|index| {
                seen.get(*index).is_none_or(|seen| effective(*index, seen) != Status::Current)
            });
            let members: Vec<Member> = open.filter_map(|index| member(index, &waited)).collect();
            self.observe_until(members, options, &mut seen, &is_over).await
        };
        let unhealthy = |timed_out: bool| -> Vec<Unhealthy> {
            let is_bad =
                |status: Status| status == Status::Failed || timed_out && status != Status::Current;
            let both = waited.iter().zip(&seen).enumerate();
            both.filter(|(index, (_, seen))| is_bad(effective(*index, seen)))
                .map(|(_, (target, seen))| Unhealthy {
                    key: target.key.clone(),
                    seen: seen.clone(),
                    place: target.place.clone(),
                })
                .collect()
        };
        match ended {
            Ended::Canceled => Err(WaitError::Canceled),
            Ended::TimedOut => Err(WaitError::TimedOut(unhealthy(true))),
            Ended::Decided => match unhealthy(false) {
                stalled if stalled.is_empty() => Ok(()),
                stalled => Err(WaitError::Stalled(stalled)),
            },
        }
    }

    /// Waits until objects are gone; the error is the first that is not.
    pub(crate) async fn until_gone(
        &self,
        keys: &[ObjectKey],
        timeout: Duration,
    ) -> Result<(), ObjectKey> {
        let options = WaitOptions { timeout, ..WaitOptions::default() };
        let mut seen = vec![Seen::plain(Status::Unknown, ""); keys.len()];
        let members = keys.iter().enumerate().map(|(index, key)| Member {
            index,
            key: key.clone(),
            since: None,
        });
        let all_gone = |seen: &[Seen]| seen.iter().all(|seen| seen.status == Status::NotFound);
        if keys.is_empty() {
            return Ok(());
        }
        self.observe_until(members.collect(), &options, &mut seen, &all_gone).await;
        let left = keys.iter().zip(&seen).find(|(_, seen)| seen.status != Status::NotFound);
        left.map_or(Ok(()), |(key, _)| Err(key.clone()))
    }

    async fn observe_until(
        &self,
        members: Vec<Member>,
        options: &WaitOptions,
        seen: &mut [Seen],
        is_over: &(dyn Fn(&[Seen]) -> bool + Sync),
    ) -> Ended {
        let (sender, mut reports) = mpsc::channel(64);
        // Observers end when this is dropped.
        let mut observers = JoinSet::new();
        for observer in Observer::for_members(self, members, options.labels.as_deref()) {
            observers.spawn(observer.run(sender.clone()));
        }
        drop(sender);
        let deadline = tokio::time::sleep(options.timeout);
        tokio::pin!(deadline);
        loop {
            tokio::select! {
                biased;
                () = options.cancel.cancelled() => return Ended::Canceled,
                report = reports.recv() => {
                    let Some((index, report)) = report else { return Ended::Decided };
                    if let Some(last) = seen.get_mut(index) {
                        *last = report;
                    }
                    if is_over(seen) {
                        return Ended::Decided;
                    }
                }
                () = &mut deadline => return Ended::TimedOut,
            }
        }
    }
}

/// The end of an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Decided,
    Canceled,
    TimedOut,
}

fn member(index: usize, waited: &[WaitTarget]) -> Option<Member> {
    let target = waited.get(index)?;
    let since = target
        .state
        .as_ref()
        .and_then(|state| state.pointer("/metadata/resourceVersion"))
        .and_then(Value::as_str)
        .map(str::to_owned);
    Some(Member { index, key: target.key.clone(), since })
}
