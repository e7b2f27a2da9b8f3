//! DaemonSets: desired, current and ready pods.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, CONTAINERS, Column, Field, IMAGES, Literal, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::{cells, joined, labels, selector};
use crate::value::{at, entries, number};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::integer("Desired", Field("apps.v1.DaemonSetStatus", "desiredNumberScheduled")),
    Column::integer("Current", Field("apps.v1.DaemonSetStatus", "currentNumberScheduled")),
    Column::integer("Ready", Literal("The number of nodes that should be running the daemon pod and have one or more of the daemon pod running and ready.")),
    Column::integer("Up-to-date", Field("apps.v1.DaemonSetStatus", "updatedNumberScheduled")),
    Column::integer("Available", Field("apps.v1.DaemonSetStatus", "numberAvailable")),
    Column::string("Node Selector", Field("core.v1.PodSpec", "nodeSelector")),
    AGE,
    CONTAINERS.wide(),
    IMAGES.wide(),
    Column::string("Selector", Literal("A label query over pods that are managed by the daemon set. Must match in order to be controlled. If empty, defaulted to labels on Pod template. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors")).wide(),
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![
        metadata::name(object),
        number(object, "status.desiredNumberScheduled"),
        number(object, "status.currentNumberScheduled"),
        number(object, "status.numberReady"),
        number(object, "status.updatedNumberScheduled"),
        number(object, "status.numberAvailable"),
        labels(entries(object, "spec.template.spec.nodeSelector")),
        age(object, now),
        joined(object, "spec.template.spec.containers", "name"),
        joined(object, "spec.template.spec.containers", "image"),
        selector(at(object, "spec.selector")),
    ]
}
