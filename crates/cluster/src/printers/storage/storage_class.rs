//! StorageClasses: provisioner and policies.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Field, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::{cells, text_or};
use crate::value::{flag, text};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::string("Provisioner", Field("storage.v1.StorageClass", "provisioner")),
    Column::string("ReclaimPolicy", Field("storage.v1.StorageClass", "reclaimPolicy")),
    Column::string("VolumeBindingMode", Field("storage.v1.StorageClass", "volumeBindingMode")),
    Column::string(
        "AllowVolumeExpansion",
        Field("storage.v1.StorageClass", "allowVolumeExpansion"),
    ),
    AGE,
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let is_default = ["storageclass.kubernetes.io", "storageclass.beta.kubernetes.io"]
        .into_iter()
        .any(|prefix| {
            let key = format!("{prefix}/is-default-class");
            metadata::entry(object, "annotations", &key) == Some("true")
        });
    let name = metadata::name(object);
    cells![
        if is_default { format!("{name} (default)") } else { name.to_owned() },
        text(object, "provisioner"),
        text_or(object, "reclaimPolicy", "Delete"),
        text_or(object, "volumeBindingMode", "Immediate"),
        flag(object, "allowVolumeExpansion"),
        age(object, now),
    ]
}
