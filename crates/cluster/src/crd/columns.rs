//! Tables of custom objects: the name and `additionalPrinterColumns`.

use jiff::Timestamp;
use serde_json::{Value, json};
use sluice_base::{go, gojson, time};

use super::json_path::JsonPath;
use crate::metadata;
use crate::printer::Description;
use crate::printers::age::human;
use crate::table::ComputedColumns;

/// The columns of one version.
pub(crate) struct CustomColumns {
    columns: Vec<Column>,
}

struct Column {
    name: String,
    kind: String,
    format: String,
    description: String,
    priority: i64,
    path: JsonPath,
}

impl CustomColumns {
    /// The columns of a version, or the age if it has none. A column with an invalid path ends the list.
    pub(crate) fn new(columns: &[Value]) -> Self {
        let text = |column: &Value, key: &str| {
            column.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let age = [json!({
            "name": "Age",
            "type": "date",
            "description": Description::Metadata("creationTimestamp").text(),
            "jsonPath": ".metadata.creationTimestamp",
        })];
        let asked = if columns.is_empty() { &age } else { columns };
        let read = |column: &Value| {
            let json_path = text(column, "jsonPath");
            let described = text(column, "description");
            Some(Column {
                name: text(column, "name"),
                kind: text(column, "type"),
                format: text(column, "format"),
                description: if described.is_empty() {
                    format!("Custom resource definition column (in JSONPath format): {json_path}")
                } else {
                    described
                },
                priority: column.get("priority").and_then(Value::as_i64).unwrap_or_default(),
                path: JsonPath::parse(&json_path)?,
            })
        };
        Self { columns: asked.iter().map_while(read).collect() }
    }
}

impl ComputedColumns for CustomColumns {
    fn definitions(&self) -> Vec<Value> {
        let name = json!({
            "name": "Name",
            "type": "string",
            "format": "name",
            "description": Description::Metadata("name").text(),
            "priority": 0,
        });
        let rest = self.columns.iter().map(|column| {
            json!({
                "name": column.name,
                "type": column.kind,
                "format": column.format,
                "description": column.description,
                "priority": column.priority,
            })
        });
        std::iter::once(name).chain(rest).collect()
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let rest = self.columns.iter().map(|column| {
            let found = column.path.find(object);
            found.first().map_or(Value::Null, |value| cell(&column.kind, value, now))
        });
        std::iter::once(metadata::name(object).into()).chain(rest).collect()
    }
}

fn cell(kind: &str, value: &Value, now: Timestamp) -> Value {
    match (kind, value) {
        ("string", Value::String(text)) => text.as_str().into(),
        ("string", Value::Null) => "<no value>".into(),
        ("string", Value::Number(number)) if number.is_f64() => {
            go::float::general(number.as_f64().unwrap_or_default()).into()
        }
        ("string", other) => gojson::to_string(other).into(),
        ("integer", Value::Number(number)) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => integer.into(),
            #[expect(clippy::cast_possible_truncation, reason = "upstream cuts the fraction off")]
            (None, Some(float)) => (float as i64).into(),
            (None, None) => Value::Null,
        },
        ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => value.clone(),
        ("date", Value::String(text)) => match time::parse(text) {
            Ok(moment) => human(now.duration_since(moment)).into(),
            Err(_) => "<invalid>".into(),
        },
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_the_type_of_their_column() {
        let now = "2026-01-02T00:00:00Z".parse().unwrap();
        let cases = [
            ("string", json!("x"), json!("x")),
            ("string", json!(3), json!("3")),
            ("string", json!({"a": [1]}), json!(r#"{"a":[1]}"#)),
            ("string", json!(null), json!("<no value>")),
            ("string", json!(true), json!("true")),
            ("integer", json!(3), json!(3)),
            ("integer", json!(3.7), json!(3)),
            ("integer", json!("3"), json!(null)),
            ("boolean", json!(true), json!(true)),
            ("date", json!("2026-01-01T23:59:00Z"), json!("60s")),
            ("date", json!("2026-01-01T23:55:30Z"), json!("4m30s")),
            ("date", json!("2025-12-30T20:00:00Z"), json!("2d4h")),
            ("date", json!("soon"), json!("<invalid>")),
        ];
        for (kind, value, expected) in cases {
            assert_eq!(cell(kind, &value, now), expected, "{kind} {value}");
        }
    }
}
