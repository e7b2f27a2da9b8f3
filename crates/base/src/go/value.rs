//! Decoded JSON as Go prints it in messages: `%v` and `%#v` of `interface{}`.

use std::fmt::Write as _;

use serde_json::{Number, Value};

use super::float;
use super::quote::quote;

/// `%v`: `map[a:1 b:[x y]]`, texts without quotes, `<nil>`.
pub fn plain(value: &Value) -> String {
    let mut out = String::new();
    write_plain(&mut out, value);
    out
}

/// `%#v` of a value inside of another one: `map[string]interface {}{"a":1}`. (Alone, nil would be `<nil>`.)
pub fn syntax(value: &Value) -> String {
    let mut out = String::new();
    write_syntax(&mut out, value);
    out
}

/// `%v` of a number: what fits into 64 bits with a sign is an integer, everything else a float.
pub fn number(number: &Number) -> String {
    match number.as_i64() {
        Some(integer) => integer.to_string(),
        None => float::general(number.as_f64().unwrap_or_default()),
    }
}

fn write_plain(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Number(it) => out.push_str(&number(it)),
        Value::String(text) => out.push_str(text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { " " } else { "" });
                write_plain(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push_str("map[");
            for (index, (name, field)) in fields.iter().enumerate() {
                // Writing to a String cannot fail.
                let _ = write!(out, "{}{name}:", if index > 0 { " " } else { "" });
                write_plain(out, field);
            }
            out.push(']');
        }
    }
}

fn write_syntax(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("interface {}(nil)"),
        Value::Bool(_) | Value::Number(_) => write_plain(out, value),
        Value::String(text) => out.push_str(&quote(text)),
        Value::Array(items) => {
            out.push_str("[]interface {}{");
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                write_syntax(out, item);
            }
            out.push('}');
        }
        Value::Object(fields) => {
            out.push_str("map[string]interface {}{");
            for (index, (name, field)) in fields.iter().enumerate() {
                let _ = write!(out, "{}{}:", if index > 0 { ", " } else { "" }, quote(name));
                write_syntax(out, field);
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_print_as_in_go() {
        let value = json!({"b": [1, "x y", null], "a": 1e6, "c": {"d": true}});
        assert_eq!(plain(&value), "map[a:1e+06 b:[1 x y <nil>] c:map[d:true]]");
        assert_eq!(
            syntax(&value),
            r#"map[string]interface {}{"a":1e+06, "b":[]interface {}{1, "x y", interface {}(nil)}, "c":map[string]interface {}{"d":true}}"#
        );
        assert_eq!(plain(&json!(u64::MAX)), "1.8446744073709552e+19");
    }
}
