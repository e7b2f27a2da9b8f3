//! ComponentStatuses: whether the component is healthy.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{Column, Literal, NAME, Printer};
use crate::printers::cell::{cells, condition};
use crate::value::text;

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::string("Status", Literal("Status of the component conditions")),
    Column::string("Message", Literal("Message of the component conditions")),
    Column::string("Error", Literal("Error of the component conditions")),
];

fn cells(object: &Value, _: Timestamp) -> Vec<Value> {
    let (status, message, error) = match condition(object, "conditions", "Healthy") {
        None => ("Unknown", "", ""),
        Some(found) => (
            if text(found, "status") == "True" { "Healthy" } else { "Unhealthy" },
            text(found, "message"),
            text(found, "error"),
        ),
    };
    cells![metadata::name(object), status, message, error]
}
