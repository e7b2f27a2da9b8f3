//! FlowSchemas: their priority level, in the order of precedence.

use std::cmp::Ordering;

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Field, Literal, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::{cells, condition};
use crate::value::{number, present, text};

pub(super) const PRINTER: Printer =
    Printer { order: Some(by_precedence), ..Printer::new(COLUMNS, cells) };

const COLUMNS: &[Column] = &[
    NAME,
    Column::string(
        "PriorityLevel",
        Field("flowcontrol.v1.PriorityLevelConfigurationReference", "name"),
    ),
    Column::string(
        "MatchingPrecedence",
        Field("flowcontrol.v1.FlowSchemaSpec", "matchingPrecedence"),
    ),
    Column::string(
        "DistinguisherMethod",
        Field("flowcontrol.v1.FlowSchemaSpec", "distinguisherMethod"),
    ),
    AGE,
    Column::string(
        "MissingPL",
        Literal("references a broken or non-existent PriorityLevelConfiguration"),
    ),
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let dangling = condition(object, "status.conditions", "Dangling");
    let method = if present(object, "spec.distinguisherMethod") {
        text(object, "spec.distinguisherMethod.type")
    } else {
        "<none>"
    };
    cells![
        metadata::name(object),
        text(object, "spec.priorityLevelConfiguration.name"),
        number(object, "spec.matchingPrecedence"),
        method,
        age(object, now),
        dangling.map_or("?", |found| text(found, "status")),
    ]
}

fn by_precedence(left: &Value, right: &Value) -> Ordering {
    let key = |schema| (number(schema, "spec.matchingPrecedence"), metadata::name(schema));
    key(left).cmp(&key(right))
}
