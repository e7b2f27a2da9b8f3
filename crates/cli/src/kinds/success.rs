//! The messages after a successful reconciliation.

use serde_json::Value;

use super::columns::release_of;
use super::{condition, text_at};

pub(super) fn fetched(object: &Value) -> String {
    format!("fetched revision {}", text_at(object, "/status/artifact/revision"))
}

pub(super) fn helm_repository(object: &Value) -> String {
    if text_at(object, "/spec/type") == "oci" {
        return condition(object, "Ready")
            .map(|ready| text_at(ready, "/message"))
            .unwrap_or_default()
            .to_owned();
    }
    fetched(object)
}

pub(super) fn applied(object: &Value) -> String {
    format!("applied revision {}", text_at(object, "/status/lastAppliedRevision"))
}

pub(super) fn released(object: &Value) -> String {
    format!("applied revision {}", release_of(object))
}

pub(super) fn scanned(object: &Value) -> String {
    let tags = object.pointer("/status/lastScanResult/tagCount").and_then(Value::as_i64);
    format!("scan fetched {} tags", tags.unwrap_or_default())
}

pub(super) fn selected(object: &Value) -> String {
    let image = |field| text_at(object, field);
    let mut text = format!(
        "selected ref {}:{}",
        image("/status/latestRef/name"),
        image("/status/latestRef/tag")
    );
    let digest = image("/status/latestRef/digest");
    if !digest.is_empty() {
        text.push('@');
        text.push_str(digest);
    }
    text
}

pub(super) fn automated(object: &Value) -> String {
    if let Some(ready) = condition(object, "Ready") {
        return text_at(ready, "/message").to_owned();
    }
    match text_at(object, "/status/lastAutomationRunTime") {
        "" => "automation not yet run".to_owned(),
        time => format!("last run {time}"),
    }
}

pub(super) fn completed(object: &Value) -> String {
    format!("{} reconciliation completed", text_at(object, "/kind"))
}
