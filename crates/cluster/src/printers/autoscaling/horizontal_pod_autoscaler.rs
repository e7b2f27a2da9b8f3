//! HorizontalPodAutoscalers: target and metrics.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Field, Literal, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::{cells, quantity};
use crate::value::{at, int, list, number, present, text};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::string(
        "Reference",
        Field("autoscaling.v2.HorizontalPodAutoscalerSpec", "scaleTargetRef"),
    ),
    Column::string(
        "Targets",
        Literal(
            "metrics contains the specifications for which to use to calculate the desired replica count (the maximum replica count across all metrics will be used).  The desired replica count is calculated multiplying the ratio between the target value and the current value by the current number of pods.  Ergo, metrics used must decrease as the pod count is increased, and vice-versa.  See the individual metric source types for more information about how each type of metric must respond.",
        ),
    ),
    Column::string("MinPods", Field("autoscaling.v1.HorizontalPodAutoscalerSpec", "minReplicas")),
    Column::string("MaxPods", Field("autoscaling.v2.HorizontalPodAutoscalerSpec", "maxReplicas")),
    Column::string(
        "Replicas",
        Field("autoscaling.v2.HorizontalPodAutoscalerStatus", "currentReplicas"),
    ),
    AGE,
];

/// The number of metrics that are shown.
const SHOWN: usize = 2;

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let least = int(object, "spec.minReplicas");
    cells![
        metadata::name(object),
        format!(
            "{}/{}",
            text(object, "spec.scaleTargetRef.kind"),
            text(object, "spec.scaleTargetRef.name")
        ),
        targets(object),
        least.map_or_else(|| "<unset>".to_owned(), |least| least.to_string()),
        number(object, "spec.maxReplicas"),
        number(object, "status.currentReplicas"),
        age(object, now),
    ]
}

fn targets(object: &Value) -> String {
    let statuses = list(object, "status.currentMetrics");
    let status = |index| statuses.get(index).unwrap_or(&Value::Null);
    let specs = list(object, "spec.metrics").iter().enumerate();
    let all: Vec<String> = specs.map(|(index, spec)| metric(spec, status(index))).collect();
    match all.len() {
        0 => "<none>".to_owned(),
        1..=SHOWN => all.join(", "),
        count => format!("{} + {} more...", all[..SHOWN].join(", "), count - SHOWN),
    }
}

fn metric(spec: &Value, status: &Value) -> String {
    let kind = text(spec, "type");
    let (field, named) = match kind {
        "External" => ("external", false),
        "Pods" => ("pods", false),
        "Object" => ("object", false),
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        _ => return "<unknown type>".to_owned(),
    };
    let (spec, status) = (at(spec, field), at(status, field));
    let averaged = present(spec, "target.averageValue");
    if named {
        let name = text(spec, "name");
        let (current, target) = if averaged {
            (current(status, "averageValue", "<nil>"), amount(spec, "target.averageValue", "<nil>"))
        } else {
            (
                percent(at(status, "current.averageUtilization"), "<unknown>"),
                percent(at(spec, "target.averageUtilization"), "<auto>"),
            )
        };
        return format!("{name}: {current}/{target}");
    }
    if kind == "Pods" {
        let target = amount(spec, "target.averageValue", "<nil>");
        return format!("{}/{target}", current(status, "averageValue", "<nil>"));
    }
    if averaged {
        let current = current(status, "averageValue", "<unknown>");
        return format!("{current}/{} (avg)", amount(spec, "target.averageValue", "<nil>"));
    }
    format!("{}/{}", current(status, "value", "<nil>"), amount(spec, "target.value", "<nil>"))
}

/// The current value of a metric; `missing` if the status lacks it.
fn current(status: &Value, field: &str, missing: &str) -> String {
    if status.is_null() {
        return "<unknown>".to_owned();
    }
    amount(at(status, "current"), field, missing)
}

fn amount(value: &Value, path: &str, missing: &str) -> String {
    if present(value, path) { quantity(at(value, path)) } else { missing.to_owned() }
}

fn percent(value: &Value, missing: &str) -> String {
    value.as_i64().map_or_else(|| missing.to_owned(), |value| format!("{value}%"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metrics_print_current_and_target() {
        let cpu = |target: Value| json!({"type": "Resource", "resource": {"name": "cpu", "target": target}});
        let used = |current: Value| json!({"type": "Resource", "resource": {"name": "cpu", "current": current}});
        let pods = json!({"type": "Pods", "pods": {"target": {"averageValue": "10"}}});
        let cases = [
            (json!([]), json!([]), "<none>"),
            (json!([cpu(json!({"averageUtilization": 80}))]), json!([]), "cpu: <unknown>/80%"),
            (
                json!([cpu(json!({"averageUtilization": 80}))]),
                json!([used(json!({"averageUtilization": 20}))]),
                "cpu: 20%/80%",
            ),
            (json!([cpu(json!({}))]), json!([]), "cpu: <unknown>/<auto>"),
            (
                json!([cpu(json!({"averageValue": "200m"}))]),
                json!([used(json!({"averageValue": "50m"}))]),
                "cpu: 50m/200m",
            ),
            (
                json!([{"type": "External", "external": {"target": {"averageValue": "5"}}}]),
                json!([]),
                "<unknown>/5 (avg)",
            ),
            (
                json!([{"type": "Object", "object": {"target": {"value": "5"}}}]),
                json!([{"type": "Object", "object": {"current": {"value": "2"}}}]),
                "2/5",
            ),
            (json!([pods, pods, pods]), json!([]), "<unknown>/10, <unknown>/10 + 1 more..."),
            (json!([{"type": "Other"}]), json!([]), "<unknown type>"),
        ];
        for (metrics, current, expected) in cases {
            let object =
                json!({"spec": {"metrics": metrics}, "status": {"currentMetrics": current}});
            assert_eq!(targets(&object), expected, "{metrics}");
        }
    }
}
