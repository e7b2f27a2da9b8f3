//! PodTemplates: containers, images and labels.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{CONTAINERS, Column, IMAGES, Literal, NAME, Printer};
use crate::printers::cell::{cells, joined, labels};
use crate::value::entries;

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    CONTAINERS,
    IMAGES,
    Column::string("Pod Labels", Literal("The labels for the pod template.")),
];

fn cells(object: &Value, _: Timestamp) -> Vec<Value> {
    cells![
        metadata::name(object),
        joined(object, "template.spec.containers", "name"),
        joined(object, "template.spec.containers", "image"),
        labels(entries(object, "template.metadata.labels")),
    ]
}
