//! JSON objects, in the order of their fields.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use sluice_base::go;

use crate::tree::{Branch, Item, Value, json_text};

pub(super) fn load(text: &[u8]) -> Result<Vec<Branch>, String> {
    let wrong = |problem: String| format!("Could not unmarshal input data: {problem}");
    // Data after the object is ignored.
    let mut reader = serde_json::Deserializer::from_slice(text);
    let value = Value::deserialize(&mut reader);
    match value {
        Ok(Value::Branch(branch)) => Ok(vec![branch]),
        Ok(other) => Err(wrong(format!(
            "SOPS only supports JSON files with a top-level object (starting with '{{'), not \
             arrays or other types. Got type {} instead",
            other.type_name()
        ))),
        // The error has the position, not the text.
        Err(error) => Err(wrong(error.to_string())),
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Bool(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Int(number))
    }

    #[expect(clippy::cast_precision_loss, reason = "what no integer of Go holds is a float there")]
    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(i64::try_from(number).map_or(Value::Float(number as f64), Value::Int))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Float(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut out = Vec::new();
        while let Some(item) = items.next_element()? {
            out.push(item);
        }
        Ok(Value::List(out))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut out = Branch::new();
        while let Some((name, value)) = fields.next_entry()? {
            out.push(Item::Field(name, value));
        }
        Ok(Value::Branch(out))
    }
}

pub(super) fn emit(branches: &[Branch]) -> Result<Vec<u8>, String> {
    let wrong = |problem: &str| format!("Error marshaling to json: {problem}");
    let branch = branches.first().ok_or_else(|| wrong("there is no document"))?;
    let mut out = String::new();
    write_branch(&mut out, branch, 0).map_err(|problem| wrong(&problem))?;
    out.push('\n');
    Ok(out.into_bytes())
}

fn write(out: &mut String, value: &Value, depth: usize) -> Result<(), String> {
    match value {
        // Lists skip comments, and a field never has one as its value.
        Value::Null | Value::Comment(_) => out.push_str("null"),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Int(number) => out.push_str(&number.to_string()),
        Value::Float(number) if number.is_finite() => out.push_str(&go::float::json(*number)),
        Value::Float(_) => return Err("json: unsupported value".to_owned()),
        Value::Text(text) => out.push_str(&json_text(text)),
        Value::Bytes(bytes) => out.push_str(&json_text(STANDARD.encode(bytes).as_bytes())),
        Value::Time(text) => out.push_str(&json_text(text.as_bytes())),
        Value::List(items) => {
            let items: Vec<&Value> =
                items.iter().filter(|item| !matches!(item, Value::Comment(_))).collect();
            enclosed(out, '[', ']', &items, depth, |out, item| write(out, item, depth + 1))?;
        }
        Value::Branch(branch) => write_branch(out, branch, depth)?,
    }
    Ok(())
}

fn write_branch(out: &mut String, branch: &Branch, depth: usize) -> Result<(), String> {
    let fields: Vec<(&String, &Value)> = branch
        .iter()
        .filter_map(|item| match item {
            Item::Field(name, value) => Some((name, value)),
            Item::Comment(_) => None,
        })
        .collect();
    enclosed(out, '{', '}', &fields, depth, |out, (name, value)| {
        out.push_str(&json_text(name.as_bytes()));
        out.push_str(": ");
        write(out, value, depth + 1)
    })
}

/// Items on separate lines, indented by tabs.
fn enclosed<T>(
    out: &mut String,
    open: char,
    close: char,
    items: &[T],
    depth: usize,
    mut item: impl FnMut(&mut String, &T) -> Result<(), String>,
) -> Result<(), String> {
    out.push(open);
    for (index, each) in items.iter().enumerate() {
        out.push_str(if index > 0 { ",\n" } else { "\n" });
        out.extend(std::iter::repeat_n('\t', depth + 1));
        item(out, each)?;
    }
    if !items.is_empty() {
        out.push('\n');
        out.extend(std::iter::repeat_n('\t', depth));
    }
    out.push(close);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{emit, load};

    #[test]
    fn order_and_types_stay() {
        let text = "{\n\t\"b\": 1,\n\t\"a\": [\n\t\ttrue,\n\t\tnull,\n\t\t1.5,\n\t\t{}\n\t],\n\t\
                    \"big\": 12345678901234567,\n\t\"t\": \"\\u003cx\\u003e\"\n}\n";
        let emitted = emit(&load(text.as_bytes()).expect("it is JSON")).expect("it has a form");
        assert_eq!(String::from_utf8(emitted).expect("JSON is UTF-8"), text);
        load(b"[1]").expect_err("a list is no document");
    }
}
