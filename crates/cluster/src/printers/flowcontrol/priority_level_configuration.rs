//! PriorityLevelConfigurations: shares and queues.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Field, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::cells;
use crate::value::{at, number, present, text};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::string("Type", Field("flowcontrol.v1.PriorityLevelConfigurationSpec", "type")),
    Column::string(
        "NominalConcurrencyShares",
        Field("flowcontrol.v1.LimitedPriorityLevelConfiguration", "nominalConcurrencyShares"),
    ),
    Column::string("Queues", Field("flowcontrol.v1.QueuingConfiguration", "queues")),
    Column::string("HandSize", Field("flowcontrol.v1.QueuingConfiguration", "handSize")),
    Column::string(
        "QueueLengthLimit",
        Field("flowcontrol.v1.QueuingConfiguration", "queueLengthLimit"),
    ),
    AGE,
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let shown = |parent: &str, field: &str| {
        if present(object, parent) {
            Value::from(number(at(object, parent), field))
        } else {
            Value::from("<none>")
        }
    };
    let queuing = |field: &str| shown("spec.limited.limitResponse.queuing", field);
    cells![
        metadata::name(object),
        text(object, "spec.type"),
        shown("spec.limited", "nominalConcurrencyShares"),
        queuing("queues"),
        queuing("handSize"),
        queuing("queueLengthLimit"),
        age(object, now),
    ]
}
