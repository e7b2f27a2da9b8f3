//! Writes OpenAPI documents as protobuf: the messages of `openapi.v2` and `openapi.v3` that Go clients read.
//!
//! The messages are tables ([`v2`], [`v3`]); this file walks a JSON document along them. Values that the format has no
//! place for (extensions, defaults of any type) are texts of YAML in it, and JSON is YAML.

mod v2;
mod v3;

use serde_json::Value;

/// A v2 document as `openapi.v2.Document`.
pub fn version_two(document: &Value) -> Vec<u8> {
    message(&v2::DOCUMENT, document)
}

/// A v3 document as `openapi.v3.Document`.
pub fn version_three(document: &Value) -> Vec<u8> {
    message(&v3::DOCUMENT, document)
}

/// A message: where each member of a JSON object goes.
struct Message {
    fields: &'static [Field],
    /// The number of the list that takes `x-` members; 0 if there is none.
    extensions: u32,
    /// The list that takes the members that are no fields, such as the paths of `Paths`.
    others: Option<(u32, Kind)>,
}

/// Name in JSON, number, and how it is written.
struct Field(&'static str, u32, Kind);

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Flag,
    /// A double.
    Number,
    /// An int64.
    Whole,
    Texts,
    One(&'static Message),
    Many(&'static Message),
    /// A message of the values, named, in its field 1.
    Map(&'static Kind),
    /// A message with the values in its field 1: the form of a JSON value that may be one or several.
    Wrapped(&'static Kind),
    /// One of several messages, by what the value looks like.
    Choice(fn(&Value) -> (u32, Kind)),
    Choices(fn(&Value) -> (u32, Kind)),
    Any,
    Anys,
}

/// One member as the bytes of its fields.
fn field(number: u32, kind: Kind, value: &Value, out: &mut Vec<u8>) {
    let items = || value.as_array().into_iter().flatten();
    match kind {
        Kind::Text => text(number, value.as_str().unwrap_or_default(), out),
        Kind::Flag if value == true => varint_field(number, 1, out),
        Kind::Flag => {}
        Kind::Number => {
            tag(number, 1, out);
            out.extend(value.as_f64().unwrap_or_default().to_le_bytes());
        }
        Kind::Whole => {
            let whole = value.as_i64().unwrap_or_default();
            varint_field(number, whole.cast_unsigned(), out);
        }
        Kind::Texts => {
            let several: Vec<&Value> =
                if value.is_array() { items().collect() } else { vec![value] };
            for item in several {
                bytes(number, item.as_str().unwrap_or_default().as_bytes(), out);
            }
        }
        Kind::One(kind) => bytes(number, &message(kind, value), out),
        Kind::Many(kind) => {
            let several: Vec<&Value> =
                if value.is_array() { items().collect() } else { vec![value] };
            for item in several {
                bytes(number, &message(kind, item), out);
            }
        }
        Kind::Map(kind) => {
            let mut inner = Vec::new();
            for (name, value) in value.as_object().into_iter().flatten() {
                named(1, name, *kind, value, &mut inner);
            }
            bytes(number, &inner, out);
        }
        Kind::Wrapped(kind) => {
            let mut inner = Vec::new();
            field(1, *kind, value, &mut inner);
            bytes(number, &inner, out);
        }
        Kind::Choice(choose) => bytes(number, &chosen(choose, value), out),
        Kind::Choices(choose) => {
            let several: Vec<&Value> =
                if value.is_array() { items().collect() } else { vec![value] };
            for item in several {
                bytes(number, &chosen(choose, item), out);
            }
        }
        Kind::Any => bytes(number, &any(value), out),
        Kind::Anys => {
            for item in items() {
                bytes(number, &any(item), out);
            }
        }
    }
}

fn chosen(choose: fn(&Value) -> (u32, Kind), value: &Value) -> Vec<u8> {
    let (number, kind) = choose(value);
    let mut out = Vec::new();
    field(number, kind, value, &mut out);
    out
}

fn message(kind: &Message, value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    let Some(members) = value.as_object() else { return out };
    for Field(name, number, kind) in kind.fields {
        if let Some(value) = members.get(*name) {
            field(*number, *kind, value, &mut out);
        }
    }
    for (name, value) in members {
        let is_field = kind.fields.iter().any(|Field(known, ..)| known == name);
        if name.starts_with("x-") && kind.extensions > 0 {
            named(kind.extensions, name, Kind::Any, value, &mut out);
        } else if let Some((number, kind)) = kind.others
            && !is_field
        {
            named(number, name, kind, value, &mut out);
        }
    }
    out
}

/// `NamedX`: a name and a value.
fn named(number: u32, name: &str, kind: Kind, value: &Value, out: &mut Vec<u8>) {
    let mut inner = Vec::new();
    text(1, name, &mut inner);
    field(2, kind, value, &mut inner);
    bytes(number, &inner, out);
}

/// `Any`: the value as a text of YAML.
fn any(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    text(2, &value.to_string(), &mut out);
    out
}

fn text(number: u32, value: &str, out: &mut Vec<u8>) {
    if !value.is_empty() {
        bytes(number, value.as_bytes(), out);
    }
}

fn bytes(number: u32, value: &[u8], out: &mut Vec<u8>) {
    tag(number, 2, out);
    varint(value.len() as u64, out);
    out.extend_from_slice(value);
}

fn varint_field(number: u32, value: u64, out: &mut Vec<u8>) {
    tag(number, 0, out);
    varint(value, out);
}

fn tag(number: u32, wire_type: u64, out: &mut Vec<u8>) {
    varint(u64::from(number) << 3 | wire_type, out);
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Bytes by hand, from the wire format and the numbers of the messages.
    #[test]
    fn fields_have_their_numbers() {
        let cases: [(Value, &[u8]); 5] = [
            (json!({"swagger": "2.0"}), b"\x0a\x032.0"),
            (json!({"info": {"title": "K", "version": "v1"}}), b"\x12\x07\x0a\x01K\x12\x02v1"),
            // definitions { name: "A" value { type { value: "object" } } }
            (
                json!({"definitions": {"A": {"type": "object"}}}),
                b"\x4a\x12\x0a\x10\x0a\x01A\x12\x0b\xb2\x01\x08\x0a\x06object",
            ),
            // paths { path { name: "/a" value { get { operation_id: "b" } } } }
            (
                json!({"paths": {"/a": {"get": {"operationId": "b"}}}}),
                b"\x42\x0d\x12\x0b\x0a\x02/a\x12\x05\x12\x03\x2a\x01b",
            ),
            // vendor_extension { name: "x-a" value { yaml: "[1]" } }
            (json!({"x-a": [1]}), b"\x82\x01\x0c\x0a\x03x-a\x12\x05\x12\x03[1]"),
        ];
        for (document, expected) in cases {
            assert_eq!(version_two(&document), expected, "{document}");
        }
    }
}
