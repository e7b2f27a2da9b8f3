//! The load of nodes: which pods run on which node, and the sums over them that filters ask for.
//!
//! Fed by the events of pods, like the cache of kube-scheduler, so that placing a pod costs as much as there are
//! nodes and not as much as there are pods. Only filters that look at other pods' labels (affinity, topology
//! spread) visit pods, and only for pods that ask for them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::controllers::{Key, pods};
use crate::validation::quantity;
use crate::value;

const ANTI_AFFINITY: &str = "spec.affinity.podAntiAffinity";
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

/// The required anti-affinity terms of a pod.
pub(super) fn repelled(pod: &Value) -> &[Value] {
    value::list(value::at(pod, ANTI_AFFINITY), REQUIRED)
}

/// The pods of one node, and sums over them.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct NodeLoad {
    pods: BTreeMap<Key, Arc<Value>>,
    /// Requests by resource, in billionths.
    requested: BTreeMap<String, i128>,
    /// Host ports by number and protocol.
    ports: BTreeMap<(i64, String), usize>,
    /// Pods by the uid of their controller.
    controllers: BTreeMap<String, usize>,
}

impl NodeLoad {
    pub(super) fn len(&self) -> usize {
        self.pods.len()
    }

    pub(super) fn pods(&self) -> impl Iterator<Item = &Value> {
        self.pods.values().map(AsRef::as_ref)
    }

    /// The sum of the requests of one resource.
    pub(super) fn requested(&self, resource: &str) -> i128 {
        self.requested.get(resource).copied().unwrap_or_default()
    }

    pub(super) fn uses_port(&self, port: &(i64, String)) -> bool {
        self.ports.contains_key(port)
    }

    /// The number of pods of one controller.
    pub(super) fn controlled_by(&self, uid: &str) -> usize {
        self.controllers.get(uid).copied().unwrap_or_default()
    }

    fn add(&mut self, key: Key, pod: Arc<Value>) {
        for resource in resources(&pod) {
            let wanted = request(&pod, resource);
            if wanted != 0 {
                *self.requested.entry(resource.to_owned()).or_default() += wanted;
            }
        }
        for port in host_ports(&pod) {
            *self.ports.entry(port).or_default() += 1;
        }
        if let Some(uid) = controller(&pod) {
            *self.controllers.entry(uid.to_owned()).or_default() += 1;
        }
        self.pods.insert(key, pod);
    }

    fn remove(&mut self, key: &Key) {
        let Some(pod) = self.pods.remove(key) else { return };
        for resource in resources(&pod) {
            if let Some(sum) = self.requested.get_mut(resource) {
                *sum -= request(&pod, resource);
            }
        }
        self.requested.retain(|_, sum| *sum != 0);
        for port in host_ports(&pod) {
            release(&mut self.ports, &port);
        }
        if let Some(uid) = controller(&pod) {
            release(&mut self.controllers, &uid.to_owned());
        }
    }
}

fn release<K: Ord>(counts: &mut BTreeMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

/// The load of all nodes.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Load {
    nodes: BTreeMap<String, NodeLoad>,
    /// The node of each pod that is counted.
    placed: BTreeMap<Key, String>,
    /// The counted pods with required anti-affinity: they repel others without being asked.
    repelling: BTreeMap<Key, Arc<Value>>,
    empty: NodeLoad,
}

impl Load {
    pub(super) fn of(&self, node: &str) -> &NodeLoad {
        self.nodes.get(node).unwrap_or(&self.empty)
    }

    /// The pods with required anti-affinity, and their nodes.
    pub(super) fn repelling(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.repelling
            .iter()
            .filter_map(|(key, pod)| Some((self.placed.get(key)?.as_str(), pod.as_ref())))
    }

    /// Takes over the state of a pod after a write; `None` after its deletion.
    pub(super) fn follow(&mut self, key: &Key, pod: Option<&Arc<Value>>) {
        if let Some(node) = self.placed.remove(key) {
            self.repelling.remove(key);
            if let Some(load) = self.nodes.get_mut(&node) {
                load.remove(key);
                if load.pods.is_empty() {
                    self.nodes.remove(&node);
                }
            }
        }
        let Some(pod) = pod else { return };
        let node = value::text(pod, "spec.nodeName");
        if node.is_empty() || pods::is_finished(pod) {
            return;
        }
        if !repelled(pod).is_empty() {
            self.repelling.insert(key.clone(), pod.clone());
        }
        self.placed.insert(key.clone(), node.to_owned());
        self.nodes.entry(node.to_owned()).or_default().add(key.clone(), pod.clone());
    }
}

fn controller(pod: &Value) -> Option<&str> {
    pods::controller_of(pod).map(|owner| value::text(owner, "uid"))
}

/// The resources that a pod's containers request.
pub(super) fn resources(pod: &Value) -> Vec<&str> {
    let containers = ["spec.containers", "spec.initContainers"];
    let containers = containers.iter().flat_map(|list| value::list(pod, list));
    let mut out: Vec<&str> = containers
        .flat_map(|container| value::entries(container, "resources.requests").keys())
        .chain(value::entries(pod, "spec.overhead").keys())
        .map(String::as_str)
        .collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// The pod's request of one resource, in billionths.
pub(super) fn request(pod: &Value, resource: &str) -> i128 {
    let of = |container: &Value| {
        let requests = &container["resources"]["requests"][resource];
        quantity::nanos(requests).unwrap_or_default()
    };
    let running: i128 = value::list(pod, "spec.containers").iter().map(of).sum();
    let starting = value::list(pod, "spec.initContainers").iter().map(of).max().unwrap_or_default();
    let overhead = quantity::nanos(&pod["spec"]["overhead"][resource]).unwrap_or_default();
    running.max(starting) + overhead
}

/// The host ports of a pod, with their protocols.
pub(super) fn host_ports(pod: &Value) -> Vec<(i64, String)> {
    value::list(pod, "spec.containers")
        .iter()
        .flat_map(|container| value::list(container, "ports"))
        .filter_map(|port| {
            let number = value::int(port, "hostPort").filter(|number| *number != 0)?;
            let protocol = match value::text(port, "protocol") {
                "" => "TCP",
                protocol => protocol,
            };
            Some((number, protocol.to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A pod in one of many states, from a number.
    fn pod(number: u64) -> Value {
        let node = ["", "a", "b", "c"][(number % 4) as usize];
        let phase = ["Running", "Pending", "Succeeded", "Failed"][(number / 4 % 4) as usize];
        let mut pod = json!({
            "metadata": {"name": "x", "namespace": "n"},
            "spec": {"nodeName": node, "containers": [{
                "resources": {"requests": {"cpu": format!("{}m", number / 16 % 7), "memory": "1Mi"}},
                "ports": [{"hostPort": number / 16 % 3}],
            }]},
            "status": {"phase": phase},
        });
        if number.is_multiple_of(3) {
            pod["metadata"]["ownerReferences"] =
                json!([{"controller": true, "uid": format!("u{}", number % 5)}]);
        }
        if number.is_multiple_of(11) {
            pod["spec"]["affinity"] =
                json!({"podAntiAffinity": {REQUIRED: [{"topologyKey": "host"}]}});
        }
        pod
    }

    #[test]
    fn following_every_write_is_the_same_as_reading_everything() {
        let mut random = 7_u64;
        let mut next = || {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            random >> 33
        };
        let (mut load, mut all) = (Load::default(), BTreeMap::new());
        for _ in 0..2000 {
            let key = Key::new("", "pods", "n", &format!("p{}", next() % 40));
            if next() % 5 == 0 {
                all.remove(&key);
                load.follow(&key, None);
            } else {
                let pod = Arc::new(pod(next()));
                all.insert(key.clone(), pod.clone());
                load.follow(&key, Some(&pod));
            }
            let mut fresh = Load::default();
            for (key, pod) in &all {
                fresh.follow(key, Some(pod));
            }
            assert_eq!(load, fresh);
        }
        for key in all.keys() {
            load.follow(key, None);
        }
        assert_eq!(load, Load::default(), "nothing is left of deleted pods");
    }

    #[test]
    fn sums_are_those_of_the_pods_of_a_node() {
        let mut load = Load::default();
        for number in 0..3 {
            let key = Key::new("", "pods", "n", &number.to_string());
            let pod = json!({"spec": {"nodeName": "a", "containers": [
                {"resources": {"requests": {"cpu": "250m"}}, "ports": [{"hostPort": 80}]}]}});
            load.follow(&key, Some(&Arc::new(pod)));
        }
        let node = load.of("a");
        assert_eq!(
            (node.len(), node.requested("cpu"), node.requested("memory")),
            (3, 750_000_000, 0)
        );
        assert!(node.uses_port(&(80, "TCP".to_owned())));
        assert!(!node.uses_port(&(80, "UDP".to_owned())));
        assert_eq!(load.of("b").len(), 0);
    }
}
