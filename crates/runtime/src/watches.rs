//! Watches of metadata that are started and stopped while the controllers run: one for each kind, cluster
//! and selector, shared by everybody who is interested, and no more than a given number.
//!
//! What they tell is not kept here. A watch that cannot be had for long ends; whoever still wants it asks
//! again, with a client that may be a newer one.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::TryStreamExt as _;
use kube::core::{ApiResource, DynamicObject, ObjectMeta, PartialObjectMeta};
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tracing::{debug, warn};

use crate::queue::Backoff;

/// Pauses between tries to watch again.
const RETRY: Backoff = Backoff { least: Duration::from_millis(100), most: Duration::from_secs(30) };
/// After so many failures in a row a watch ends.
const PATIENCE: u32 = 8;

/// What is watched.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Topic {
    /// The cluster, by whatever name tells clusters apart; empty for the one the controllers live on.
    pub cluster: String,
    /// API group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// Labels, as a selector's text; empty for all objects.
    pub labels: String,
}

/// An event of a watch.
#[derive(Debug)]
pub enum WatchEvent {
    /// Everything is listed from here on, at first or anew: something may have been missed.
    Restarted,
    /// An object is there, or is different.
    Applied(ObjectMeta),
    /// An object is gone.
    Deleted(ObjectMeta),
    /// Everything that exists has been listed.
    Synced,
    /// The watch could not be kept up and has ended.
    Ended(String),
}

/// Receives the events of all watches.
pub type WatchHandler = dyn Fn(&Topic, WatchEvent) + Send + Sync;

/// How a topic is watched.
#[derive(Clone)]
pub struct Wanted {
    /// What.
    pub topic: Topic,
    /// Where it is served.
    pub resource: ApiResource,
    /// In whose name.
    pub client: Client,
}

#[derive(Default)]
struct Entry {
    users: BTreeSet<String>,
    running: Option<AbortHandle>,
}

type Entries = Mutex<BTreeMap<Topic, Entry>>;

/// The watches that are wanted, and by whom.
pub struct Watches {
    entries: Arc<Entries>,
    starts: mpsc::UnboundedSender<Wanted>,
    most: usize,
}

impl Watches {
    /// No watches yet, and the task that runs them; dropping it ends them all.
    pub fn new(
        most: usize,
        tell: Arc<WatchHandler>,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (starts, requests) = mpsc::unbounded_channel();
        let entries: Arc<Entries> = Arc::default();
        (Self { entries: Arc::clone(&entries), starts, most }, drive(entries, requests, tell))
    }

    /// Replaces what a user wants. Gives the topics that cannot be watched because there are too many.
    pub fn want(&self, user: &str, wanted: Vec<Wanted>) -> Vec<Topic> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let topics: BTreeSet<&Topic> = wanted.iter().map(|it| &it.topic).collect();
        let no_longer =
            |topic: &Topic, entry: &Entry| entry.users.contains(user) && !topics.contains(topic);
        let left: Vec<Topic> = entries
            .iter()
            .filter(|(topic, entry)| no_longer(topic, entry))
            .map(|(topic, _)| topic.clone())
            .collect();
        for topic in left {
            if let Some(entry) = entries.get_mut(&topic) {
                entry.users.remove(user);
                if entry.users.is_empty() {
                    if let Some(running) = entry.running.take() {
                        running.abort();
                    }
                    entries.remove(&topic);
                }
            }
        }
        let mut refused = Vec::new();
        for wanted in wanted {
            if let Some(entry) = entries.get_mut(&wanted.topic) {
                entry.users.insert(user.to_owned());
                continue;
            }
            if entries.len() >= self.most {
                refused.push(wanted.topic);
                continue;
            }
            let entry = Entry { users: BTreeSet::from([user.to_owned()]), running: None };
            entries.insert(wanted.topic.clone(), entry);
            // Without the task that runs them, nothing runs any more.
            let _ = self.starts.send(wanted);
        }
        refused
    }

    /// How many watches there are.
    pub fn len(&self) -> usize {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Starts watches as they are asked for, and takes note of those that ended.
async fn drive(
    entries: Arc<Entries>,
    mut requests: mpsc::UnboundedReceiver<Wanted>,
    tell: Arc<WatchHandler>,
) {
    let mut tasks = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            request = requests.recv() => {
                let Some(wanted) = request else { return };
                let mut entries = entries.lock().unwrap_or_else(PoisonError::into_inner);
                // Nobody may want it any more.
                if let Some(entry) = entries.get_mut(&wanted.topic)
                    && entry.running.is_none()
                {
                    entry.running = Some(tasks.spawn(observe(wanted, Arc::clone(&tell))));
                }
            }
            Some(ended) = tasks.join_next(), if !tasks.is_empty() => {
                if let Ok((topic, why)) = ended {
                    entries.lock().unwrap_or_else(PoisonError::into_inner).remove(&topic);
                    warn!(kind = topic.kind, group = topic.group, error = why, "watch given up");
                    tell(&topic, WatchEvent::Ended(why));
                }
            }
        }
    }
}

/// Watches until it cannot any more.
async fn observe(wanted: Wanted, tell: Arc<WatchHandler>) -> (Topic, String) {
    let Wanted { topic, resource, client } = wanted;
    let api: Api<PartialObjectMeta<DynamicObject>> = Api::all_with(client, &resource);
    let mut config = Config::default();
    if !topic.labels.is_empty() {
        config = config.labels(&topic.labels);
    }
    let mut failures = 0;
    let mut events = pin!(watcher(api, config));
    loop {
        let event = match events.try_next().await {
            Ok(Some(event)) => event,
            Ok(None) => return (topic, "the watch ended".to_owned()),
            Err(error) => {
                failures += 1;
                debug!(kind = topic.kind, %error, failures, "watch failed");
                if failures >= PATIENCE {
                    return (topic, error.to_string());
                }
                tokio::time::sleep(RETRY.pause(failures)).await;
                continue;
            }
        };
        failures = 0;
        tell(
            &topic,
            match event {
                Event::Init => WatchEvent::Restarted,
                Event::InitApply(object) | Event::Apply(object) => {
                    WatchEvent::Applied(object.metadata)
                }
                Event::Delete(object) => WatchEvent::Deleted(object.metadata),
                Event::InitDone => WatchEvent::Synced,
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::api::{DeleteParams, ObjectMeta, PostParams};
    use kube::core::{ApiResource, GroupVersionKind};
    use kube::{Api, Client};
    use sluice_cluster::Cluster;

    use super::{Topic, Wanted, WatchEvent, Watches};

    fn wanted(client: &Client, kind: &str) -> Wanted {
        Wanted {
            topic: Topic {
                cluster: String::new(),
                group: String::new(),
                kind: kind.to_owned(),
                labels: "mine=yes".to_owned(),
            },
            resource: ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", kind)),
            client: client.clone(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_is_watched_once_while_somebody_wants_it() {
        let cluster = Cluster::builder().seed(1).build();
        let client = Client::new(cluster.service(), "default");
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = Arc::clone(&heard);
        let tell = move |_: &Topic, told: WatchEvent| {
            let mut log = log.lock().unwrap();
            match told {
                WatchEvent::Restarted => log.push("begins".to_owned()),
                WatchEvent::Applied(meta) => {
                    log.push(format!("is {}", meta.name.unwrap_or_default()));
                }
                WatchEvent::Deleted(meta) => {
                    log.push(format!("gone {}", meta.name.unwrap_or_default()));
                }
                WatchEvent::Synced => log.push("listed".to_owned()),
                WatchEvent::Ended(_) => log.push("ended".to_owned()),
            }
        };
        let (watches, driver) = Watches::new(1, Arc::new(tell));
        let driver = tokio::spawn(driver);
        let api: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
        let make = async |name: &str, label: &str| {
            let metadata = ObjectMeta {
                name: Some(name.to_owned()),
                labels: Some([("mine".to_owned(), label.to_owned())].into()),
                ..ObjectMeta::default()
            };
            let object = ConfigMap { metadata, ..ConfigMap::default() };
            api.create(&PostParams::default(), &object).await.unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
        };
        let (a, b) = ("a", "b");
        make("first", "yes").await;
        assert_eq!(watches.want(a, vec![wanted(&client, "ConfigMap")]), []);
        assert_eq!(watches.want(b, vec![wanted(&client, "ConfigMap")]), []);
        let refused =
            watches.want(b, vec![wanted(&client, "ConfigMap"), wanted(&client, "Secret")]);
        assert_eq!(refused.len(), 1);
        tokio::time::sleep(Duration::from_secs(1)).await;
        make("second", "yes").await;
        make("other", "no").await;
        api.delete("first", &DeleteParams::default()).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let expected = ["begins", "is first", "listed", "is second", "gone first"];
        assert_eq!(*heard.lock().unwrap(), expected);
        watches.want(a, vec![]);
        make("third", "yes").await;
        watches.want(b, vec![]);
        assert!(watches.is_empty());
        make("fourth", "yes").await;
        assert_eq!(heard.lock().unwrap().last().unwrap(), "is third");
        drop(watches);
        driver.await.unwrap();
    }
}
