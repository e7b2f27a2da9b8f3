//! The actual cost of calls, by the sizes of their arguments.

use crate::value::{Outcome, Value};

/// Making a list.
pub(super) const LIST: u64 = 10;
/// Making a message.
pub(super) const STRUCT: u64 = 40;
/// Making a map.
pub(super) const MAP: u64 = 30;

/// Asking the authorizer.
const AUTHORIZATION: u64 = 350_000;
/// Reading one character of a text.
const TEXT: f64 = 0.1;
/// Trying one character of a pattern.
const PATTERN: f64 = 0.25;

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "sizes and costs are far below what a double holds exactly"
)]
fn scaled(size: u64, factor: f64) -> u64 {
    (size as f64 * factor).ceil() as u64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "sizes and costs are far below what a double holds exactly"
)]
fn truncated(size: u64, factor: f64) -> u64 {
    (size as f64 * factor) as u64
}

fn size(value: &Outcome) -> u64 {
    let Ok(value) = value else { return 1 };
    size_of(value)
}

fn size_of(value: &Value) -> u64 {
    match value {
        Value::Optional(Some(inner)) => size_of(inner),
        Value::Ip(address) => {
            if address.is_ipv4() {
                4
            } else {
                16
            }
        }
        Value::Cidr(network) => u64::from(network.bits.div_ceil(8)),
        other => other.size().map_or(1, |size| u64::try_from(size).unwrap_or(u64::MAX)),
    }
}

/// Reading all of a value.
fn traversal(value: &Outcome) -> u64 {
    let Ok(value) = value else { return 1 };
    match value {
        Value::String(text) => truncated(text.len() as u64, TEXT),
        Value::Bytes(bytes) => truncated(bytes.len() as u64, TEXT),
        Value::List(list) => list.iter().map(|element| traversal(&element)).sum(),
        Value::Map(map) => map
            .keys()
            .into_iter()
            .map(|key| {
                let value = map.find(&key).map_or(1, |value| traversal(&value));
                traversal(&Ok(key)) + value
            })
            .sum(),
        _ => 1,
    }
}

/// A list compared with itself.
fn self_comparison(list: &Outcome) -> u64 {
    let count = size(list);
    let mut factor = 2.0;
    if let Ok(Value::List(list)) = list
        && matches!(list.get(0), Some(Ok(Value::String(_) | Value::Bytes(_))))
    {
        factor += TEXT;
    }
    truncated(count.saturating_mul(count), factor) + 1 + LIST
}

/// The cost of a call.
pub(super) fn call(
    function: &str,
    overload: Option<&str>,
    args: &[Outcome],
    result: &Outcome,
) -> u64 {
    let arg = |index: usize| args.get(index).map_or(1, size);
    let overload = overload.unwrap_or("");
    match function {
        "slice" | "lists.range" | "reverse" if overload != "string_reverse" => {
            return size(result) + 1 + LIST;
        }
        "flatten" => {
            let depth = match args.get(1) {
                Some(Ok(Value::Int(depth))) => *depth,
                _ => 1,
            };
            return match u64::try_from(depth) {
                Ok(depth) => arg(0).saturating_mul(depth).saturating_add(1 + LIST),
                // A negative depth is refused after this much.
                Err(_) => LIST,
            };
        }
        "check" => return AUTHORIZATION,
        "fieldSelector" | "labelSelector" => {
            let requirements = scaled(arg(1), 0.5);
            return LIST + scaled(arg(1), TEXT) + requirements.saturating_mul(LIST + STRUCT);
        }
        "distinct" | "sort" if !overload.is_empty() => {
            return args.first().map_or(1, self_comparison);
        }
        "@sortByAssociatedKeys" if !overload.is_empty() => {
            return args.get(1).map_or(1, self_comparison);
        }
        "sets.contains" | "sets.intersects" => return 1 + arg(0).saturating_mul(arg(1)),
        "sets.equivalent" => return 1 + arg(0).saturating_mul(arg(1)).saturating_mul(2),
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => {
            return args.first().map_or(0, traversal);
        }
        "url" | "lowerAscii" | "upperAscii" | "substring" | "trim" | "cidr" | "isIP" | "isCIDR"
        | "quantity" | "isQuantity" | "semver" | "isSemver" => return scaled(arg(0), TEXT),
        "ip" if overload != "cidr_ip" => return scaled(arg(0), TEXT),
        "replace" | "split" | "ip.isCanonical" => return scaled(arg(0), 2.0 * TEXT),
        "join" => return scaled(size(result), 2.0 * TEXT),
        "find" | "findAll" => {
            return scaled(arg(0).saturating_add(1), TEXT).saturating_mul(scaled(arg(1), PATTERN));
        }
        "containsIP" => {
            let parsing = overload == "cidr_contains_ip_string";
            return scaled(2 * arg(0), TEXT) + if parsing { scaled(arg(1), TEXT) } else { 0 };
        }
        "containsCIDR" => {
            let parsing = overload == "cidr_contains_cidr_string";
            return scaled(2 * arg(0), TEXT)
                + scaled(arg(0), TEXT)
                + 1
                + if parsing { scaled(arg(1), TEXT) } else { 0 };
        }
        "validate" => {
            if let Some(Ok(Value::Format(format))) = args.first() {
                let pattern = u64::try_from(format.pattern_length).unwrap_or(u64::MAX);
                let text = scaled(arg(1).saturating_add(1), TEXT);
                return text.saturating_mul(scaled(pattern, PATTERN));
            }
        }
        "_==_" => {
            if let Some(Ok(
                Value::Quantity(_)
                | Value::Ip(_)
                | Value::Cidr(_)
                | Value::Format(_)
                | Value::Url(_)
                | Value::Semver(_),
            )) = args.first()
            {
                return 1;
            }
        }
        _ => {}
    }
    standard(overload, &arg)
}

fn standard(overload: &str, arg: &dyn Fn(usize) -> u64) -> u64 {
    match overload {
        "starts_with_string" | "ends_with_string" | "string_to_bytes" | "bytes_to_string"
        | "strings_quote" | "string_format" => scaled(arg(0), TEXT),
        "in_list" => arg(1),
        "less_string"
        | "greater_string"
        | "less_equals_string"
        | "greater_equals_string"
        | "less_bytes"
        | "greater_bytes"
        | "less_equals_bytes"
        | "greater_equals_bytes"
        | "equals"
        | "not_equals" => scaled(arg(0).min(arg(1)), TEXT),
        "add_string" | "add_bytes" => scaled(arg(0).saturating_add(arg(1)), TEXT),
        "matches_string" => {
            scaled(arg(0).saturating_add(1), TEXT).saturating_mul(scaled(arg(1), PATTERN))
        }
        "contains_string" => scaled(arg(0), TEXT).saturating_mul(scaled(arg(1), TEXT)),
        _ => 1,
    }
}
