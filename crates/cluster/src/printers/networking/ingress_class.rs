//! IngressClasses: controller and parameters.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Literal, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::cells;
use crate::value::{at, text};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::string("Controller", Literal("Controller that is responsible for handling this class")),
    Column::string("Parameters", Literal("A reference to a resource with additional parameters")),
    AGE,
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let parameters = at(object, "spec.parameters");
    let shown = if parameters.is_null() {
        "<none>".to_owned()
    } else {
        let (kind, name) = (text(parameters, "kind"), text(parameters, "name"));
        match at(parameters, "apiGroup").as_str() {
            Some(group) => format!("{kind}.{group}/{name}"),
            None => format!("{kind}/{name}"),
        }
    };
    cells![metadata::name(object), text(object, "spec.controller"), shown, age(object, now)]
}
