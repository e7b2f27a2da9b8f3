//! The objects of one kind as the API server last told of them.
//!
//! What a controller wrote itself is put in at once, so that the next pass does not work on what it knows to
//! be old; the watch's own word of it, when it comes, is no news then.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use kube::Resource;
use tokio::sync::watch;

use crate::key::Key;

/// What happened to an object.
#[derive(Debug)]
pub struct Change<K> {
    /// Who it is.
    pub key: Key,
    /// What it was; nothing if it was not known.
    pub before: Option<Arc<K>>,
    /// What it is; nothing if it is gone.
    pub after: Option<Arc<K>>,
}

/// The objects of one kind.
#[derive(Debug)]
pub struct Store<K> {
    objects: RwLock<BTreeMap<Key, Arc<K>>>,
    synced: watch::Sender<bool>,
}

impl<K> Default for Store<K> {
    fn default() -> Self {
        Self { objects: RwLock::default(), synced: watch::Sender::new(false) }
    }
}

impl<K: Resource> Store<K> {
    /// The object of that key.
    pub fn get(&self, key: &Key) -> Option<Arc<K>> {
        self.objects.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// All objects, in the order of their keys.
    pub fn list(&self) -> Vec<Arc<K>> {
        self.objects.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.objects.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns once everything has been listed. Cancelling it changes nothing.
    pub async fn synced(&self) {
        // The sender lives as long as the store.
        let _ = self.synced.subscribe().wait_for(|synced| *synced).await;
    }

    /// Takes in an object unless what is known is as new or newer.
    pub fn apply(&self, object: K) -> Option<Change<K>> {
        let key = Key::of(object.meta());
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = objects.get(&key)
            && !is_news(known.meta(), object.meta())
        {
            return None;
        }
        let after = Arc::new(object);
        let before = objects.insert(key.clone(), Arc::clone(&after));
        Some(Change { key, before, after: Some(after) })
    }

    /// Takes an object out.
    pub fn delete(&self, key: &Key) -> Option<Change<K>> {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        let before = objects.remove(key)?;
        Some(Change { key: key.clone(), before: Some(before), after: None })
    }

    /// Takes out what a full list did not name.
    pub(crate) fn retain(&self, listed: &std::collections::BTreeSet<Key>) -> Vec<Change<K>> {
        let gone: Vec<Key> = {
            let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
            objects.keys().filter(|key| !listed.contains(key)).cloned().collect()
        };
        gone.iter().filter_map(|key| self.delete(key)).collect()
    }

    pub(crate) fn mark_synced(&self) {
        self.synced.send_replace(true);
    }
}

/// Whether the second is another object than the first, or a later state of it.
fn is_news(known: &kube::core::ObjectMeta, told: &kube::core::ObjectMeta) -> bool {
    let version = |metadata: &kube::core::ObjectMeta| -> Option<u64> {
        metadata.resource_version.as_deref()?.parse().ok()
    };
    match (version(known), version(told)) {
        _ if known.uid != told.uid => true,
        (Some(known), Some(told)) => told > known,
        _ => known.resource_version != told.resource_version,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::Store;
    use crate::key::Key;

    fn config_map(uid: &str, version: &str) -> ConfigMap {
        let mut object = ConfigMap::default();
        object.metadata.namespace = Some("n".to_owned());
        object.metadata.name = Some("a".to_owned());
        object.metadata.uid = Some(uid.to_owned());
        object.metadata.resource_version = Some(version.to_owned());
        object
    }

    #[test]
    fn old_word_of_an_object_is_no_news() {
        let store = Store::default();
        assert!(store.apply(config_map("u", "5")).is_some());
        assert!(store.apply(config_map("u", "5")).is_none());
        assert!(store.apply(config_map("u", "4")).is_none());
        assert!(store.apply(config_map("u", "12")).is_some_and(|change| change.before.is_some()));
        assert!(store.apply(config_map("v", "3")).is_some(), "another object of the same name");
        assert!(store.delete(&Key::new("n", "a")).is_some());
        assert!(store.delete(&Key::new("n", "a")).is_none());
    }
}
