//! `meta.k8s.io/v1` tables and partial metadata: response forms other than the object.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::kinds::conversion::as_stored;
use crate::metadata;
use crate::negotiate::Form;
use crate::printer::{Description, Printer};

/// The source of a resource's columns.
#[derive(Clone)]
pub(crate) enum Columns {
    /// Written by hand, as upstream's printers are.
    BuiltIn(Printer),
    /// Computed, such as those of a CRD's `additionalPrinterColumns`.
    Computed(Arc<dyn ComputedColumns>),
    /// `NAME` and `CREATED AT`.
    Default,
}

/// Columns that come from data, not from code.
pub(crate) trait ComputedColumns: Send + Sync {
    /// The `columnDefinitions`.
    fn definitions(&self) -> Vec<Value>;
    /// The cells of one object.
    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value>;
}

/// The kind of an object that is only its metadata.
const PARTIAL: &str = "PartialObjectMetadata";

/// How much of the object a row contains.
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
                        "description": column.description.text(),
                        "priority": column.priority,
                    })
                })
                .collect(),
            Self::Computed(columns) => columns.definitions(),
            Self::Default => default_definitions(),
        }
    }

    /// The rows of a list.
    pub(crate) fn rows<'a>(
        &self,
        objects: impl Iterator<Item = &'a Value>,
        include: Include,
        now: Timestamp,
    ) -> Vec<Value> {
        let mut objects: Vec<&Value> = objects.collect();
        if let Self::BuiltIn(Printer { order: Some(order), .. }) = self {
            objects.sort_by(|left, right| order(left, right));
        }
        objects.into_iter().map(|object| self.row(object, include, now)).collect()
    }

    /// One row.
    pub(crate) fn row(&self, object: &Value, include: Include, now: Timestamp) -> Value {
        let cells = match self {
            Self::BuiltIn(printer) => (printer.cells)(&as_stored(object), now),
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
        let mut row = json!({"cells": cells, "object": shown});
        if let Self::BuiltIn(Printer { conditions: Some(conditions), .. }) = self {
            let conditions = conditions(object);
            if !conditions.is_empty() {
                row["conditions"] = conditions.into();
            }
        }
        row
    }
}

fn default_definitions() -> Vec<Value> {
    vec![
        json!({
            "name": "Name", "type": "string", "format": "name", "priority": 0,
            "description": Description::Metadata("name").text(),
        }),
        json!({
            "name": "Created At", "type": "date", "format": "", "priority": 0,
            "description": Description::Metadata("creationTimestamp").text(),
        }),
    ]
}

/// The object's metadata as `PartialObjectMetadata`, in the storage version, like the cells.
pub(crate) fn partial(object: &Value) -> Value {
    let object = as_stored(object);
    json!({
        "kind": PARTIAL,
        "apiVersion": "meta.k8s.io/v1",
        "metadata": object.get("metadata").cloned().unwrap_or_default(),
    })
}

/// A table of `rows`. Only the first event of a watch carries definitions.
pub(crate) fn table(
    form: Form,
    list_metadata: Value,
    definitions: Option<Vec<Value>>,
    mut rows: Vec<Value>,
) -> Value {
    let version = if form == Form::OldTable { "meta.k8s.io/v1beta1" } else { "meta.k8s.io/v1" };
    for row in &mut rows {
        if row["object"]["kind"] == PARTIAL {
            row["object"]["apiVersion"] = version.into();
        }
    }
    let fields = [
        ("kind", "Table".into()),
        ("apiVersion", version.into()),
        ("metadata", list_metadata),
        ("columnDefinitions", definitions.map_or(Value::Null, Value::from)),
        ("rows", rows.into()),
    ];
    Value::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}
