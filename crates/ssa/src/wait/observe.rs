//! One watch of one object, or of several of a kind in a namespace, and their health.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use kube::Client;
use kube::core::WatchEvent;
use serde_json::Value;
use sluice_base::clock::Clock;
use sluice_base::labels::Selector;
use sluice_kstatus::Status;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep};

use super::WATCHED_ALONE;
use crate::apply::Applier;
use crate::discovery::Discovery;
use crate::failure::ApiError;
use crate::health::{HealthChecks, Seen};
use crate::object::{ObjectId, ObjectKey};
use crate::resource::{Choice, Resource};

/// The poll interval where a watch is not enough: no right to watch, no such kind yet, health that depends on pods or
/// time. Flux polls everything at this interval.
const POLL: Duration = Duration::from_secs(5);

/// The minimum time between two watches.
const PAUSE: Duration = Duration::from_secs(1);

/// An observed object.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// Its index in reports.
    pub(super) index: usize,
    pub(super) key: ObjectKey,
    /// The resource version that is known already.
    pub(super) since: Option<String>,
}

/// A report of an observer: the index of an object, and its health.
pub(super) type Report = (usize, Seen);

/// The receiver of reports is gone.
struct Over;

/// Observes some objects of one kind in one namespace.
pub(super) struct Observer {
    client: Client,
    discovery: Discovery,
    checks: Arc<HealthChecks>,
    clock: Arc<dyn Clock>,
    /// By name; all of the same kind and namespace.
    members: BTreeMap<String, Member>,
    choice: Choice,
    /// States with a health that may change later without a change of the object.
    unsettled: BTreeMap<String, Value>,
}

impl Observer {
    /// The observers of some objects: few of a kind are watched alone, many together.
    pub(super) fn for_members(
        applier: &Applier,
        members: Vec<Member>,
        labels: Option<&str>,
    ) -> Vec<Self> {
        let mut groups: BTreeMap<ObjectKey, Vec<Member>> = BTreeMap::new();
        for member in members {
            let mut shared = member.key.clone();
            shared.id.name.clear();
            groups.entry(shared).or_default().push(member);
        }
        let observer = |members: Vec<Member>, choice: Choice| Self {
            client: applier.client.clone(),
            discovery: applier.discovery.clone(),
            checks: applier.checks.clone(),
            clock: applier.clock.clone(),
            members: members
                .into_iter()
                .map(|member| (member.key.id.name.clone(), member))
                .collect(),
            choice,
            unsettled: BTreeMap::new(),
        };
        let mut observers = Vec::new();
        for (_, members) in groups {
            if members.len() > WATCHED_ALONE {
                let choice = Choice { name: None, labels: labels.map(str::to_owned) };
                observers.push(observer(members, choice));
            } else {
                for member in members {
                    let name = Some(member.key.id.name.clone());
                    observers.push(observer(vec![member], Choice { name, labels: None }));
                }
            }
        }
        observers
    }

    /// Reports until the receiver is gone.
    pub(super) async fn run(mut self, reports: Sender<Report>) {
        // It ends only when the receiver is gone.
        let _ = self.observe(&reports).await;
    }

    async fn observe(&mut self, reports: &Sender<Report>) -> Result<(), Over> {
        let mut since = self.known_version();
        loop {
            let resource = self.resource(reports).await?;
            if since.is_none() {
                since = match self.read(&resource, reports).await? {
                    Ok(version) => version,
                    Err(error) => {
                        self.report_all(&Seen::unknown(&error), reports).await?;
                        sleep(POLL).await;
                        continue;
                    }
                };
            }
            let begun = Instant::now();
            let namespace = self.namespace();
            let watch =
                resource.watch(&self.client, &namespace, &self.choice, since.as_deref()).await;
            match watch {
                Ok(events) => since = self.follow(&resource, events, since, reports).await?,
                // The resource version is too old.
                Err(error) if error.code() == 410 => since = None,
                Err(_) => {
                    since = None;
                    sleep(POLL).await;
                }
            }
            if begun.elapsed() < PAUSE {
                sleep(PAUSE).await;
            }
        }
    }

    /// The resource version to watch from without a read: only known for a single object, and only if its health
    /// depends on nothing else.
    fn known_version(&self) -> Option<String> {
        self.choice.name.as_ref()?;
        let member = self.members.values().next()?;
        if self.checks.depends_on_time(&member.key.id) {
            return None;
        }
        member.since.clone()
    }

    fn namespace(&self) -> String {
        self.members
            .values()
            .next()
            .map_or_else(String::new, |member| member.key.id.namespace.clone())
    }

    /// The resource of the kind; polls until it is served.
    async fn resource(&self, reports: &Sender<Report>) -> Result<Resource, Over> {
        loop {
            let key = self.members.values().next().map(|member| &member.key).ok_or(Over)?;
            match self.discovery.resolve(&self.client, key).await {
                Ok(resource) => return Ok(resource),
                Err(error) => {
                    self.report_all(&Seen::unknown(&error), reports).await?;
                    sleep(POLL).await;
                }
            }
        }
    }

    /// Reads all objects; returns the resource version to watch from.
    async fn read(
        &mut self,
        resource: &Resource,
        reports: &Sender<Report>,
    ) -> Result<Result<Option<String>, ApiError>, Over> {
        let namespace = self.namespace();
        let mut version = None;
        let mut found: BTreeMap<String, Value> = BTreeMap::new();
        if self.choice.name.is_none() {
            match resource.list(&self.client, &namespace, &self.choice).await {
                Ok(listed) => {
                    found.extend(listed.items.into_iter().map(|item| (name_of(&item), item)));
                    version = Some(listed.resource_version);
                }
                Err(error) => return Ok(Err(error)),
            }
        }
        let names: Vec<String> = self.members.keys().cloned().collect();
        for name in names {
            // An object without the labels may exist all the same.
            let object = match found.remove(&name) {
                Some(mut item) => {
                    // List items lack apiVersion and kind.
                    self.complete(&name, &mut item);
                    Ok(item)
                }
                None => resource.get(&self.client, &namespace, &name).await,
            };
            match object {
                Ok(object) => {
                    if self.choice.name.is_some() {
                        version = version_of(&object);
                    }
                    self.see(resource, &name, object, reports).await?;
                }
                Err(error) if error.is_not_found() => self.lose(&name, reports).await?,
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(version))
    }

    /// Follows a watch to its end; returns the resource version for the next one.
    async fn follow(
        &mut self,
        resource: &Resource,
        mut events: futures::stream::BoxStream<'static, Result<WatchEvent<Value>, ApiError>>,
        mut since: Option<String>,
        reports: &Sender<Report>,
    ) -> Result<Option<String>, Over> {
        loop {
            let event = tokio::select! {
                biased;
                event = events.next() => event,
                () = sleep(POLL), if !self.unsettled.is_empty() => {
                    for (name, object) in std::mem::take(&mut self.unsettled) {
                        self.see(resource, &name, object, reports).await?;
                    }
                    continue;
                }
            };
            match event {
                Some(Ok(WatchEvent::Added(object) | WatchEvent::Modified(object))) => {
                    since = version_of(&object);
                    let name = name_of(&object);
                    let object = self.confirmed(resource, &name, object).await;
                    self.see(resource, &name, object, reports).await?;
                }
                Some(Ok(WatchEvent::Deleted(object))) => {
                    since = version_of(&object);
                    self.lose(&name_of(&object), reports).await?;
                }
                Some(Ok(WatchEvent::Bookmark(_))) => {}
                None => return Ok(since),
                Some(Ok(WatchEvent::Error(_)) | Err(_)) => return Ok(None),
            }
        }
    }

    /// Reads a failed object again: a watch also reports the past, and a failure that ends the wait must be current.
    async fn confirmed(&self, resource: &Resource, name: &str, object: Value) -> Value {
        let Some(Member { key, .. }) = self.members.get(name) else { return object };
        let seen = self.checks.see(&key.id, &object, &[], self.clock.now());
        if seen.status != Status::Failed {
            return object;
        }
        resource.get(&self.client, &key.id.namespace, name).await.unwrap_or(object)
    }

    async fn see(
        &mut self,
        resource: &Resource,
        name: &str,
        object: Value,
        reports: &Sender<Report>,
    ) -> Result<(), Over> {
        let Some(member) = self.members.get(name) else { return Ok(()) };
        let (index, id) = (member.index, member.key.id.clone());
        let mut seen = self.checks.see(&id, &object, &[], self.clock.now());
        if seen.status == Status::InProgress && self.checks.needs_pods(&id) {
            seen = match self.pods(&object, resource).await {
                Ok(pods) => self.checks.see(&id, &object, &pods, self.clock.now()),
                Err(error) => Seen::unknown(&error),
            };
        }
        if seen.status != Status::Current && self.checks.depends_on_time(&id) {
            self.unsettled.insert(name.to_owned(), object);
        } else {
            self.unsettled.remove(name);
        }
        reports.send((index, seen)).await.map_err(|_| Over)
    }

    async fn lose(&mut self, name: &str, reports: &Sender<Report>) -> Result<(), Over> {
        self.unsettled.remove(name);
        let Some(member) = self.members.get(name) else { return Ok(()) };
        let seen = Seen::plain(Status::NotFound, "Resource not found");
        reports.send((member.index, seen)).await.map_err(|_| Over)
    }

    async fn report_all(&self, seen: &Seen, reports: &Sender<Report>) -> Result<(), Over> {
        for member in self.members.values() {
            reports.send((member.index, seen.clone())).await.map_err(|_| Over)?;
        }
        Ok(())
    }

    /// The pods that an object selects.
    async fn pods(&self, owner: &Value, resource: &Resource) -> Result<Vec<Value>, ApiError> {
        let selector = owner.pointer("/spec/selector").and_then(selector_text);
        let Some(labels) = selector else {
            return Err(ApiError::Transport("no selector found".to_owned()));
        };
        let pods = Resource {
            group: String::new(),
            version: "v1".to_owned(),
            plural: "pods".to_owned(),
            namespaced: resource.namespaced,
        };
        let choice = Choice { name: None, labels: Some(labels) };
        let mut listed = pods.list(&self.client, &self.namespace(), &choice).await?.items;
        for pod in &mut listed {
            describe(pod, "v1", "Pod");
        }
        Ok(listed)
    }

    fn complete(&self, name: &str, item: &mut Value) {
        if let Some(Member { key, .. }) = self.members.get(name) {
            describe(item, &key.api_version(), &key.id.kind);
        }
    }
}

fn describe(item: &mut Value, api_version: &str, kind: &str) {
    if let Some(fields) = item.as_object_mut() {
        fields.entry("apiVersion").or_insert_with(|| Value::from(api_version));
        fields.entry("kind").or_insert_with(|| Value::from(kind));
    }
}

fn name_of(object: &Value) -> String {
    let ObjectKey { id: ObjectId { name, .. }, .. } = ObjectKey::of(object);
    name
}

fn version_of(object: &Value) -> Option<String> {
    Some(object.pointer("/metadata/resourceVersion")?.as_str()?.to_owned())
}

/// The text form of a `LabelSelector`.
fn selector_text(selector: &Value) -> Option<String> {
    Some(Selector::from_object(selector).ok()??.to_string())
}
