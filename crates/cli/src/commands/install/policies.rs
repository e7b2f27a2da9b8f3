//! The namespace with its network policies, and the quota that allows critical pods.

use serde_json::{Value, json};

use super::plan::Plan;

/// The namespace.
pub(super) fn namespace(plan: &Plan) -> Value {
    let labels = plan.labels_and(&[
        ("pod-security.kubernetes.io/warn", "restricted"),
        ("pod-security.kubernetes.io/warn-version", "latest"),
    ]);
    json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": plan.namespace, "labels": labels},
    })
}

/// Ingress to the pods: from the namespace, from scrapers of metrics, and for webhooks.
pub(super) fn network_policies(plan: &Plan) -> Vec<Value> {
    let from_anywhere = |port: u16| {
        json!([{
            "from": [{"namespaceSelector": {}}],
            "ports": [{"port": port, "protocol": "TCP"}],
        }])
    };
    let specs = [
        (
            "allow-egress",
            json!({
                "podSelector": {},
                "policyTypes": ["Ingress", "Egress"],
                "ingress": [{"from": [{"podSelector": {}}]}],
                "egress": [{}],
            }),
        ),
        (
            "allow-scraping",
            json!({"podSelector": {}, "policyTypes": ["Ingress"], "ingress": from_anywhere(8080)}),
        ),
        (
            "allow-webhooks",
            json!({
                "podSelector": {"matchLabels": {"app": "notification-controller"}},
                "policyTypes": ["Ingress"],
                "ingress": from_anywhere(9292),
            }),
        ),
    ];
    let object = |(name, spec): (&str, Value)| {
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
            "metadata": {"name": name, "namespace": plan.namespace, "labels": plan.labels()},
            "spec": spec,
        })
    };
    specs.into_iter().map(object).collect()
}

/// Some clusters allow critical pods only in namespaces with such a quota.
pub(super) fn quota(plan: &Plan) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {
            "name": plan.suffixed("critical-pods"),
            "namespace": plan.namespace,
            "labels": plan.labels(),
        },
        "spec": {
            "hard": {"pods": "1000"},
            "scopeSelector": {"matchExpressions": [{
                "operator": "In",
                "scopeName": "PriorityClass",
                "values": ["system-node-critical", "system-cluster-critical"],
            }]},
        },
    })
}
