//! CSINodes: number of drivers.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Literal, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::cells;
use crate::value::list;

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::integer(
        "Drivers",
        Literal("Drivers indicates the number of CSI drivers registered on the node"),
    ),
    AGE,
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![metadata::name(object), list(object, "spec.drivers").len(), age(object, now)]
}
