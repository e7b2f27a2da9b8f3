//! Pods: a one-word state of their containers.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::pod_status::Summary;
use crate::metadata;
use crate::printer::{AGE, Column, Field, Literal, NAME, Printer};
use crate::printers::age::{age, human};
use crate::printers::cell::{cells, condition, or};
use crate::value::{list, text};

pub(super) const PRINTER: Printer =
    Printer { conditions: Some(conditions), ..Printer::new(COLUMNS, cells) };

const COLUMNS: &[Column] = &[
    NAME,
    Column::string(
        "Ready",
        Literal("The aggregate readiness state of this pod for accepting traffic."),
    ),
    Column::string("Status", Literal("The aggregate status of the containers in this pod.")),
    Column::string(
        "Restarts",
        Literal(
            "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.",
        ),
    ),
    AGE,
    Column::string("IP", Field("core.v1.PodStatus", "podIP")).wide(),
    Column::string("Node", Field("core.v1.PodSpec", "nodeName")).wide(),
    Column::string("Nominated Node", Field("core.v1.PodStatus", "nominatedNodeName")).wide(),
    Column::string("Readiness Gates", Field("core.v1.PodSpec", "readinessGates")).wide(),
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let summary = Summary::of(object);
    let restarts = match summary.last_restart {
        Some(moment) if summary.restarts != 0 => {
            format!("{} ({} ago)", summary.restarts, human(now.duration_since(moment)))
        }
        _ => summary.restarts.to_string(),
    };
    let ip = list(object, "status.podIPs").first().map_or("", |entry| text(entry, "ip"));
    cells![
        metadata::name(object),
        format!("{}/{}", summary.ready, summary.total),
        summary.reason,
        restarts,
        age(object, now),
        or(ip, "<none>"),
        or(text(object, "spec.nodeName"), "<none>"),
        or(text(object, "status.nominatedNodeName"), "<none>"),
        readiness_gates(object),
    ]
}

fn readiness_gates(object: &Value) -> String {
    let gates = list(object, "spec.readinessGates");
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let open = gates.iter().filter(|gate| {
        condition(object, "status.conditions", text(gate, "conditionType"))
            .is_some_and(|found| text(found, "status") == "True")
    });
    format!("{}/{}", open.count(), gates.len())
}

/// The row conditions of finished pods.
fn conditions(object: &Value) -> Vec<Value> {
    let phase = text(object, "status.phase");
    let message = match phase {
        "Succeeded" => "The pod has completed successfully.",
        "Failed" => "The pod failed.",
        _ => return Vec::new(),
    };
    vec![json!({"type": "Completed", "status": "True", "reason": phase, "message": message})]
}
