//! APIServices: the service and its availability.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Literal, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::{cells, condition};
use crate::value::{present, text};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::string(
        "Service",
        Literal("The reference to the service that hosts this API endpoint."),
    ),
    Column::string("Available", Literal("Whether this service is available.")),
    AGE,
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let service = if present(object, "spec.service") {
        format!("{}/{}", text(object, "spec.service.namespace"), text(object, "spec.service.name"))
    } else {
        "Local".to_owned()
    };
    let available = match condition(object, "status.conditions", "Available") {
        None => "Unknown".to_owned(),
        Some(found) => {
            let (status, reason) = (text(found, "status"), text(found, "reason"));
            if status == "True" || reason.is_empty() {
                status.to_owned()
            } else {
                format!("{status} ({reason})")
            }
        }
    };
    cells![metadata::name(object), service, available, age(object, now)]
}
