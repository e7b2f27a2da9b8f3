//! TaintNodesByCondition: a new node has the taint `not-ready` until its kubelet reports.

use serde_json::{Value, json};

const NOT_READY: &str = "node.kubernetes.io/not-ready";

pub(super) fn admit(node: &mut Value) {
    let mut taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
    let known =
        taints.iter().any(|taint| taint["key"] == NOT_READY && taint["effect"] == "NoSchedule");
    if !known {
        taints.push(json!({"key": NOT_READY, "effect": "NoSchedule"}));
        node["spec"]["taints"] = taints.into();
    }
}
