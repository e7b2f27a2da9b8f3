//! ResourceClaims: allocation and reservation.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Literal, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::cells;
use crate::value::{list, present};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::string(
        "State",
        Literal("A summary of the current state (allocated, pending, reserved, etc.)."),
    ),
    AGE,
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![metadata::name(object), state(object), age(object, now)]
}

fn state(object: &Value) -> String {
    let deleted = metadata::is_terminating(object);
    let allocated = present(object, "status.allocation");
    let states = [
        (deleted, "deleted"),
        (!allocated && !deleted, "pending"),
        (allocated, "allocated"),
        (allocated && !list(object, "status.reservedFor").is_empty(), "reserved"),
    ];
    let held: Vec<&str> =
        states.into_iter().filter(|(holds, _)| *holds).map(|(_, word)| word).collect();
    held.join(",")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_claim_is_pending_until_it_is_allocated() {
        let (gone, used) =
            (json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}), json!([{"name": "p"}]));
        let cases = [
            (json!({}), json!({}), "pending"),
            (json!({}), json!({"allocation": {}}), "allocated"),
            (json!({}), json!({"allocation": {}, "reservedFor": used}), "allocated,reserved"),
            (gone.clone(), json!({}), "deleted"),
            (gone, json!({"allocation": {}}), "deleted,allocated"),
        ];
        for (metadata, status, expected) in cases {
            assert_eq!(state(&json!({"metadata": metadata, "status": status})), expected);
        }
    }
}
