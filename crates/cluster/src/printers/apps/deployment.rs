//! Deployments: ready, updated and available pods.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, CONTAINERS, Column, Field, IMAGES, Literal, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::{cells, joined};
use crate::selector::label_selector_text;
use crate::value::{at, number};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::string("Ready", Literal("Number of the pod with ready state")),
    Column::string("Up-to-date", Field("apps.v1.DeploymentStatus", "updatedReplicas")),
    Column::string("Available", Field("apps.v1.DeploymentStatus", "availableReplicas")),
    AGE,
    CONTAINERS.wide(),
    IMAGES.wide(),
    Column::string("Selector", Literal("Label selector for pods. Existing ReplicaSets whose pods are selected by this will be the ones affected by this deployment.")).wide(),
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let (ready, wanted) = (number(object, "status.readyReplicas"), number(object, "spec.replicas"));
    cells![
        metadata::name(object),
        format!("{ready}/{wanted}"),
        number(object, "status.updatedReplicas"),
        number(object, "status.availableReplicas"),
        age(object, now),
        joined(object, "spec.template.spec.containers", "name"),
        joined(object, "spec.template.spec.containers", "image"),
        // Unlike for other kinds, an empty selector is an empty text here.
        label_selector_text(at(object, "spec.selector")),
    ]
}
