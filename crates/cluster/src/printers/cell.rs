//! Cells that several kinds share.

use serde_json::{Map, Value};
use sluice_base::quantity;

use crate::selector::label_selector_text;
use crate::value::{at, list, text};

/// The cells of a row.
macro_rules! cells {
    ($($cell:expr),* $(,)?) => { vec![$(serde_json::Value::from($cell)),*] };
}
pub(super) use cells;

/// The text, or `otherwise` if it is empty.
pub(super) fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

/// The text at `path`, or `otherwise` if absent (a nil pointer).
pub(super) fn text_or<'a>(object: &'a Value, path: &str, otherwise: &'a str) -> &'a str {
    at(object, path).as_str().unwrap_or(otherwise)
}

/// A field of each item of the list at `path`, joined by commas.
pub(super) fn joined(object: &Value, path: &str, field: &str) -> String {
    list(object, path).iter().map(|item| text(item, field)).collect::<Vec<_>>().join(",")
}

/// Labels as `key=value` pairs.
pub(super) fn labels(labels: &Map<String, Value>) -> String {
    if labels.is_empty() {
        return "<none>".to_owned();
    }
    let pairs: Vec<String> = labels
        .iter()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    pairs.join(",")
}

/// A label selector as text.
pub(super) fn selector(selector: &Value) -> String {
    or(&label_selector_text(selector), "<none>").to_owned()
}

/// The first items, and the number of further ones; `<unset>` if there are none.
pub(super) fn with_more(items: &[String], shown: usize) -> String {
    if items.len() > shown {
        return format!("{} + {} more...", items[..shown].join(","), items.len() - shown);
    }
    or(&items.join(","), "<unset>").to_owned()
}

/// The condition of a type.
pub(super) fn condition<'a>(object: &'a Value, path: &str, kind: &str) -> Option<&'a Value> {
    list(object, path).iter().find(|condition| text(condition, "type") == kind)
}

/// A canonical quantity; zero if absent.
pub(super) fn quantity(quantity: &Value) -> String {
    match quantity.as_str() {
        None => "0".to_owned(),
        Some(text) => quantity::canonicalize(text).unwrap_or_else(|_| text.to_owned()),
    }
}
