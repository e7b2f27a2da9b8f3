//! ValidatingAdmissionPolicies: number of validations, parameter kind.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Literal, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::cells;
use crate::value::{list, present, text};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::integer(
        "Validations",
        Literal(
            "Validations indicates the number of validation rules defined in this configuration",
        ),
    ),
    Column::string(
        "ParamKind",
        Literal("ParamKind specifies the kind of resources used to parameterize this policy"),
    ),
    AGE,
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let kind = if present(object, "spec.paramKind") {
        let (version, kind) =
            (text(object, "spec.paramKind.apiVersion"), text(object, "spec.paramKind.kind"));
        format!("{version}/{kind}")
    } else {
        "<unset>".to_owned()
    };
    cells![metadata::name(object), list(object, "spec.validations").len(), kind, age(object, now)]
}
