//! PriorityClasses: the value, and whether it is the global default.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Field, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::cells;
use crate::value::{flag, number, text};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::integer("Value", Field("scheduling.v1.PriorityClass", "value")),
    Column::boolean("Global-Default", Field("scheduling.v1.PriorityClass", "globalDefault")),
    AGE,
    Column::string("PreemptionPolicy", Field("scheduling.v1.PriorityClass", "preemptionPolicy")),
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![
        metadata::name(object),
        number(object, "value"),
        flag(object, "globalDefault"),
        age(object, now),
        text(object, "preemptionPolicy"),
    ]
}
