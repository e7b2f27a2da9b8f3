//! Filters: selectors, taints, resources, ports, volumes.

use serde_json::Value;

use super::affinity;
use super::load::{Load, NodeLoad, host_ports, request, resources};
use crate::controllers::Key;
use crate::controllers::control::{Control, Object};
use crate::validation::quantity;
use crate::{metadata, value};

/// A node and its load.
pub(super) struct Machine<'l> {
    pub(super) node: Object,
    pub(super) load: &'l NodeLoad,
}

/// All nodes, and the pods on them.
pub(super) struct Machines<'l> {
    pub(super) list: Vec<Machine<'l>>,
    pub(super) load: &'l Load,
}

impl<'l> Machines<'l> {
    pub(super) fn new(nodes: Vec<Object>, load: &'l Load) -> Self {
        let list = nodes
            .into_iter()
            .map(|node| Machine { load: load.of(metadata::name(&node)), node })
            .collect();
        Self { list, load }
    }

    /// The value of a node's label. The store lists nodes by name.
    pub(super) fn label(&self, node: &str, label: &str) -> Option<&str> {
        let found = self.list.binary_search_by(|machine| metadata::name(&machine.node).cmp(node));
        metadata::entry(&self.list.get(found.ok()?)?.node, "labels", label)
    }
}

/// Why a pod does not fit on a node.
pub(super) struct Obstacle {
    pub(super) reasons: Vec<String>,
    /// Whether preemption would help.
    pub(super) preemption_helps: bool,
}

/// The requirements of a pod's claims on its node.
#[derive(Default)]
pub(super) struct Volumes {
    /// Claims that wait for the pod to be scheduled.
    pub(super) unbound: Vec<Key>,
    /// The node that volumes were already provisioned for.
    node: Option<String>,
}

/// Checks the claims of a pod; an error means that no node fits.
pub(super) fn volumes(control: &Control, pod: &Value) -> Result<Volumes, String> {
    let mut out = Volumes::default();
    for volume in value::list(pod, "spec.volumes") {
        let name = if volume["ephemeral"].is_object() {
            format!("{}-{}", metadata::name(pod), value::text(volume, "name"))
        } else {
            value::text(volume, "persistentVolumeClaim.claimName").to_owned()
        };
        if name.is_empty() {
            continue;
        }
        let key = Key::new("", "persistentvolumeclaims", metadata::namespace(pod), &name);
        let Some(claim) = control.object(&key) else {
            return Err(format!("persistentvolumeclaim \"{name}\" not found"));
        };
        if metadata::is_terminating(&claim) {
            return Err(format!("persistentvolumeclaim \"{name}\" is being deleted"));
        }
        let selected = metadata::entry(&claim, "annotations", super::SELECTED_NODE);
        if let Some(node) = selected {
            out.node = Some(node.to_owned());
        }
        if claim["status"]["phase"] == "Bound" {
            continue;
        }
        let class = value::text(&claim, "spec.storageClassName");
        let class = Key::new("storage.k8s.io", "storageclasses", "", class);
        let late = control
            .object(&class)
            .is_some_and(|class| class["volumeBindingMode"] == "WaitForFirstConsumer");
        if !late {
            return Err("pod has unbound immediate PersistentVolumeClaims".to_owned());
        }
        out.unbound.push(key);
    }
    Ok(out)
}

/// Why the pod does not fit on the node, by the first filter that fails.
pub(super) fn obstacle(
    pod: &Value,
    machine: &Machine<'_>,
    all: &Machines<'_>,
    volumes: &Volumes,
) -> Option<Obstacle> {
    let hopeless =
        |reason: &str| Some(Obstacle { reasons: vec![reason.to_owned()], preemption_helps: false });
    let helped = |reasons: Vec<String>| Some(Obstacle { reasons, preemption_helps: true });
    let node: &Value = &machine.node;
    if value::flag(node, "spec.unschedulable") && !tolerates(pod, &unschedulable_taint()) {
        return hopeless("node(s) were unschedulable");
    }
    let repelled = value::list(node, "spec.taints").iter().any(|taint| {
        matches!(value::text(taint, "effect"), "NoSchedule" | "NoExecute") && !tolerates(pod, taint)
    });
    if repelled {
        return hopeless("node(s) had untolerated taint(s)");
    }
    if !affinity::node_matches(pod, node) {
        return hopeless("node(s) didn't match Pod's node affinity/selector");
    }
    if ports_clash(pod, machine) {
        return helped(vec![
            "node(s) didn't have free ports for the requested pod ports".to_owned(),
        ]);
    }
    let lacking = lacking(pod, machine);
    if !lacking.is_empty() {
        return helped(lacking);
    }
    if volumes.node.as_deref().is_some_and(|wanted| wanted != metadata::name(node)) {
        return hopeless("node(s) didn't match PersistentVolume's node affinity");
    }
    if !affinity::spread_allows(pod, machine, all) {
        return helped(vec!["node(s) didn't match pod topology spread constraints".to_owned()]);
    }
    affinity::pods_forbid(pod, machine, all).map(|(reason, preemption_helps)| Obstacle {
        reasons: vec![reason.to_owned()],
        preemption_helps,
    })
}

fn unschedulable_taint() -> Value {
    serde_json::json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
}

/// Whether one of the pod's tolerations matches the taint.
pub(in crate::controllers) fn tolerates(pod: &Value, taint: &Value) -> bool {
    value::list(pod, "spec.tolerations").iter().any(|toleration| {
        let text = |field| value::text(toleration, field);
        let effect_fits = text("effect").is_empty() || toleration["effect"] == taint["effect"];
        let exists = text("operator") == "Exists";
        let key_fits = (text("key").is_empty() && exists) || toleration["key"] == taint["key"];
        let value_fits = exists || text("value") == value::text(taint, "value");
        effect_fits && key_fits && value_fits
    })
}

/// The resources that are insufficient, in upstream's texts.
fn lacking(pod: &Value, machine: &Machine<'_>) -> Vec<String> {
    let allocatable = &machine.node["status"]["allocatable"];
    let mut out = Vec::new();
    let most = quantity::nanos(&allocatable["pods"]).unwrap_or_default() / 1_000_000_000;
    if i128::try_from(machine.load.len()).unwrap_or_default() + 1 > most {
        out.push("Too many pods".to_owned());
    }
    let usual = ["cpu", "memory", "ephemeral-storage"];
    let others = resources(pod).into_iter().filter(|name| !usual.contains(name));
    for name in usual.into_iter().chain(others) {
        let wanted = request(pod, name);
        if wanted == 0 {
            continue;
        }
        let used = machine.load.requested(name);
        if used + wanted > quantity::nanos(&allocatable[name]).unwrap_or_default() {
            out.push(format!("Insufficient {name}"));
        }
    }
    out
}

fn ports_clash(pod: &Value, machine: &Machine<'_>) -> bool {
    host_ports(pod).iter().any(|port| machine.load.uses_port(port))
}
