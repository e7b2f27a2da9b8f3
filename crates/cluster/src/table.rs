//! `meta.k8s.io/v1` tables and partial metadata: the forms of an answer that are not the object.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::metadata;
use crate::negotiate::Form;
use crate::printer::Printer;

/// Where the columns of a resource come from.
#[derive(Clone)]
pub(crate) enum Columns {
    /// Written by hand, as upstream's printers are.
    BuiltIn(Printer),
    /// Computed, such as those of a CRD's `additionalPrinterColumns`.
    Computed(Arc<dyn ComputedColumns>),
    /// `NAME` and `AGE`.
    Default,
}

/// Columns that are data, not code.
pub(crate) trait ComputedColumns: Send + Sync {
    /// The `columnDefinitions`.
    fn definitions(&self) -> Vec<Value>;
    /// The cells of one object.
    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value>;
}

/// How much of the object a row carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Include {
    None,
    Metadata,
    Object,
}

impl Columns {
    /// The `columnDefinitions` of a table.
    pub(crate) fn definitions(&self) -> Vec<Value> {
        match self {
            Self::BuiltIn(printer) => printer
                .columns
                .iter()
                .map(|column| {
                    json!({
                        "name": column.name,
                        "type": column.kind,
                        "format": column.format,
                        "description": column.description,
                        "priority": column.priority,
                    })
                })
                .collect(),
            Self::Computed(columns) => columns.definitions(),
            Self::Default => default_definitions(),
        }
    }

    /// One row.
    pub(crate) fn row(&self, object: &Value, include: Include, now: Timestamp) -> Value {
        let cells = match self {
            Self::BuiltIn(printer) => (printer.row)(object, now),
            Self::Computed(columns) => columns.cells(object, now),
            Self::Default => vec![
                metadata::name(object).into(),
                metadata::text(object, "creationTimestamp").into(),
            ],
        };
        let shown = match include {
            Include::None => Value::Null,
            Include::Metadata => partial(object),
            Include::Object => object.clone(),
        };
        json!({"cells": cells, "object": shown})
    }
}

fn default_definitions() -> Vec<Value> {
    vec![
        json!({
            "name": "Name", "type": "string", "format": "name", "priority": 0,
            "description": metadata_description("name"),
        }),
        json!({
            "name": "Created At", "type": "date", "format": "", "priority": 0,
            "description": metadata_description("creationTimestamp"),
        }),
    ]
}

/// What the recorded OpenAPI says about a field of the metadata; upstream's default columns say it.
fn metadata_description(field: &str) -> Value {
    sluice_schema::recorded::openapi()
        .schema("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
        .and_then(|schema| schema["properties"][field].get("description").cloned())
        .unwrap_or_default()
}

/// The object's metadata as `PartialObjectMetadata`.
pub(crate) fn partial(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": object.get("metadata").cloned().unwrap_or_default(),
    })
}

/// A table of `rows`. Only the first event of a watch carries definitions.
pub(crate) fn table(
    form: Form,
    list_metadata: Value,
    definitions: Option<Vec<Value>>,
    rows: Vec<Value>,
) -> Value {
    let version = if form == Form::OldTable { "v1beta1" } else { "v1" };
    json!({
        "kind": "Table",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": list_metadata,
        "columnDefinitions": definitions.unwrap_or_default(),
        "rows": rows,
    })
}
