//! Table rows of built-in kinds, as `kubectl get` prints them; upstream's
//! `printers/internalversion`.
//!
//! One kind is one file below `printers/<group>/`.

use std::cmp::Ordering;

use jiff::Timestamp;
use serde_json::Value;

/// The table of one kind.
#[derive(Clone, Copy)]
pub(crate) struct Printer {
    /// The columns.
    pub(crate) columns: &'static [Column],
    /// The cells of one object.
    pub(crate) cells: fn(&Value, Timestamp) -> Vec<Value>,
    /// The `conditions` of an object's row.
    pub(crate) conditions: Option<fn(&Value) -> Vec<Value>>,
    /// The order of rows in a list, if it is not by name.
    pub(crate) order: Option<fn(&Value, &Value) -> Ordering>,
}

impl Printer {
    /// A printer without row conditions, in the order of the list.
    pub(crate) const fn new(
        columns: &'static [Column],
        cells: fn(&Value, Timestamp) -> Vec<Value>,
    ) -> Self {
        Self { columns, cells, conditions: None, order: None }
    }
}

/// One column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Column {
    /// The heading.
    pub(crate) name: &'static str,
    /// `string`, `integer` or `boolean`; cells may be of another type.
    pub(crate) kind: &'static str,
    /// The format, `name` for the name.
    pub(crate) format: &'static str,
    /// The description of the column.
    pub(crate) description: Description,
    /// 0 is always shown, 1 with `-o wide`.
    pub(crate) priority: i32,
}

/// The description of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Description {
    /// A literal text.
    Literal(&'static str),
    /// The recorded OpenAPI description of a field; the schema without `io.k8s.api.`.
    Field(&'static str, &'static str),
    /// The recorded OpenAPI description of a metadata field.
    Metadata(&'static str),
}

pub(crate) use Description::{Field, Literal};

impl Description {
    /// The text of the description.
    pub(crate) fn text(self) -> &'static str {
        let (schema, field) = match self {
            Self::Literal(text) => return text,
            Self::Field(schema, field) => (format!("io.k8s.api.{schema}"), field),
            Self::Metadata(field) => {
                ("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta".to_owned(), field)
            }
        };
        let text = sluice_schema::recorded::openapi()
            .schema(&schema)
            .and_then(|schema| schema["properties"][field]["description"].as_str())
            .unwrap_or_default();
        // Only OpenAPI lists the enum values; upstream's tables take the text from the Go type.
        text.split_once("\n\nPossible enum values:").map_or(text, |(text, _)| text)
    }
}

/// The name, first in nearly every table.
pub(crate) const NAME: Column = Column::string("Name", Description::Metadata("name")).formatted();

/// The age of the object.
pub(crate) const AGE: Column = Column::string("Age", Description::Metadata("creationTimestamp"));

/// The names of a template's containers.
pub(crate) const CONTAINERS: Column =
    Column::string("Containers", Literal("Names of each container in the template."));

/// The images of a template's containers.
pub(crate) const IMAGES: Column =
    Column::string("Images", Literal("Images referenced by each container in the template."));

impl Column {
    const fn new(name: &'static str, kind: &'static str, description: Description) -> Self {
        Self { name, kind, format: "", description, priority: 0 }
    }

    /// A string column.
    pub(crate) const fn string(name: &'static str, description: Description) -> Self {
        Self::new(name, "string", description)
    }

    /// An integer column.
    pub(crate) const fn integer(name: &'static str, description: Description) -> Self {
        Self::new(name, "integer", description)
    }

    /// A boolean column.
    pub(crate) const fn boolean(name: &'static str, description: Description) -> Self {
        Self::new(name, "boolean", description)
    }

    /// The same column, shown only with `-o wide`.
    pub(crate) const fn wide(self) -> Self {
        Self { priority: 1, ..self }
    }

    /// The same column, with format `name`.
    pub(crate) const fn formatted(self) -> Self {
        Self { format: "name", ..self }
    }
}
