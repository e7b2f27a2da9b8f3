//! The Go types with their own `MarshalJSON` and `UnmarshalJSON`.

use jiff::Timestamp;
use serde_json::Value;
use sluice_base::{quantity, time};

/// A type with its own JSON form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Own {
    Quantity,
    Time,
    MicroTime,
    IntOrString,
    /// `runtime.RawExtension`, `v1.FieldsV1` and apiextensions' `JSON`: any JSON, kept as it is.
    Raw,
    SchemaOrArray,
    SchemaOrBool,
    SchemaOrTexts,
}

impl Own {
    /// The type that Go calls `name`.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "resource.Quantity" => Self::Quantity,
            "v1.Time" | "time.Time" => Self::Time,
            "v1.MicroTime" => Self::MicroTime,
            "intstr.IntOrString" => Self::IntOrString,
            "runtime.RawExtension" | "v1.FieldsV1" | "v1.JSON" => Self::Raw,
            "v1.JSONSchemaPropsOrArray" => Self::SchemaOrArray,
            "v1.JSONSchemaPropsOrBool" => Self::SchemaOrBool,
            "v1.JSONSchemaPropsOrStringArray" => Self::SchemaOrTexts,
            _ => return None,
        })
    }

    /// The value of an unset field, as Go writes it.
    pub(crate) fn zero(self) -> Value {
        match self {
            Self::Quantity => Value::from("0"),
            Self::IntOrString => Value::from(0),
            Self::SchemaOrBool => Value::Bool(false),
            Self::Time
            | Self::MicroTime
            | Self::Raw
            | Self::SchemaOrArray
            | Self::SchemaOrTexts => Value::Null,
        }
    }
}

/// A quantity's text in canonical form; spaces around it are allowed.
pub(super) fn quantity(text: &str) -> Result<Value, String> {
    let quantity = quantity::canonicalize(text.trim()).map_err(|error| error.to_string())?;
    Ok(Value::String(quantity))
}

/// A time's text in UTC; Go's zero time is written as `null`.
pub(super) fn instant(text: &str, micros: bool) -> Result<Value, String> {
    let read = if micros { time::parse_micros(text) } else { time::parse(text) };
    Ok(write_instant(read.map_err(|error| error.to_string())?, micros))
}

/// A time as Go writes it.
pub(crate) fn write_instant(moment: Timestamp, micros: bool) -> Value {
    // 0001-01-01T00:00:00Z
    const ZERO: i64 = -62_135_596_800;
    if moment.as_second() == ZERO && moment.subsec_nanosecond() == 0 {
        return Value::Null;
    }
    let text = if micros { time::format_micros(moment) } else { time::format_seconds(moment) };
    Value::String(text)
}
