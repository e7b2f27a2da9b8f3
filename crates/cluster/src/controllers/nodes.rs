//! The nodes of the cluster: they register, report and renew their leases.

use std::time::Duration;

use serde_json::{Value, json};

use super::control::{Actor, CONTROLLER_MANAGER, Control};
use super::{Controller, Key, Next, Reconcile};
use crate::store::{Change, Event, GroupResource};
use crate::{metadata, value};

/// The number of nodes.
const NODES: u64 = 3;
/// The renewal interval of node leases.
const RENEWAL: Duration = Duration::from_secs(10);
const LEASE_SECONDS: u64 = 40;
const VERSION: &str = "v1.35.4";
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";
const NOT_READY: &str = "node.kubernetes.io/not-ready";

const LIFECYCLE: Actor = Actor {
    user: "system:serviceaccount:kube-system:node-controller",
    manager: CONTROLLER_MANAGER.manager,
};
/// The kubelet of a node.
pub(super) const KUBELET: Actor = Actor { user: "system:node", manager: "kubelet" };

/// Registers the nodes when the cluster starts and renews their leases.
pub(super) struct NodeController;

impl Controller for NodeController {
    fn wakes(&self, _: &Control, resource: &GroupResource, event: &Event) -> Vec<Key> {
        if !resource.group.is_empty() {
            return Vec::new();
        }
        match resource.resource.as_str() {
            "nodes" if event.change == Change::Modified => {
                let cordoned = |node: &Value| value::flag(node, "spec.unschedulable");
                let before = event.previous.as_ref().map(|previous| cordoned(&previous.value));
                let changed = before != Some(cordoned(&event.object.value));
                if changed { vec![Key::of(resource, &event.key)] } else { Vec::new() }
            }
            // Leases need this namespace, so nodes are registered when it exists.
            "namespaces"
                if event.change == Change::Added && event.key.as_ref() == "kube-node-lease" =>
            {
                (1..=NODES).map(|number| Key::new("", "nodes", "", &name(number))).collect()
            }
            _ => Vec::new(),
        }
    }

    fn reaction(&self) -> (Duration, Duration) {
        (Duration::ZERO, Duration::from_millis(1))
    }

    fn reconcile<'a>(&'a self, control: &'a Control, key: &'a Key) -> Reconcile<'a> {
        Box::pin(async move {
            let lease = Key::new("coordination.k8s.io", "leases", "kube-node-lease", &key.name);
            let node = control.object(key);
            if control.object(&lease).is_some() {
                // A deleted node does not come back by itself.
                let Some(node) = node else { return Next::Wait };
                taint_cordoned(control, key, &node).await;
                let now = control.now_micros();
                let _ = control
                    .update(KUBELET, &lease, "", &mut |lease| {
                        lease["spec"]["renewTime"] = now.as_str().into();
                    })
                    .await;
                return Next::After(RENEWAL);
            }
            register(control, key, &lease).await;
            Next::After(RENEWAL)
        })
    }
}

/// Adds the `unschedulable` taint to a cordoned node, and removes it afterwards.
async fn taint_cordoned(control: &Control, key: &Key, node: &Value) {
    let tainted = |taint: &Value| taint["key"] == UNSCHEDULABLE;
    let cordoned = value::flag(node, "spec.unschedulable");
    if cordoned == value::list(node, "spec.taints").iter().any(tainted) {
        return;
    }
    let now = control.now();
    let _ = control
        .update(LIFECYCLE, key, "", &mut |node| {
            let mut taints = value::list(node, "spec.taints").to_vec();
            taints.retain(|taint| !tainted(taint));
            if cordoned {
                let effect = "NoSchedule";
                taints.push(json!({"key": UNSCHEDULABLE, "effect": effect, "timeAdded": now}));
            }
            node["spec"]["taints"] = if taints.is_empty() { Value::Null } else { json!(taints) };
        })
        .await;
}

fn name(number: u64) -> String {
    format!("node-{number}")
}

fn number(name: &str) -> u64 {
    name.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or(1)
}

/// The address of a node.
pub(super) fn address(node: &Value) -> &str {
    value::list(node, "status.addresses")
        .iter()
        .find(|address| address["type"] == "InternalIP")
        .map_or("", |address| value::text(address, "address"))
}

async fn register(control: &Control, key: &Key, lease: &Key) {
    let random = &control.state.random;
    let machine = format!("{:016x}{:016x}", random.next(), random.next());
    let status = status(&key.name, &machine, &random.uuid(), &random.uuid(), &control.now());
    let subnet = format!("10.244.{}.0/24", number(&key.name));
    let node = json!({
        "metadata": {
            "name": key.name,
            "labels": {
                "beta.kubernetes.io/arch": "amd64",
                "beta.kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": key.name,
                "kubernetes.io/os": "linux",
            },
            "annotations": {
                "node.alpha.kubernetes.io/ttl": "0",
                "volumes.kubernetes.io/controller-managed-attach-detach": "true",
            },
        },
        "spec": {"podCIDR": subnet, "podCIDRs": [subnet]},
        "status": status,
    });
    let nodes = GroupResource::new("", "nodes");
    if control.create(KUBELET, &nodes, "", node).await.is_err() {
        return;
    }
    let _ =
        control.update(KUBELET, key, "status", &mut |node| node["status"] = status.clone()).await;
    let mut clear = |node: &mut Value| {
        let mut taints = value::list(node, "spec.taints").to_vec();
        taints.retain(|taint| taint["key"] != NOT_READY);
        node["spec"]["taints"] = if taints.is_empty() { Value::Null } else { json!(taints) };
    };
    let Ok(node) = control.update(LIFECYCLE, key, "", &mut clear).await else { return };
    let owned = json!({
        "metadata": {
            "name": key.name,
            "namespace": lease.namespace,
            "ownerReferences": [{
                "apiVersion": "v1", "kind": "Node", "name": key.name, "uid": metadata::uid(&node),
            }],
        },
        "spec": {
            "holderIdentity": key.name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": control.now_micros(),
        },
    });
    let _ = control.create(KUBELET, &lease.resource, &lease.namespace, owned).await;
}

fn status(name: &str, machine: &str, system: &str, boot: &str, now: &str) -> Value {
    let conditions: Vec<Value> = [
        (
            "MemoryPressure",
            "False",
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available",
        ),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ]
    .into_iter()
    .map(|(kind, status, reason, message)| {
        json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastHeartbeatTime": now, "lastTransitionTime": now,
        })
    })
    .collect();
    let capacity = |memory: &str| {
        json!({
            "cpu": "8", "memory": memory, "pods": "110", "ephemeral-storage": "102134024Ki",
            "hugepages-1Gi": "0", "hugepages-2Mi": "0",
        })
    };
    json!({
        "addresses": [
            {"type": "InternalIP", "address": format!("10.0.0.{}", 10 + number(name))},
            {"type": "Hostname", "address": name},
        ],
        "capacity": capacity("32845204Ki"),
        "allocatable": capacity("32742804Ki"),
        "conditions": conditions,
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": boot,
            "containerRuntimeVersion": "containerd://2.1.5",
            "kernelVersion": "6.12.0-sluice",
            "kubeProxyVersion": "",
            "kubeletVersion": VERSION,
            "machineID": machine,
            "operatingSystem": "linux",
            "osImage": "Sluice simulated node",
            "systemUUID": system,
        },
    })
}
