//! Conversions between types, and values as messages print them.

use std::sync::Arc;

use sluice_base::go::float;

use super::numbers::{as_double, seconds, truncate_int, truncate_uint, uint_as_double};
use super::{Call, Implementation};
use crate::time::{self, Timestamp};
use crate::value::{EvalError, Outcome, Value};

pub(super) fn find(name: &str) -> Option<Implementation> {
    Some(match name {
        "bool" => to_bool,
        "bytes" => to_bytes,
        "double" => to_double,
        "duration" => to_duration,
        "int" => to_int,
        "string" => to_string,
        "timestamp" => to_timestamp,
        "uint" => to_uint,
        _ => return None,
    })
}

/// Functions with a result that is known at compile time for a constant.
pub(crate) fn is_conversion(name: &str) -> bool {
    name == "dyn" || name == "type" || find(name).is_some()
}

fn refused(from: &str, to: &str) -> EvalError {
    EvalError::new(format!("type conversion error from '{from}' to '{to}'"))
}

fn overflow(kind: &str) -> EvalError {
    EvalError::new(format!("{kind} overflow"))
}

fn to_bool<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    match &args[0] {
        Value::Bool(value) => Ok(Value::Bool(*value)),
        Value::String(text) => match &**text {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(Value::Bool(false)),
            _ => Err(refused("string", "bool")),
        },
        _ => Err(call.mismatch(args)),
    }
}

fn to_bytes<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    match &args[0] {
        Value::Bytes(bytes) => Ok(Value::Bytes(Arc::clone(bytes))),
        Value::String(text) => Ok(Value::Bytes(Arc::from(text.as_bytes()))),
        _ => Err(call.mismatch(args)),
    }
}

fn to_double<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    Ok(Value::Double(match &args[0] {
        Value::Double(value) => *value,
        Value::Int(value) => as_double(*value),
        Value::Uint(value) => uint_as_double(*value),
        Value::String(text) => parse_double(text).ok_or_else(|| refused("string", "double"))?,
        _ => return Err(call.mismatch(args)),
    }))
}

fn parse_double(text: &str) -> Option<f64> {
    if let Some(value) = parse_hexadecimal(text) {
        return Some(value);
    }
    let value: f64 = text.parse().ok()?;
    let named = text.trim_start_matches(['+', '-']).starts_with(['i', 'I', 'n', 'N']);
    (value.is_finite() || named).then_some(value)
}

/// `0x1.8p3`: a hexadecimal fraction and a power of two.
fn parse_hexadecimal(text: &str) -> Option<f64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = digits
        .to_ascii_lowercase()
        .strip_prefix("0x")?
        .split_once('p')
        .map(|(mantissa, exponent)| (mantissa.to_owned(), exponent.to_owned()))?;
    let mut power: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((&mantissa, ""));
    let mut value = 0.0_f64;
    for digit in whole.chars().chain(fraction.chars()) {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
    }
    power = power.checked_sub(i32::try_from(fraction.len()).ok()?.checked_mul(4)?)?;
    let value = sign * value * 2_f64.powi(power);
    (value.is_finite() && !mantissa.is_empty()).then_some(value)
}

fn to_duration<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    match &args[0] {
        Value::Duration(span) => Ok(Value::Duration(*span)),
        Value::Int(_) => Err(refused("int", "google.protobuf.Duration")),
        Value::String(text) => time::parse_duration(text)
            .map(Value::Duration)
            .ok_or_else(|| refused("string", "google.protobuf.Duration")),
        _ => Err(call.mismatch(args)),
    }
}

fn to_int<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    Ok(Value::Int(match &args[0] {
        Value::Int(value) | Value::Duration(value) => *value,
        Value::Uint(value) => i64::try_from(*value).map_err(|_| overflow("integer"))?,
        Value::Double(value) => truncate_int(*value).ok_or_else(|| overflow("integer"))?,
        Value::Timestamp(time) => time.seconds,
        Value::String(text) => text.parse().map_err(|_| refused("string", "int"))?,
        _ => return Err(call.mismatch(args)),
    }))
}

fn to_uint<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    Ok(Value::Uint(match &args[0] {
        Value::Uint(value) => *value,
        Value::Int(value) => u64::try_from(*value).map_err(|_| overflow("unsigned integer"))?,
        Value::Double(value) => {
            truncate_uint(*value).ok_or_else(|| overflow("unsigned integer"))?
        }
        Value::String(text) if text.starts_with('+') => return Err(refused("string", "uint")),
        Value::String(text) => text.parse().map_err(|_| refused("string", "uint"))?,
        _ => return Err(call.mismatch(args)),
    }))
}

fn to_timestamp<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let time = match &args[0] {
        Value::Timestamp(time) => *time,
        Value::Int(seconds) => Timestamp { seconds: *seconds, nanos: 0, offset: 0 },
        Value::String(text) => time::parse_timestamp(text)
            .ok_or_else(|| refused("string", "google.protobuf.Timestamp"))?,
        _ => return Err(call.mismatch(args)),
    };
    if time.is_in_range() { Ok(Value::Timestamp(time)) } else { Err(overflow("timestamp")) }
}

fn to_string<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    match &args[0] {
        Value::String(text) => Ok(Value::String(text.clone())),
        Value::Ip(address) => Ok(Value::from(address.to_string())),
        Value::Cidr(network) => Ok(Value::from(network.to_string())),
        Value::Null | Value::Type(_) => Err(call.mismatch(args)),
        value => match text(value) {
            Some(text) => text.map(Value::from),
            None => Err(call.mismatch(args)),
        },
    }
}

/// A scalar as `string()` converts it.
pub(crate) fn text(value: &Value) -> Option<Result<String, EvalError>> {
    Some(Ok(match value {
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::Double(value) => float::general(*value),
        Value::String(text) => text.to_string(),
        Value::Bytes(bytes) => {
            return Some(
                String::from_utf8(bytes.to_vec()).map_err(|_| {
                    EvalError::new("invalid UTF-8 in bytes, cannot convert to string")
                }),
            );
        }
        Value::Duration(span) => format!("{}s", float::fixed(seconds(*span))),
        Value::Timestamp(time) => time.to_string(),
        Value::Type(name) => name.to_string(),
        Value::Null => "null".to_owned(),
        _ => return None,
    }))
}

/// A value as Go's `%v` prints it inside an error.
pub(crate) fn display(value: &Value) -> String {
    match value {
        Value::Duration(span) => time::go_duration(*span),
        Value::Timestamp(time) => time.go_string(),
        Value::Bytes(bytes) => {
            let bytes: Vec<String> = bytes.iter().map(u8::to_string).collect();
            format!("[{}]", bytes.join(" "))
        }
        Value::List(list) => {
            let shown: Vec<String> = list
                .iter()
                .map(|element| element.map_or_else(|e| e.to_string(), |v| display(&v)))
                .collect();
            format!("[{}]", shown.join(", "))
        }
        Value::Null => "NULL_VALUE".to_owned(),
        Value::Ip(address) => address.to_string(),
        Value::Cidr(network) => network.to_string(),
        Value::Optional(None) => "optional.none()".to_owned(),
        Value::Optional(Some(inner)) => format!("optional({})", display(inner)),
        other => match text(other) {
            Some(Ok(text)) => text,
            _ => other.type_name().to_owned(),
        },
    }
}
