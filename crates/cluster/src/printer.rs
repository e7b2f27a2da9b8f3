//! How a built-in kind becomes rows of the tables that `kubectl get` prints; upstream's
//! `printers/internalversion`.
//!
//! One kind is one file below `printers/<group>/`.

use std::cmp::Ordering;

use jiff::Timestamp;
use serde_json::Value;

/// How one kind becomes table rows.
#[derive(Clone, Copy)]
pub(crate) struct Printer {
    /// The columns.
    pub(crate) columns: &'static [Column],
    /// The cells of one object.
    pub(crate) cells: fn(&Value, Timestamp) -> Vec<Value>,
    /// The `conditions` of the row of one object.
    pub(crate) conditions: Option<fn(&Value) -> Vec<Value>>,
    /// The order of the rows of a list, where it is not that of the names.
    pub(crate) order: Option<fn(&Value, &Value) -> Ordering>,
}

impl Printer {
    /// A printer whose rows have no conditions and stand in the order of the list.
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
    /// `string`, `integer` or `boolean`; cells need not keep to it.
    pub(crate) kind: &'static str,
    /// The format, `name` for the name.
    pub(crate) format: &'static str,
    /// What the column means.
    pub(crate) description: Description,
    /// 0 is always shown, 1 with `-o wide`.
    pub(crate) priority: i32,
}

/// What a column means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Description {
    /// These words.
    Literal(&'static str),
    /// What the recorded OpenAPI says about a field; the schema without `io.k8s.api.`.
    Field(&'static str, &'static str),
    /// What the recorded OpenAPI says about a field of the metadata.
    Metadata(&'static str),
}

pub(crate) use Description::{Field, Literal};

impl Description {
    /// The words.
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
        // Only OpenAPI lists the values; upstream's tables take the text from the Go type.
        text.split_once("\n\nPossible enum values:").map_or(text, |(text, _)| text)
    }
}

/// The name, first in nearly every table.
pub(crate) const NAME: Column = Column::string("Name", Description::Metadata("name")).formatted();

/// How long ago the object was created.
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

    /// A column of texts.
    pub(crate) const fn string(name: &'static str, description: Description) -> Self {
        Self::new(name, "string", description)
    }

    /// A column of numbers.
    pub(crate) const fn integer(name: &'static str, description: Description) -> Self {
        Self::new(name, "integer", description)
    }

    /// A column of truth values.
    pub(crate) const fn boolean(name: &'static str, description: Description) -> Self {
        Self::new(name, "boolean", description)
    }

    /// The same column, only shown when the table may be wide.
    pub(crate) const fn wide(self) -> Self {
        Self { priority: 1, ..self }
    }

    /// The same column, marked as one of names.
    pub(crate) const fn formatted(self) -> Self {
        Self { format: "name", ..self }
    }
}
