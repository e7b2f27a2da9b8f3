//! ResourceQuotas: used and hard amounts, limits in a column of their own.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Literal, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::{cells, quantity};
use crate::value::entries;

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::string(
        "Request",
        Literal("Request represents a minimum amount of cpu/memory that a container may consume."),
    ),
    Column::string(
        "Limit",
        Literal(
            "Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.",
        ),
    ),
    AGE,
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let used = entries(object, "status.used");
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    for (resource, hard) in entries(object, "status.hard") {
        let used = quantity(used.get(resource).unwrap_or(&Value::Null));
        let amounts = format!("{resource}: {used}/{}", quantity(hard));
        if resource.starts_with("limits.") {
            limits.push(amounts);
        } else {
            requests.push(amounts);
        }
    }
    cells![metadata::name(object), requests.join(", "), limits.join(", "), age(object, now)]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn limits_stand_apart_and_unused_is_zero() {
        let quota = json!({"metadata": {"name": "q"}, "status": {
            "hard": {"limits.cpu": "4", "requests.cpu": "2", "pods": "5"},
            "used": {"limits.cpu": "500m", "requests.cpu": "1000m"},
        }});
        assert_eq!(
            cells(&quota, Timestamp::UNIX_EPOCH),
            cells!["q", "pods: 0/5, requests.cpu: 1/2", "limits.cpu: 500m/4", "<unknown>"]
        );
    }
}
