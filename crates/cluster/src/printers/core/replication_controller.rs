//! ReplicationControllers: desired, current and ready pods.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, CONTAINERS, Column, Field, IMAGES, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::{cells, joined, labels};
use crate::value::{entries, number};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::integer("Desired", Field("core.v1.ReplicationControllerSpec", "replicas")),
    Column::integer("Current", Field("core.v1.ReplicationControllerStatus", "replicas")),
    Column::integer("Ready", Field("core.v1.ReplicationControllerStatus", "readyReplicas")),
    AGE,
    CONTAINERS.wide(),
    IMAGES.wide(),
    Column::string("Selector", Field("core.v1.ReplicationControllerSpec", "selector")).wide(),
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
        labels(entries(object, "spec.selector")),
    ]
}
