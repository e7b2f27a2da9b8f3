//! Nodes: readiness, roles, versions and addresses.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Field, Literal, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::{cells, or};
use crate::value::{entries, flag, list, text};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::string("Status", Literal("The status of the node")),
    Column::string("Roles", Literal("The roles of the node")),
    AGE,
    Column::string("Version", Field("core.v1.NodeSystemInfo", "kubeletVersion")),
    Column::string("Internal-IP", Field("core.v1.NodeStatus", "addresses")).wide(),
    Column::string("External-IP", Field("core.v1.NodeStatus", "addresses")).wide(),
    Column::string("OS-Image", Field("core.v1.NodeSystemInfo", "osImage")).wide(),
    Column::string("Kernel-Version", Field("core.v1.NodeSystemInfo", "kernelVersion")).wide(),
    Column::string("Container-Runtime", Field("core.v1.NodeSystemInfo", "containerRuntimeVersion"))
        .wide(),
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let address = |kind: &str| {
        let mut addresses = list(object, "status.addresses").iter();
        addresses
            .find(|address| text(address, "type") == kind)
            .map_or("<none>", |address| text(address, "address"))
    };
    let known = |field: &str| or(text(object, field), "<unknown>");
    cells![
        metadata::name(object),
        status(object),
        roles(object),
        age(object, now),
        text(object, "status.nodeInfo.kubeletVersion"),
        address("InternalIP"),
        address("ExternalIP"),
        known("status.nodeInfo.osImage"),
        known("status.nodeInfo.kernelVersion"),
        known("status.nodeInfo.containerRuntimeVersion"),
    ]
}

fn status(object: &Value) -> String {
    // The last condition of a type counts.
    let ready =
        list(object, "status.conditions").iter().rfind(|found| text(found, "type") == "Ready");
    let mut status = match ready {
        None => "Unknown",
        Some(found) if text(found, "status") == "True" => "Ready",
        Some(_) => "NotReady",
    }
    .to_owned();
    if flag(object, "spec.unschedulable") {
        status.push_str(",SchedulingDisabled");
    }
    status
}

/// The roles from the labels `node-role.kubernetes.io/<role>` and `kubernetes.io/role=<role>`.
fn roles(object: &Value) -> String {
    let roles: BTreeSet<&str> = entries(object, "metadata.labels")
        .iter()
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => Some(role),
            None if key == "kubernetes.io/role" => value.as_str(),
            None => None,
        })
        .filter(|role| !role.is_empty())
        .collect();
    or(&roles.into_iter().collect::<Vec<_>>().join(","), "<none>").to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn roles_come_from_two_kinds_of_labels() {
        let cases = [
            (json!({}), "<none>"),
            (json!({"node-role.kubernetes.io/": "", "kubernetes.io/role": ""}), "<none>"),
            (
                json!({"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "control"}),
                "control,worker",
            ),
        ];
        for (labels, expected) in cases {
            assert_eq!(roles(&json!({"metadata": {"labels": labels}})), expected);
        }
    }

    #[test]
    fn a_node_is_ready_by_its_condition_and_may_be_closed() {
        let cases = [
            (json!({}), "Unknown"),
            (json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}), "Ready"),
            (
                json!({
                    "spec": {"unschedulable": true},
                    "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]},
                }),
                "NotReady,SchedulingDisabled",
            ),
        ];
        for (node, expected) in cases {
            assert_eq!(status(&node), expected);
        }
    }
}
