//! ResourceClaimTemplates.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::cells;

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[NAME, AGE];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![metadata::name(object), age(object, now)]
}
