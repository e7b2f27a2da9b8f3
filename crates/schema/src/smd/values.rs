//! Values as structured-merge-diff sees them: integers and floats compare as numbers, everything has
//! an order, and error texts print values the way Go's `%v` and `%#v` do.

use std::cmp::Ordering;
use std::fmt::Write as _;

use serde_json::{Number, Value};
use sluice_base::go;

/// A JSON number as Go decodes it: an `int64` where it fits, a `float64` otherwise.
#[derive(Clone, Copy)]
enum Numeric {
    Integer(i64),
    Float(f64),
}

fn numeric(number: &Number) -> Numeric {
    number
        .as_i64()
        .map_or_else(|| Numeric::Float(number.as_f64().unwrap_or_default()), Numeric::Integer)
}

#[expect(clippy::cast_precision_loss, reason = "Go compares an int64 with a float64 as floats too")]
fn compare_numbers(left: &Number, right: &Number) -> Ordering {
    let (left, right) = match (numeric(left), numeric(right)) {
        (Numeric::Integer(left), Numeric::Integer(right)) => return left.cmp(&right),
        (Numeric::Integer(left), Numeric::Float(right)) => (left as f64, right),
        (Numeric::Float(left), Numeric::Integer(right)) => (left, right as f64),
        (Numeric::Float(left), Numeric::Float(right)) => (left, right),
    };
    left.partial_cmp(&right).unwrap_or(Ordering::Equal)
}

/// Whether two values are the same, where `1` and `1.0` are.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right).is_eq(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|((left_key, left), (right_key, right))| {
                    left_key == right_key && equal(left, right)
                })
        }
        _ => left == right,
    }
}

/// The place of a kind of value in the order: numbers, strings, booleans, lists, maps, null.
fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

/// The total order of values that sorts set items and list keys.
pub(crate) fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => left
            .iter()
            .zip(right)
            .map(|(left, right)| compare(left, right))
            .find(|order| order.is_ne())
            .unwrap_or_else(|| left.len().cmp(&right.len())),
        (Value::Object(left), Value::Object(right)) => compare_maps(left, right),
        _ => rank(left).cmp(&rank(right)),
    }
}

fn compare_maps(
    left: &serde_json::Map<String, Value>,
    right: &serde_json::Map<String, Value>,
) -> Ordering {
    let (mut lefts, mut rights) = (left.iter(), right.iter());
    loop {
        let order = match (lefts.next(), rights.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some((left_key, left)), Some((right_key, right))) => match left_key.cmp(right_key) {
                Ordering::Equal => compare(left, right),
                // The map that has the smaller key lacks nothing there, and the other side does.
                Ordering::Less => Ordering::Less,
                Ordering::Greater => Ordering::Greater,
            },
        };
        if order.is_ne() {
            return order;
        }
    }
}

/// A value inside a path: strings quoted, numbers plain.
pub(crate) fn display(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => {
            let _ = write!(out, "{value}");
        }
        Value::Number(number) => out.push_str(&go::value::number(number)),
        Value::String(text) => out.push_str(&go::quote(text)),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                display(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let _ = write!(out, "{name}=");
                display(out, field);
            }
        }
    }
}

/// Go's name for the type of a decoded value, as `%T` prints it.
pub(crate) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) => match numeric(number) {
            Numeric::Integer(_) => "int64",
            Numeric::Float(_) => "float64",
        },
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A wrapped value as `%v` prints it: `&{abc}`, `&{map[a:1]}`.
pub(crate) fn go_wrapped(value: &Value) -> String {
    format!("&{{{}}}", go::value::plain(value))
}

/// A wrapped value as `%#v` prints it: `&value.valueUnstructured{Value:1}`.
pub(crate) fn go_syntax(value: &Value) -> String {
    format!("&value.valueUnstructured{{Value:{}}}", go::value::syntax(value))
}
