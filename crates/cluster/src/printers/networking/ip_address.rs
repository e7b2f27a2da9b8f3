//! IPAddresses: the parent object.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{Column, Field, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::cells;
use crate::value::{at, text};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] =
    &[NAME, Column::string("ParentRef", Field("networking.v1.IPAddressSpec", "parentRef"))];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    // Upstream has a cell for the age without a column.
    cells![metadata::name(object), parent(object), age(object, now)]
}

fn parent(object: &Value) -> String {
    let reference = at(object, "spec.parentRef");
    if reference.is_null() {
        return "<none>".to_owned();
    }
    let (group, namespace) = (text(reference, "group"), text(reference, "namespace"));
    let mut shown = text(reference, "resource").to_lowercase();
    if !group.is_empty() {
        shown = format!("{shown}.{}", group.to_lowercase());
    }
    if !namespace.is_empty() {
        shown = format!("{shown}/{namespace}");
    }
    format!("{shown}/{}", text(reference, "name"))
}
