//! PodDisruptionBudgets: allowed disruptions.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Literal, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::cells;
use crate::value::{at, number};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::string("Min Available", Literal("The minimum number of pods that must be available.")),
    Column::string(
        "Max Unavailable",
        Literal("The maximum number of pods that may be unavailable."),
    ),
    Column::integer(
        "Allowed Disruptions",
        Literal("Calculated number of pods that may be disrupted at this time."),
    ),
    AGE,
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let bound = |path: &str| match at(object, path) {
        Value::Number(count) => count.to_string(),
        Value::String(share) => share.clone(),
        _ => "N/A".to_owned(),
    };
    cells![
        metadata::name(object),
        bound("spec.minAvailable"),
        bound("spec.maxUnavailable"),
        number(object, "status.disruptionsAllowed"),
        age(object, now),
    ]
}
