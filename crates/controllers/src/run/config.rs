//! ConfigMaps and Secrets: who reads one that changed is due.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use kube::core::{NamespaceResourceScope, PartialObjectMeta};
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client, Resource};
use sluice_runtime::index::Reference;
use sluice_runtime::key::Key;

use crate::waking::Wakes;

/// How long to wait before a failed watch of metadata is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Watches the metadata of ConfigMaps or Secrets, never what is in them, and wakes who reads one that is
/// new or changed. Only those that somebody reads are remembered.
pub(super) async fn observe_config<K>(
    client: Client,
    namespace: Option<String>,
    kind: &'static str,
    users: Vec<Arc<dyn Wakes>>,
) where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + Send
        + Sync
        + 'static,
{
    let mut seen: BTreeMap<Key, Option<String>> = BTreeMap::new();
    let api: Api<PartialObjectMeta<K>> = match namespace {
        Some(namespace) => Api::namespaced(client, &namespace),
        None => Api::all(client),
    };
    loop {
        let mut events = std::pin::pin!(watcher(api.clone(), Config::default()));
        while let Some(event) = events.next().await {
            let object = match event {
                Ok(Event::Apply(object) | Event::InitApply(object)) => object,
                Ok(_) => continue,
                Err(_) => {
                    tokio::time::sleep(RETRY).await;
                    continue;
                }
            };
            let key = Key::of(&object.metadata);
            let reference = Reference::new(kind, key.clone());
            if !users.iter().any(|user| user.refers_to(&reference)) {
                continue;
            }
            let version = object.metadata.resource_version.clone();
            let before = seen.insert(key, version.clone());
            if before != Some(version) {
                for user in &users {
                    user.wake(&reference);
                }
            }
        }
    }
}
