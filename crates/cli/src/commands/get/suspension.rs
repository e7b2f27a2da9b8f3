//! Since when an object is suspended, by whom and why, if it is recorded.

use serde_json::Value;
use sluice_base::time;

use crate::age;
use crate::commands::suspend::Record;
use crate::kinds::{Kind, text_at};
use crate::session::now;

/// The age of an object.
pub(super) fn age(object: &Value) -> String {
    since(text_at(object, "/metadata/creationTimestamp"))
}

fn since(moment: &str) -> String {
    time::parse(moment)
        .map_or_else(|_| "<unknown>".to_owned(), |then| age::human(then.duration_until(now())))
}

/// `3d by alice: incident 42`; empty for an object that is not suspended.
pub(super) fn summary(kind: &Kind, object: &Value) -> String {
    if !kind.is_suspended(object) {
        return String::new();
    }
    if let Some(record) = Record::of(object) {
        return record.summary(since(&record.at));
    }
    // Without a record, the last manager of `spec.suspend` is the best evidence.
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    let writes = |entry: &&Value| entry.pointer("/fieldsV1/f:spec/f:suspend").is_some();
    match entries.into_iter().flatten().find(writes) {
        Some(entry) => {
            format!("{} by {}", since(text_at(entry, "/time")), text_at(entry, "/manager"))
        }
        None => String::new(),
    }
}
