//! What happened, written down while it happens: commits, artifacts, deletions, who wrote what.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures::StreamExt as _;
use kube::api::DynamicObject;
use kube::runtime::watcher::{Config, Event, watcher};
use serde_json::Value;
use tokio::time::Instant;

use crate::platform::{BROKEN, KINDS, Platform, Thing};
use crate::story::source_of;
use crate::world::User;

/// How long a pass may work on an artifact before another one takes its place, at most.
const PASS: Duration = Duration::from_secs(90);

/// The label by which Flux's objects are told.
const OWNER: &str = "kustomize.toolkit.fluxcd.io/name";

/// An object that went.
#[derive(Debug, Clone)]
struct Deletion {
    at: Instant,
    thing: Thing,
    owner: Option<String>,
    uid: String,
}

/// From when to when a Kustomization was there.
#[derive(Debug, Clone, Copy)]
struct Life {
    born: Instant,
    dying: Option<Instant>,
    gone: Option<Instant>,
}

#[derive(Default)]
struct Known {
    head: Platform,
    commits: BTreeMap<String, Platform>,
    /// By source: from when on which revision was there.
    artifacts: BTreeMap<String, Vec<(Instant, String)>>,
    deletions: Vec<Deletion>,
    lives: BTreeMap<&'static str, Vec<Life>>,
    /// Uids of what users deleted.
    by_users: BTreeSet<String>,
    /// What users made: the object as it was answered.
    foreign: BTreeMap<Thing, Value>,
    /// Names that things of the repository must not have.
    taken: BTreeSet<Thing>,
    /// Annotations that users put on objects, by uid.
    notes: BTreeMap<String, String>,
    /// Things that a Kustomization forgot while they were there and its own.
    forgotten: BTreeSet<String>,
}

/// What happened.
#[derive(Default)]
pub(crate) struct Facts(Mutex<Known>);

impl Facts {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap()
    }

    pub(crate) fn committed(&self, revision: &str, platform: &Platform) {
        let mut known = self.known();
        known.head = platform.clone();
        known.commits.insert(revision.to_owned(), platform.clone());
    }

    pub(crate) fn born(&self, name: &'static str) {
        let life = Life { born: Instant::now(), dying: None, gone: None };
        self.known().lives.entry(name).or_default().push(life);
    }

    pub(crate) fn dying(&self, name: &'static str) {
        if let Some(life) = self.known().lives.entry(name).or_default().last_mut() {
            life.dying = Some(Instant::now());
        }
    }

    pub(crate) fn gone(&self, name: &'static str) {
        if let Some(life) = self.known().lives.entry(name).or_default().last_mut() {
            life.gone = Some(Instant::now());
        }
    }

    pub(crate) fn deleted_by_user(&self, uid: &str) {
        self.known().by_users.insert(uid.to_owned());
    }

    pub(crate) fn made_by_user(&self, thing: &Thing, object: Value) {
        let mut known = self.known();
        known.taken.insert(thing.clone());
        known.foreign.insert(thing.clone(), object);
    }

    pub(crate) fn noted(&self, uid: &str, note: &str) {
        self.known().notes.insert(uid.to_owned(), note.to_owned());
    }

    pub(crate) fn notes(&self) -> BTreeMap<String, String> {
        self.known().notes.clone()
    }

    pub(crate) fn foreign(&self) -> BTreeMap<Thing, Value> {
        self.known().foreign.clone()
    }

    /// Takes a name for somebody else, unless the repository holds it.
    pub(crate) fn take_name(&self, thing: &Thing) -> bool {
        let mut known = self.known();
        let all: BTreeSet<_> = known.head.parts.keys().copied().collect();
        // A later commit may break again, with the same name.
        let is_free = thing.name != BROKEN && known.head.holder(thing, &all).is_none();
        is_free && known.taken.insert(thing.clone())
    }

    pub(crate) fn is_taken(&self, thing: &Thing) -> bool {
        self.known().taken.contains(thing)
    }

    /// What was forgotten, and must not have been.
    pub(crate) fn forgotten(&self) -> Vec<String> {
        self.known().forgotten.iter().cloned().collect()
    }

    /// What must not have gone, and did.
    pub(crate) fn wrong_deletions(&self) -> Vec<String> {
        let known = self.known();
        known.deletions.iter().filter_map(|deletion| known.complaint(deletion)).collect()
    }
}

impl Known {
    fn complaint(&self, deletion: &Deletion) -> Option<String> {
        if self.by_users.contains(&deletion.uid) {
            return None;
        }
        let Deletion { at, thing, owner, .. } = deletion;
        let Some(owner) = owner.as_deref() else {
            return Some(format!("foreign {thing:?} was deleted"));
        };
        let lives = |name: &str| self.lives.get(name).into_iter().flatten();
        let is_dying = |life: &Life| {
            life.dying.is_some_and(|dying| dying <= *at) && life.gone.is_none_or(|gone| *at <= gone)
        };
        if lives(owner).any(is_dying) {
            return None;
        }
        let is_alive = |life: &Life| life.born <= *at && life.dying.is_none_or(|dying| *at < dying);
        let alive: BTreeSet<&'static str> =
            self.lives.keys().copied().filter(|name| lives(name).any(is_alive)).collect();
        let mut words = format!("{thing:?} of {owner} was pruned, and its source held it");
        // What another source of the repository has seen meanwhile counts for the one that takes it.
        let is_free = self.artifacts.keys().any(|source| {
            self.seen(source, *at).any(|platform| platform.holder(thing, &alive).is_none())
        });
        for platform in self.seen(source_of(owner), *at) {
            let Some(part) = platform.parts.get(owner) else { continue };
            if part.can_prune() && !part.holds(thing) {
                match platform.holder(thing, &alive) {
                    Some(other) if !is_free => {
                        words = format!("{thing:?} moved from {owner} to {other} and was deleted");
                    }
                    _ => return None,
                }
            }
        }
        Some(words)
    }

    /// The commits that a pass at some moment may have worked on, by the artifacts of a source.
    fn seen(&self, source: &str, at: Instant) -> impl Iterator<Item = &Platform> {
        let artifacts = self.artifacts.get(source).map_or(&[][..], Vec::as_slice);
        let revisions = artifacts.iter().enumerate().filter(move |(index, (since, _))| {
            let until = artifacts.get(index + 1).map(|next| next.0);
            *since <= at && until.is_none_or(|until| until + PASS >= at)
        });
        revisions.filter_map(|(_, (_, revision))| self.commits.get(revision))
    }
}

/// Writes down what users and controllers do to objects, until it is dropped.
pub(crate) fn observe(user: &User, facts: &Arc<Facts>) -> tokio::task::JoinSet<()> {
    let mut tasks = tokio::task::JoinSet::new();
    for (kind, group, version) in KINDS {
        let (api, facts) = (user.api(kind, group, version), Arc::clone(facts));
        tasks.spawn(async move {
            let mut events = std::pin::pin!(watcher(api, Config::default()));
            while let Some(event) = events.next().await {
                let Ok(Event::Delete(object)) = event else { continue };
                let labels = object.metadata.labels.unwrap_or_default();
                facts.known().deletions.push(Deletion {
                    at: Instant::now(),
                    thing: Thing::new(kind, &object.metadata.name.unwrap()),
                    owner: labels.get(OWNER).cloned(),
                    uid: object.metadata.uid.unwrap(),
                });
            }
        });
    }
    tasks.spawn(watch_inventories(user.clone(), Arc::clone(facts)));
    let (api, facts) = (user.repositories(), Arc::clone(facts));
    tasks.spawn(async move {
        let mut events = std::pin::pin!(watcher(api, Config::default()));
        while let Some(event) = events.next().await {
            let Ok(Event::Apply(object) | Event::InitApply(object)) = event else { continue };
            let Some(revision) = revision(&object) else { continue };
            let mut known = facts.known();
            let seen = known.artifacts.entry(object.metadata.name.unwrap()).or_default();
            if seen.last().is_none_or(|(_, last)| *last != revision) {
                seen.push((Instant::now(), revision));
            }
        }
    });
    tasks
}

/// Looks at everything that leaves an inventory: what is still there and still bears the labels of its
/// Kustomization must not, whatever comes after.
async fn watch_inventories(user: User, facts: Arc<Facts>) {
    let mut before: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut events = std::pin::pin!(watcher(user.kustomizations(), Config::default()));
    while let Some(event) = events.next().await {
        let Ok(Event::Apply(object) | Event::InitApply(object)) = event else { continue };
        let (name, uid) = (object.metadata.name.clone().unwrap(), object.metadata.uid.clone());
        let now = inventory(&object);
        let known = before.insert(uid.clone().unwrap(), now.clone()).unwrap_or_default();
        for id in known.difference(&now) {
            let Some(thing) = Thing::of_id(id) else { continue };
            if !is_owned(&user, &thing, &name).await {
                continue;
            }
            let holder = user.kustomizations().get_opt(&name).await.unwrap();
            let forgets =
                holder.is_some_and(|it| it.metadata.uid == uid && !inventory(&it).contains(id));
            if forgets && is_owned(&user, &thing, &name).await {
                facts.known().forgotten.insert(format!("{name} forgot {thing:?}"));
            }
        }
    }
}

/// Whether a thing is there to stay and bears the labels of a Kustomization.
async fn is_owned(user: &User, thing: &Thing, by: &str) -> bool {
    let found = user.get(thing).await.filter(|it| it.metadata.deletion_timestamp.is_none());
    let labels = found.and_then(|found| found.metadata.labels).unwrap_or_default();
    labels.get(OWNER).is_some_and(|owner| owner == by)
}

fn inventory(object: &DynamicObject) -> BTreeSet<String> {
    let entries = object.data.pointer("/status/inventory/entries").and_then(Value::as_array);
    let ids = entries.into_iter().flatten().filter_map(|entry| entry["id"].as_str());
    ids.map(str::to_owned).collect()
}

fn revision(object: &DynamicObject) -> Option<String> {
    object.data.pointer("/status/artifact/revision").and_then(Value::as_str).map(str::to_owned)
}
