//! HorizontalPodAutoscaler between v1 and v2. Fields that v1 lacks are kept in annotations.

use serde_json::{Map, Value, json};
use sluice_base::gojson;

use crate::value::{at, entries, list, present, remove, set, slot, text};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

/// Names of a metric's fields in v1 and in v2, by source.
const FIELDS: [(&str, &[(&str, &str)]); 5] = [
    (
        "resource",
        &[
            ("name", "name"),
            ("targetAverageUtilization", "target.averageUtilization"),
            ("targetAverageValue", "target.averageValue"),
            ("currentAverageUtilization", "current.averageUtilization"),
            ("currentAverageValue", "current.averageValue"),
        ],
    ),
    (
        "containerResource",
        &[
            ("name", "name"),
            ("container", "container"),
            ("targetAverageUtilization", "target.averageUtilization"),
            ("targetAverageValue", "target.averageValue"),
            ("currentAverageUtilization", "current.averageUtilization"),
            ("currentAverageValue", "current.averageValue"),
        ],
    ),
    (
        "pods",
        &[
            ("metricName", "metric.name"),
            ("selector", "metric.selector"),
            ("targetAverageValue", "target.averageValue"),
            ("currentAverageValue", "current.averageValue"),
        ],
    ),
    (
        "object",
        &[
            ("target", "describedObject"),
            ("metricName", "metric.name"),
            ("selector", "metric.selector"),
            ("targetValue", "target.value"),
            ("averageValue", "target.averageValue"),
            ("currentValue", "current.value"),
        ],
    ),
    (
        "external",
        &[
            ("metricName", "metric.name"),
            ("metricSelector", "metric.selector"),
            ("targetValue", "target.value"),
            ("targetAverageValue", "target.averageValue"),
            ("currentValue", "current.value"),
            ("currentAverageValue", "current.averageValue"),
        ],
    ),
];

/// Converts a v1 object to v2; others are returned unchanged.
pub(crate) fn to_v2(object: &Value) -> Value {
    let mut out = object.clone();
    if text(object, "apiVersion") != "autoscaling/v1" {
        return out;
    }
    set(&mut out, "apiVersion", "autoscaling/v2");
    let mut metrics = from_annotation(&mut out, METRICS);
    if let Some(percent) = remove(&mut out, "spec.targetCPUUtilizationPercentage") {
        let target = json!({"type": "Utilization", "averageUtilization": percent});
        metrics.push(json!({"type": "Resource", "resource": {"name": "cpu", "target": target}}));
    }
    if !metrics.is_empty() {
        set(&mut out, "spec.metrics", metrics);
    }
    if let Some(behavior) = take_annotation(&mut out, BEHAVIOR) {
        set(&mut out, "spec.behavior", behavior);
    }
    let mut current = from_annotation(&mut out, CURRENT);
    // The annotation has more detail than the field.
    let percent = remove(&mut out, "status.currentCPUUtilizationPercentage");
    if let (true, Some(percent)) = (current.is_empty(), percent) {
        let reading = json!({"averageUtilization": percent, "averageValue": "0"});
        current.push(json!({"type": "Resource", "resource": {"name": "cpu", "current": reading}}));
    }
    if !current.is_empty() {
        set(&mut out, "status.currentMetrics", current);
    }
    if let Some(conditions) = take_annotation(&mut out, CONDITIONS) {
        set(&mut out, "status.conditions", conditions);
    }
    if entries(&out, "metadata.annotations").is_empty() {
        remove(&mut out, "metadata.annotations");
    }
    out
}

/// Converts a v2 object to v1; others are returned unchanged.
pub(crate) fn to_v1(object: &Value) -> Value {
    let mut out = object.clone();
    if text(object, "apiVersion") != "autoscaling/v2" {
        return out;
    }
    set(&mut out, "apiVersion", "autoscaling/v1");
    let is_cpu = |metric: &&Value, field: &str| {
        text(metric, "type") == "Resource"
            && text(metric, "resource.name") == "cpu"
            && present(metric, &format!("resource.{field}.averageUtilization"))
    };
    for (from, to, field, annotation) in [
        ("spec.metrics", "spec.targetCPUUtilizationPercentage", "target", METRICS),
        ("status.currentMetrics", "status.currentCPUUtilizationPercentage", "current", CURRENT),
    ] {
        let metrics = list(object, from);
        if let Some(cpu) = metrics.iter().find(|metric| is_cpu(metric, field)) {
            let percent = at(cpu, &format!("resource.{field}.averageUtilization")).clone();
            set(&mut out, to, percent);
        }
        let others: Vec<Value> = metrics
            .iter()
            .filter(|metric| annotation == CURRENT || !is_cpu(metric, field))
            .map(|m| renamed(m, true))
            .collect();
        remove(&mut out, from);
        if !others.is_empty() {
            put_annotation(&mut out, annotation, &others.into());
        }
    }
    for (from, annotation) in [("spec.behavior", BEHAVIOR), ("status.conditions", CONDITIONS)] {
        if let Some(value) = remove(&mut out, from).filter(|value| !value.is_null()) {
            put_annotation(&mut out, annotation, &value);
        }
    }
    out
}

/// A metric with the field names of the other version.
fn renamed(metric: &Value, to_v1: bool) -> Value {
    let mut out = json!({"type": at(metric, "type")});
    for (source, fields) in FIELDS {
        let before = at(metric, source);
        if before.is_null() {
            continue;
        }
        let mut after = Value::Object(Map::new());
        for (v1, v2) in fields {
            let (from, to) = if to_v1 { (v2, v1) } else { (v1, v2) };
            if present(before, from) {
                set(&mut after, to, at(before, from).clone());
            }
        }
        if !to_v1 && present(&after, "target") {
            let kind = if present(&after, "target.averageUtilization") {
                "Utilization"
            } else if present(&after, "target.averageValue") {
                "AverageValue"
            } else {
                "Value"
            };
            set(&mut after, "target.type", kind);
        }
        set(&mut out, source, after);
    }
    out
}

fn take_annotation(object: &mut Value, name: &str) -> Option<Value> {
    let text = entries(object, "metadata.annotations").get(name)?.as_str()?.to_owned();
    let value = serde_json::from_str(&text).ok()?;
    let annotations = slot(object, "metadata.annotations")?.as_object_mut()?;
    annotations.remove(name);
    Some(value)
}

fn from_annotation(object: &mut Value, name: &str) -> Vec<Value> {
    match take_annotation(object, name) {
        Some(Value::Array(metrics)) => {
            metrics.iter().map(|metric| renamed(metric, false)).collect()
        }
        _ => Vec::new(),
    }
}

fn put_annotation(object: &mut Value, name: &str, value: &Value) {
    let Some(annotations) = slot(object, "metadata.annotations") else { return };
    if annotations.is_null() {
        *annotations = Value::Object(Map::new());
    }
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(name.to_owned(), gojson::to_string(value).into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_versions_carry_the_same() {
        let v2 = json!({
            "apiVersion": "autoscaling/v2",
            "metadata": {"name": "a"},
            "spec": {
                "maxReplicas": 3,
                "metrics": [
                    {"type": "Pods", "pods": {"metric": {"name": "qps"}, "target": {"type": "AverageValue", "averageValue": "10"}}},
                    {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}},
                ],
                "behavior": {"scaleDown": {"selectPolicy": "Max"}},
            },
            "status": {"currentMetrics": [
                {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 20, "averageValue": "7m"}}},
            ]},
        });
        let v1 = to_v1(&v2);
        assert_eq!(
            at(&v1, "spec"),
            &json!({"maxReplicas": 3, "targetCPUUtilizationPercentage": 60})
        );
        assert_eq!(
            entries(&v1, "metadata.annotations")[METRICS],
            r#"[{"pods":{"metricName":"qps","targetAverageValue":"10"},"type":"Pods"}]"#
        );
        assert_eq!(to_v2(&v1), v2);
    }
}
