//! Events: reason, object, message and times.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{Column, Field, NAME, Printer};
use crate::printers::age::since;
use crate::printers::cell::{cells, or};
use crate::value::{number, present, text};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    Column::string("Last Seen", Field("core.v1.Event", "lastTimestamp")),
    Column::string("Type", Field("core.v1.Event", "type")),
    Column::string("Reason", Field("core.v1.Event", "reason")),
    Column::string("Object", Field("core.v1.Event", "involvedObject")),
    Column::string("Subobject", Field("core.v1.ObjectReference", "fieldPath")).wide(),
    Column::string("Source", Field("core.v1.Event", "source")).wide(),
    Column::string("Message", Field("core.v1.Event", "message")),
    Column::string("First Seen", Field("core.v1.Event", "firstTimestamp")).wide(),
    Column::string("Count", Field("core.v1.Event", "count")).wide(),
    NAME.wide(),
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let first = or(text(object, "firstTimestamp"), text(object, "eventTime"));
    let (last, count) = if present(object, "series") {
        (text(object, "series.lastObservedTime"), number(object, "series.count"))
    } else {
        (or(text(object, "lastTimestamp"), first), number(object, "count").max(1))
    };
    let kind = text(object, "involvedObject.kind").to_lowercase();
    let name = text(object, "involvedObject.name");
    let component = or(text(object, "source.component"), text(object, "reportingComponent"));
    let host = or(text(object, "source.host"), text(object, "reportingInstance"));
    cells![
        since(last, now),
        text(object, "type"),
        text(object, "reason"),
        if name.is_empty() { kind } else { format!("{kind}/{name}") },
        text(object, "involvedObject.fieldPath"),
        if host.is_empty() { component.to_owned() } else { format!("{component}, {host}") },
        text(object, "message").trim(),
        since(first, now),
        count,
        metadata::name(object),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_and_counts_come_from_where_the_event_has_them() {
        let now = "2026-01-01T00:01:00Z".parse().unwrap();
        let (first, last) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:50Z");
        let cases = [
            (json!({}), "<unknown>", "<unknown>", 1),
            (json!({"eventTime": first}), "60s", "60s", 1),
            (json!({"firstTimestamp": first, "lastTimestamp": last, "count": 3}), "60s", "10s", 3),
            (
                json!({"eventTime": first, "series": {"lastObservedTime": last, "count": 7}}),
                "60s",
                "10s",
                7,
            ),
        ];
        for (event, first, last, count) in cases {
            let row = cells(&event, now);
            assert_eq!([&row[0], &row[7], &row[8]], [&json!(last), &json!(first), &json!(count)]);
        }
    }
}
