//! ValidatingWebhookConfigurations: number of webhooks.

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
        "Webhooks",
        Literal("Webhooks indicates the number of webhooks registered in this configuration"),
    ),
    AGE,
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![metadata::name(object), list(object, "webhooks").len(), age(object, now)]
}
