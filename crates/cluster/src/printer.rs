//! Rows of the tables that `kubectl get` prints; upstream's `printers/internalversion`.
//!
//! One kind is one file below `printers/<group>/`.

use jiff::Timestamp;
use serde_json::Value;

/// One column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// The heading.
    pub name: &'static str,
    /// `string`, `integer`, `date` …
    pub kind: &'static str,
    /// The format, `name` for the first column.
    pub format: &'static str,
    /// What the column means.
    pub description: &'static str,
    /// 0 is always shown, 1 with `-o wide`.
    pub priority: i32,
}

/// How one kind becomes table rows.
#[derive(Clone, Copy)]
pub struct Printer {
    /// The columns.
    pub columns: &'static [Column],
    /// The cells of one object, as many as columns.
    pub row: fn(&Value, Timestamp) -> Vec<Value>,
}
