//! Secrets: type and number of keys.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Field, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::cells;
use crate::value::{entries, text};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::string("Type", Field("core.v1.Secret", "type")),
    Column::string("Data", Field("core.v1.Secret", "data")),
    AGE,
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![
        metadata::name(object),
        text(object, "type"),
        entries(object, "data").len(),
        age(object, now),
    ]
}
