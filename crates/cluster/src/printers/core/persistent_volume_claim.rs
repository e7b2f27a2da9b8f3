//! PersistentVolumeClaims: phase, and properties of the bound volume.

use jiff::Timestamp;
use serde_json::Value;

use super::volumes::{access_modes, class, phase};
use crate::metadata;
use crate::printer::{AGE, Column, Field, Literal, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::{cells, quantity, text_or};
use crate::value::{at, text};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::string("Status", Field("core.v1.PersistentVolumeClaimStatus", "phase")),
    Column::string("Volume", Field("core.v1.PersistentVolumeClaimSpec", "volumeName")),
    Column::string("Capacity", Field("core.v1.PersistentVolumeClaimStatus", "capacity")),
    Column::string("Access Modes", Field("core.v1.PersistentVolumeClaimStatus", "accessModes")),
    Column::string("StorageClass", Literal("StorageClass of the pvc")),
    Column::string("VolumeAttributesClass", Literal("VolumeAttributesClass of the pvc")),
    AGE,
    Column::string("VolumeMode", Field("core.v1.PersistentVolumeClaimSpec", "volumeMode")).wide(),
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let volume = text(object, "spec.volumeName");
    let (capacity, modes) = if volume.is_empty() {
        (String::new(), String::new())
    } else {
        (
            quantity(at(object, "status.capacity.storage")),
            access_modes(object, "status.accessModes"),
        )
    };
    cells![
        metadata::name(object),
        phase(object),
        volume,
        capacity,
        modes,
        class(object),
        text_or(object, "spec.volumeAttributesClassName", "<unset>"),
        age(object, now),
        text_or(object, "spec.volumeMode", "<unset>"),
    ]
}
