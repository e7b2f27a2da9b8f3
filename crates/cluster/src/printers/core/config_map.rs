//! ConfigMaps: number of keys.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Field, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::cells;
use crate::value::entries;

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[NAME, Column::string("Data", Field("core.v1.ConfigMap", "data")), AGE];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let keys = entries(object, "data").len() + entries(object, "binaryData").len();
    cells![metadata::name(object), keys, age(object, now)]
}
