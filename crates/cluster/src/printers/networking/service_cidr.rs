//! ServiceCIDRs: the ranges.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Field, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::cells;
use crate::value::texts;

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] =
    &[NAME, Column::string("CIDRs", Field("networking.v1.ServiceCIDRSpec", "cidrs")), AGE];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![metadata::name(object), texts(object, "spec.cidrs").join(","), age(object, now)]
}
