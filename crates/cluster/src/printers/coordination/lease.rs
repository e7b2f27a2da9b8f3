//! Leases: the holder.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Field, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::cells;
use crate::value::text;

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] =
    &[NAME, Column::string("Holder", Field("coordination.v1.LeaseSpec", "holderIdentity")), AGE];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![metadata::name(object), text(object, "spec.holderIdentity"), age(object, now)]
}
