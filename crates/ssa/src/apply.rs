//! Applies a set of objects in stages.

mod check;
mod options;
mod plan;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use futures::{StreamExt as _, stream};
use kube::Client;
use serde_json::Value;
use sluice_base::clock::Clock;
use sluice_base::place::Place;

use crate::change::{Action, ChangeSet};
use crate::discovery::Discovery;
use crate::failure::{ApiError, ApplyError, Failure};
use crate::health::HealthChecks;
use crate::metadata::Owner;
use crate::object::ObjectKey;
use crate::order::Stage;
use crate::wait::{WaitOptions, WaitTarget};
use check::{Mode, Verdict};
use sluice_runtime::class::ErrorClass;
use write::Pending;

pub use options::{ApplyOptions, Knowledge};
pub use plan::Planned;

/// The default number of concurrent requests.
const CONCURRENCY: usize = 4;

/// A desired object.
#[derive(Clone, PartialEq)]
pub struct Desired {
    /// The object, normalised.
    pub object: Value,
    /// The file and line it comes from.
    pub place: Option<Place>,
}

/// Shows the key only, because the object may be a Secret.
impl fmt::Debug for Desired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desired")
            .field("key", &ObjectKey::of(&self.object))
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

impl From<Value> for Desired {
    fn from(object: Value) -> Self {
        Self { object, place: None }
    }
}

/// Applies, deletes and waits for objects of one cluster, for one owner.
#[derive(Clone)]
pub struct Applier {
    pub(crate) client: Client,
    pub(crate) discovery: Discovery,
    pub(crate) owner: Owner,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) checks: Arc<HealthChecks>,
    pub(crate) concurrency: usize,
}

/// The kinds of a set's CRDs, and whether they are namespaced.
type Defined = BTreeMap<(String, String), bool>;

impl Applier {
    /// An applier for the client's cluster. Appliers of one cluster may share a [`Discovery`].
    pub fn new(client: Client, discovery: Discovery, owner: Owner, clock: Arc<dyn Clock>) -> Self {
        let checks = Arc::new(HealthChecks::default());
        Self { client, discovery, owner, clock, checks, concurrency: CONCURRENCY }
    }

    /// Sets the number of concurrent requests.
    #[must_use]
    pub fn with_concurrency(mut self, concurrency: usize) -> Self {
        self.concurrency = concurrency.max(1);
        self
    }

    /// Sets custom health checks.
    #[must_use]
    pub fn with_health_checks(mut self, checks: HealthChecks) -> Self {
        self.checks = Arc::new(checks);
        self
    }

    /// Applies objects, stage by stage. No object of a stage is written before all of them passed a dry run, and
    /// no stage begins before the previous one is done. After a failure the rest is still dry-run, so that all
    /// errors are reported at once.
    ///
    /// Cancel-safe and idempotent: objects that were applied are unchanged the next time.
    pub async fn apply(
        &self,
        objects: Vec<Desired>,
        options: &ApplyOptions,
    ) -> Result<ChangeSet, ApplyError> {
        let defined = defined_kinds(&objects);
        let mut changes = ChangeSet::default();
        let mut failures: Vec<Failure> = Vec::new();
        let mut in_doubt = Vec::new();
        for (stage, objects) in staged(objects, options) {
            let mode = if failures.is_empty() { Mode::Apply } else { Mode::Look };
            let (verdicts, refused) = self.check_all(objects, options, mode, &defined).await;
            if mode == Mode::Look {
                // The dry run may fail because of an object that failed before.
                let known = |failure: &Failure| {
                    !matches!(failure.class, ErrorClass::Dependency | ErrorClass::Transient)
                };
                failures.extend(refused.into_iter().filter(known));
                continue;
            }
            failures.extend(refused);
            if !failures.is_empty() {
                continue;
            }
            let begin = changes.entries.len();
            let unwritten = self.write_all(verdicts, options, &mut changes).await;
            in_doubt.extend(unwritten.iter().filter_map(|failure| failure.object.clone()));
            failures.extend(unwritten);
            if failures.is_empty() && stage.is_waited_for() {
                let applied = changes.entries.get(begin..).unwrap_or_default();
                failures.extend(self.stage_is_ready(applied, options).await.err());
            }
        }
        if failures.is_empty() {
            Ok(changes)
        } else {
            Err(ApplyError { failures, changes, in_doubt })
        }
    }

    /// The keys of objects as the server will have them: without a namespace for cluster-scoped kinds. For the
    /// inventory that is written before anything is applied.
    pub async fn identify(&self, objects: &[Desired]) -> Vec<ObjectKey> {
        let defined = defined_kinds(objects);
        let mut keys = Vec::with_capacity(objects.len());
        for desired in objects {
            let mut key = ObjectKey::of(&desired.object);
            let kind = (key.id.group.clone(), key.id.kind.clone());
            let namespaced = match defined.get(&kind) {
                Some(namespaced) => *namespaced,
                None => match self.discovery.resolve(&self.client, &key).await {
                    Ok(resource) => resource.namespaced,
                    // A kind that is not served cannot be applied, and so need not be in the inventory.
                    Err(ApiError::NoMatch { .. }) => continue,
                    // The scope is not known now; a later pass may find it.
                    Err(_) => true,
                },
            };
            if !namespaced {
                key.id.namespace.clear();
            }
            keys.push(key);
        }
        keys.sort();
        keys
    }

    /// Keys as the server has them: without a namespace for cluster-scoped kinds. Inventories are normalised
    /// this way before they are compared; otherwise an object could appear stale because of a meaningless
    /// namespace.
    pub async fn canonical(&self, keys: &[ObjectKey]) -> Vec<ObjectKey> {
        let mut out = Vec::with_capacity(keys.len());
        for key in keys {
            let mut key = key.clone();
            if !key.id.namespace.is_empty()
                && let Ok(resource) = self.discovery.resolve(&self.client, &key).await
                && !resource.namespaced
            {
                key.id.namespace.clear();
            }
            out.push(key);
        }
        out
    }

    async fn check_all(
        &self,
        objects: Vec<Desired>,
        options: &ApplyOptions,
        mode: Mode,
        defined: &Defined,
    ) -> (Vec<Verdict>, Vec<Failure>) {
        let mut checks = stream::iter(objects)
            .map(|desired| self.check(desired, options, mode, defined))
            .buffered(self.concurrency);
        let (mut verdicts, mut failures) = (Vec::new(), Vec::new());
        while let Some(result) = checks.next().await {
            match result {
                Ok(verdict) => verdicts.push(verdict),
                Err(failure) => failures.push(failure),
            }
        }
        (verdicts, failures)
    }

    /// Writes objects in order, those of one kind concurrently. Stops after a kind with a failure.
    async fn write_all(
        &self,
        verdicts: Vec<Verdict>,
        options: &ApplyOptions,
        changes: &mut ChangeSet,
    ) -> Vec<Failure> {
        let mut failures = Vec::new();
        let mut verdicts = verdicts.into_iter().peekable();
        while failures.is_empty()
            && let Some(first) = verdicts.next()
        {
            let kind = first.kind();
            let mut group = vec![first];
            while let Some(next) = verdicts.next_if(|next| next.kind() == kind) {
                group.push(next);
            }
            let mut writes = stream::iter(group)
                .map(|verdict| async {
                    match verdict {
                        Verdict::Done(change) => Ok(*change),
                        Verdict::Write(pending) => self.write(*pending, options).await,
                    }
                })
                .buffered(self.concurrency);
            while let Some(written) = writes.next().await {
                match written {
                    Ok(change) => changes.entries.push(change),
                    Err(failure) => failures.push(failure),
                }
            }
        }
        failures
    }

    async fn stage_is_ready(
        &self,
        applied: &[crate::change::Change],
        options: &ApplyOptions,
    ) -> Result<(), Failure> {
        let targets: Vec<WaitTarget> = applied
            .iter()
            .filter(|change| change.action != Action::Skipped)
            .map(WaitTarget::from)
            .collect();
        let wait = WaitOptions { timeout: options.wait_timeout, ..WaitOptions::default() };
        self.wait(targets, &wait).await.map_err(|error| Failure {
            object: None,
            class: ErrorClass::Health,
            message: error.to_string(),
            place: error.objects().iter().find_map(|object| object.place.clone()),
        })
    }
}

/// The objects of each stage, sorted.
fn staged(objects: Vec<Desired>, options: &ApplyOptions) -> BTreeMap<Stage, Vec<Desired>> {
    let mut stages: BTreeMap<Stage, Vec<(ObjectKey, Desired)>> = BTreeMap::new();
    for desired in objects {
        let key = ObjectKey::of(&desired.object);
        let stage = Stage::of(&key, &options.custom_stage_kinds);
        stages.entry(stage).or_default().push((key, desired));
    }
    stages
        .into_iter()
        .map(|(stage, mut objects)| {
            objects.sort_by(|(left, _), (right, _)| left.cmp(right));
            (stage, objects.into_iter().map(|(_, desired)| desired).collect())
        })
        .collect()
}

/// The kinds of the CRDs in a set.
fn defined_kinds(objects: &[Desired]) -> Defined {
    objects
        .iter()
        .map(|desired| &desired.object)
        .filter(|object| crate::normalise::is_definition(object))
        .filter_map(|object| {
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
            let kind = (text("/spec/group")?.to_owned(), text("/spec/names/kind")?.to_owned());
            Some((kind, text("/spec/scope")? == "Namespaced"))
        })
        .collect()
}

/// The namespaces in a set.
fn namespaces(objects: &[Desired]) -> BTreeSet<String> {
    objects
        .iter()
        .map(|desired| ObjectKey::of(&desired.object))
        .filter(|key| key.id.group.is_empty() && key.id.kind == "Namespace")
        .map(|key| key.id.name)
        .collect()
}
