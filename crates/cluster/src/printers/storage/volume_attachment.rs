//! VolumeAttachments: volume and node.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Field, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::cells;
use crate::value::{flag, text};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::string("Attacher", Field("storage.v1.VolumeAttachmentSpec", "attacher")).formatted(),
    Column::string("PV", Field("storage.v1.VolumeAttachmentSource", "persistentVolumeName")),
    Column::string("Node", Field("storage.v1.VolumeAttachmentSpec", "nodeName")),
    Column::boolean("Attached", Field("storage.v1.VolumeAttachmentStatus", "attached")),
    AGE,
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![
        metadata::name(object),
        text(object, "spec.attacher"),
        text(object, "spec.source.persistentVolumeName"),
        text(object, "spec.nodeName"),
        flag(object, "status.attached"),
        age(object, now),
    ]
}
