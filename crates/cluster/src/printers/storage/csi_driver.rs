//! CSIDrivers: requirements and modes of the driver.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Field, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::{cells, joined, or};
use crate::value::{at, flag, present, texts};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::boolean("AttachRequired", Field("storage.v1.CSIDriverSpec", "attachRequired")),
    Column::boolean("PodInfoOnMount", Field("storage.v1.CSIDriverSpec", "podInfoOnMount")),
    Column::boolean("StorageCapacity", Field("storage.v1.CSIDriverSpec", "storageCapacity")),
    Column::string("TokenRequests", Field("storage.v1.CSIDriverSpec", "tokenRequests")),
    Column::boolean("RequiresRepublish", Field("storage.v1.CSIDriverSpec", "requiresRepublish")),
    Column::string("Modes", Field("storage.v1.CSIDriverSpec", "volumeLifecycleModes")),
    AGE,
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let requests = if present(object, "spec.tokenRequests") {
        joined(object, "spec.tokenRequests", "audience")
    } else {
        "<unset>".to_owned()
    };
    cells![
        metadata::name(object),
        at(object, "spec.attachRequired").as_bool().unwrap_or(true),
        flag(object, "spec.podInfoOnMount"),
        flag(object, "spec.storageCapacity"),
        requests,
        flag(object, "spec.requiresRepublish"),
        or(&texts(object, "spec.volumeLifecycleModes").join(","), "<none>"),
        age(object, now),
    ]
}
