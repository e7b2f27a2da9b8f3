//! Scales: desired and current replicas.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Description, Field, Printer};
use crate::printers::age::age;
use crate::printers::cell::cells;
use crate::value::number;

pub(in crate::printers) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    // Without the format `name`, unlike everywhere else.
    Column::string("Name", Description::Metadata("name")),
    Column::integer("Desired", Field("autoscaling.v1.ScaleSpec", "replicas")),
    Column::integer("Available", Field("autoscaling.v1.ScaleStatus", "replicas")),
    AGE,
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![
        metadata::name(object),
        number(object, "spec.replicas"),
        number(object, "status.replicas"),
        age(object, now),
    ]
}
