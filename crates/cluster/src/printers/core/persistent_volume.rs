//! PersistentVolumes: size, modes and claim.

use jiff::Timestamp;
use serde_json::Value;

use super::volumes::{access_modes, class, phase};
use crate::metadata;
use crate::printer::{AGE, Column, Field, Literal, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::{cells, quantity, text_or};
use crate::value::{at, present, text};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::string("Capacity", Field("core.v1.PersistentVolumeSpec", "capacity")),
    Column::string("Access Modes", Field("core.v1.PersistentVolumeSpec", "accessModes")),
    Column::string(
        "Reclaim Policy",
        Field("core.v1.PersistentVolumeSpec", "persistentVolumeReclaimPolicy"),
    ),
    Column::string("Status", Field("core.v1.PersistentVolumeStatus", "phase")),
    Column::string("Claim", Field("core.v1.PersistentVolumeSpec", "claimRef")),
    Column::string("StorageClass", Literal("StorageClass of the pv")),
    Column::string("VolumeAttributesClass", Literal("VolumeAttributesClass of the pv")),
    Column::string("Reason", Field("core.v1.PersistentVolumeStatus", "reason")),
    AGE,
    Column::string("VolumeMode", Field("core.v1.PersistentVolumeSpec", "volumeMode")).wide(),
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let claim = if present(object, "spec.claimRef") {
        let (namespace, name) =
            (text(object, "spec.claimRef.namespace"), text(object, "spec.claimRef.name"));
        format!("{namespace}/{name}")
    } else {
        String::new()
    };
    cells![
        metadata::name(object),
        quantity(at(object, "spec.capacity.storage")),
        access_modes(object, "spec.accessModes"),
        text(object, "spec.persistentVolumeReclaimPolicy"),
        phase(object),
        claim,
        class(object),
        text_or(object, "spec.volumeAttributesClassName", "<unset>"),
        text(object, "status.reason"),
        age(object, now),
        text_or(object, "spec.volumeMode", "<unset>"),
    ]
}
