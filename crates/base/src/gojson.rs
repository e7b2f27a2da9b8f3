//! JSON text as Go's `encoding/json` writes it: `<`, `>`, `&` and the two line separators escaped.
//!
//! `serde_json` writes the same values with those characters bare. Answers of an API server,
//! annotations such as `last-applied-configuration` and digests over JSON are observable, so they
//! go through here.

use serde_json::Value;

use crate::go::float;

/// `value` as one line of JSON, object keys in order, the way `json.Marshal` writes it.
pub fn to_string(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value);
    out
}

/// Appends `value` to `out` the way `json.Marshal` writes it.
pub fn write(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_text(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (index, (name, field)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_text(out, name);
                out.push(':');
                write(out, field);
            }
            out.push('}');
        }
    }
}

/// Appends a number as Go writes it: integers plainly, floats shortest, exponents like `1e+21`.
pub fn write_number(out: &mut String, number: &serde_json::Number) {
    use std::fmt::Write as _;
    if number.is_f64() {
        out.push_str(&float::json(number.as_f64().unwrap_or_default()));
    } else {
        let _ = write!(out, "{number}");
    }
}

/// One line of JSON spread out with two spaces, as `json.Indent` does it.
pub fn indent(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    let new_line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    };
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if quoted {
            out.push(letter);
            quoted = escaped || letter != '"';
            escaped = !escaped && letter == '\\';
            continue;
        }
        match letter {
            '{' | '[' => {
                out.push(letter);
                if letters.peek().is_some_and(|next| matches!(next, '}' | ']')) {
                    out.extend(letters.next());
                } else {
                    depth += 1;
                    new_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(letter);
            }
            ',' => {
                out.push(letter);
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            other => {
                quoted = other == '"';
                out.push(other);
            }
        }
    }
    out
}

/// Appends `text` as a JSON string with Go's escapes.
pub fn write_text(out: &mut String, text: &str) {
    use std::fmt::Write as _;
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            control if u32::from(control) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn indents_like_go() {
        let value = json!({"a": [1, {}], "b": {"c": "x: {\"y\", [z]}"}});
        assert_eq!(
            super::indent(&super::to_string(&value)),
            "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": {\n    \"c\": \"x: {\\\"y\\\", [z]}\"\n  }\n}"
        );
    }

    #[test]
    fn escapes_like_go() {
        let cases = [
            (json!("a<b>&c"), r#""a\u003cb\u003e\u0026c""#),
            (json!("\u{2028}\u{1}\u{8}"), r#""\u2028\u0001\b""#),
            (json!({"b": 1, "a": [true, null]}), r#"{"a":[true,null],"b":1}"#),
            (json!(1e21), "1e+21"),
            (json!(1e-7), "1e-7"),
            (json!(0.5), "0.5"),
            (json!(100.0), "100"),
        ];
        for (value, expected) in cases {
            assert_eq!(super::to_string(&value), expected);
        }
    }
}
