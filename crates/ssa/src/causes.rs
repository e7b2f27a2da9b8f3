//! Reads the objects and events that say why objects did not become healthy.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sluice_kstatus::{Cause, causes};

use crate::apply::Applier;
use crate::object::ObjectId;
use crate::resource::{Choice, Resource};
use crate::wait::Unhealthy;

/// Kinds that run pods.
const WORKLOADS: [&str; 6] = ["DaemonSet", "Deployment", "Job", "Pod", "ReplicaSet", "StatefulSet"];

/// The most objects and namespaces that are looked into: those behind them fail alike.
const MOST_OBJECTS: usize = 20;
const MOST_NAMESPACES: usize = 3;

/// The kinds that say why a workload is not ready: group, version, resource and kind.
const KINDS: [(&str, &str, &str, &str); 3] = [
    ("", "v1", "pods", "Pod"),
    ("apps", "v1", "replicasets", "ReplicaSet"),
    ("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"),
];

impl Applier {
    /// The causes for which workloads did not become healthy, in the cluster as it is now. What cannot be read, for
    /// want of rights among others, says nothing.
    pub async fn causes(&self, objects: &[Unhealthy]) -> BTreeMap<ObjectId, Vec<Cause>> {
        let workloads = objects.iter().map(|unhealthy| &unhealthy.key);
        let workloads = workloads.filter(|key| WORKLOADS.contains(&key.id.kind.as_str()));
        let workloads: Vec<_> = workloads.take(MOST_OBJECTS).collect();
        let namespaces: BTreeSet<&str> =
            workloads.iter().map(|key| key.id.namespace.as_str()).collect();
        let mut found = BTreeMap::new();
        for namespace in namespaces.into_iter().take(MOST_NAMESPACES) {
            let mut others = Vec::new();
            for (group, version, plural, kind) in KINDS {
                others.extend(self.listed((group, version, plural), kind, namespace).await);
            }
            let events = self.listed(("", "v1", "events"), "Event", namespace).await;
            for key in workloads.iter().filter(|key| key.id.namespace == namespace) {
                let Ok(resource) = self.discovery.resolve(&self.client, key).await else {
                    continue;
                };
                let object = resource.get(&self.client, namespace, &key.id.name).await;
                let Ok(object) = object else { continue };
                found.insert(key.id.clone(), causes(&object, &others, &events));
            }
        }
        found
    }

    async fn listed(
        &self,
        (group, version, plural): (&str, &str, &str),
        kind: &str,
        namespace: &str,
    ) -> Vec<Value> {
        let resource = Resource {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: plural.to_owned(),
            namespaced: true,
        };
        let choice = Choice { name: None, labels: None };
        let listed = resource.list(&self.client, namespace, &choice).await;
        let mut items = listed.map(|listed| listed.items).unwrap_or_default();
        for item in &mut items {
            // Items of a list do not repeat their kind.
            item["kind"] = kind.into();
        }
        items
    }
}
