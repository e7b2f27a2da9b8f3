//! StatefulSets: ready pods.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, CONTAINERS, Column, IMAGES, Literal, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::{cells, joined};
use crate::value::number;

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::string("Ready", Literal("Number of the pod with ready state")),
    AGE,
    CONTAINERS.wide(),
    IMAGES.wide(),
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let (ready, wanted) = (number(object, "status.readyReplicas"), number(object, "spec.replicas"));
    cells![
        metadata::name(object),
        format!("{ready}/{wanted}"),
        age(object, now),
        joined(object, "spec.template.spec.containers", "name"),
        joined(object, "spec.template.spec.containers", "image"),
    ]
}
