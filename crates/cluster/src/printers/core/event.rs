//! Events of either group: what happened to which object, and when.

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
    // The two groups name the same fields differently.
    let either = |core: &str, events: &str| or(text(object, core), text(object, events)).to_owned();
    let ago = |core: &str, events: &str| {
        Some(either(core, events))
            .filter(|moment| !moment.is_empty())
            .map(|moment| since(&moment, now))
    };
    let first = ago("firstTimestamp", "deprecatedFirstTimestamp")
        .unwrap_or_else(|| since(text(object, "eventTime"), now));
    let (last, count) = if present(object, "series") {
        (since(text(object, "series.lastObservedTime"), now), number(object, "series.count"))
    } else {
        let count = number(object, "count").max(number(object, "deprecatedCount"));
        let last = ago("lastTimestamp", "deprecatedLastTimestamp");
        (last.unwrap_or_else(|| first.clone()), count.max(1))
    };
    let kind = either("involvedObject.kind", "regarding.kind").to_lowercase();
    let name = either("involvedObject.name", "regarding.name");
    let target = if name.is_empty() { kind } else { format!("{kind}/{name}") };
    let component = either("source.component", "deprecatedSource.component");
    let component =
        or(&component, or(text(object, "reportingComponent"), text(object, "reportingController")));
    let host = either("source.host", "deprecatedSource.host");
    let host = or(&host, text(object, "reportingInstance"));
    let source =
        if host.is_empty() { component.to_owned() } else { format!("{component}, {host}") };
    cells![
        last,
        text(object, "type"),
        text(object, "reason"),
        target,
        either("involvedObject.fieldPath", "regarding.fieldPath"),
        source,
        either("message", "note").trim(),
        first,
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
                json!({"deprecatedFirstTimestamp": first, "deprecatedLastTimestamp": last}),
                "60s",
                "10s",
                1,
            ),
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
