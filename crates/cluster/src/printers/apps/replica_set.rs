//! ReplicaSets: desired, current and ready pods.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, CONTAINERS, Column, Field, IMAGES, Literal, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::{cells, joined, selector};
use crate::value::{at, number};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::integer("Desired", Field("apps.v1.ReplicaSetSpec", "replicas")),
    Column::integer("Current", Field("apps.v1.ReplicaSetStatus", "replicas")),
    Column::integer("Ready", Field("apps.v1.ReplicaSetStatus", "readyReplicas")),
    AGE,
    CONTAINERS.wide(),
    IMAGES.wide(),
    Column::string("Selector", Literal("Selector is a label query over pods that should match the replica count. If the selector is empty, it is defaulted to the labels present on the pod template. Label keys and values that must match in order to be controlled by this replica set. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors")).wide(),
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![
        metadata::name(object),
        number(object, "spec.replicas"),
        number(object, "status.replicas"),
        number(object, "status.readyReplicas"),
        age(object, now),
        joined(object, "spec.template.spec.containers", "name"),
        joined(object, "spec.template.spec.containers", "image"),
        selector(at(object, "spec.selector")),
    ]
}
