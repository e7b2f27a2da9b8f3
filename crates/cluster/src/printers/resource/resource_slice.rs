//! ResourceSlices: driver, pool and node.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Field, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::cells;
use crate::value::text;

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::string("Node", Field("resource.v1.ResourceSliceSpec", "nodeName")),
    Column::string("Driver", Field("resource.v1.ResourceSliceSpec", "driver")),
    Column::string("Pool", Field("resource.v1.ResourcePool", "name")),
    AGE,
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![
        metadata::name(object),
        text(object, "spec.nodeName"),
        text(object, "spec.driver"),
        text(object, "spec.pool.name"),
        age(object, now),
    ]
}
