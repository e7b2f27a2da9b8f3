//! Namespaces: their phase.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Literal, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::cells;
use crate::value::text;

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] =
    &[NAME, Column::string("Status", Literal("The status of the namespace")), AGE];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![metadata::name(object), text(object, "status.phase"), age(object, now)]
}
