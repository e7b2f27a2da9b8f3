//! Converts an untyped object to its Go type like `runtime.DefaultUnstructuredConverter`.
//!
//! The API server uses this, and not JSON, after a strategic merge. The messages differ, it stops at the first wrong
//! value in the order of the Go fields, and it truncates integers that are too wide instead of rejecting them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::byte_text;
use super::decode::{self, float};
use super::table::Shape;
use super::{DecodeError, Decoded, Types};

/// Converts `object` into the type `root` and encodes it again.
pub(super) fn restore(types: &Types, root: usize, object: Value) -> Result<Decoded, DecodeError> {
    let mut converter = Converter { types, path: String::new(), unknown: Vec::new() };
    let value = converter.value(root, object).map_err(DecodeError::Value)?;
    let mut strict = converter.unknown;
    strict.sort();
    Ok(Decoded { value, strict })
}

struct Converter<'t> {
    types: &'t Types,
    path: String,
    unknown: Vec<String>,
}

impl Converter<'_> {
    fn value(&mut self, number: usize, source: Value) -> Result<Value, String> {
        let types = self.types;
        let wanted = types.get(number);
        if source.is_null() {
            return Ok(types.zero(number));
        }
        match (&wanted.shape, source) {
            (Shape::Pointer(element), source) => self.value(*element, source),
            (Shape::Any, source) => Ok(source),
            (Shape::Own(_), source) => decode::own_value(types, number, source),
            (Shape::Bool, source @ Value::Bool(_)) | (Shape::Text, source @ Value::String(_)) => {
                Ok(source)
            }
            (Shape::Float, Value::Number(number)) => Ok(float(number.as_f64().unwrap_or_default())),
            (Shape::Integer { most, .. }, Value::Number(number)) => integer(&number, *most)
                .ok_or_else(|| format!("cannot convert float64 to {}", wanted.name)),
            // Go can turn a number into a string, so it says that it does not want to.
            (Shape::Text, Value::Number(number)) if !number.is_f64() => {
                Err(format!("cannot convert int64 to {}", wanted.name))
            }
            (Shape::Bool | Shape::Text | Shape::Float | Shape::Integer { .. }, _) => {
                Err(format!("unrecognized type: {}", wanted.shape.go_kind()))
            }
            (Shape::Bytes, Value::String(text)) => byte_text::read(&text)
                .map(|bytes| Value::String(STANDARD.encode(bytes)))
                .map_err(|error| format!("error decoding from json: {error}")),
            (Shape::Bytes, Value::Array(items)) => {
                let bytes = items.iter().map(|item| item.as_u64().unwrap_or_default());
                let bytes: Vec<u8> = bytes.map(|byte| byte.to_le_bytes()[0]).collect();
                Ok(Value::String(STANDARD.encode(bytes)))
            }
            (Shape::List(element), Value::Array(items)) => self.list(*element, items),
            (Shape::Map(element), Value::Object(members)) => self.map(*element, members),
            (Shape::Struct(_), Value::Object(members)) => self.structure(number, members),
            (Shape::Bytes | Shape::List(_), source) => {
                Err(format!("cannot restore slice from {}", kind_of(&source)))
            }
            (Shape::Map(_), source) => Err(format!("cannot restore map from {}", kind_of(&source))),
            (Shape::Struct(_), source) => {
                Err(format!("cannot restore struct from: {}", kind_of(&source)))
            }
        }
    }

    fn list(&mut self, element: usize, items: Vec<Value>) -> Result<Value, String> {
        let mut out = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let length = self.path.len();
            self.path.push('[');
            self.path.push_str(&index.to_string());
            self.path.push(']');
            out.push(self.value(element, item)?);
            self.path.truncate(length);
        }
        Ok(Value::Array(out))
    }

    /// Keys of maps are no part of upstream's paths.
    fn map(&mut self, element: usize, members: Map<String, Value>) -> Result<Value, String> {
        let mut out = Map::new();
        for (key, member) in members {
            out.insert(key, self.value(element, member)?);
        }
        Ok(Value::Object(out))
    }

    fn structure(
        &mut self,
        number: usize,
        mut members: Map<String, Value>,
    ) -> Result<Value, String> {
        let Shape::Struct(fields) = &self.types.get(number).shape else { return Ok(Value::Null) };
        let mut out = Map::new();
        for field in &fields.flat {
            let Some(member) = members.remove(&field.json) else { continue };
            if member.is_null() {
                continue;
            }
            let length = self.step_into(&field.json);
            let value = self.value(field.type_number, member)?;
            self.path.truncate(length);
            out.insert(field.json.clone(), value);
        }
        for key in members.keys() {
            let length = self.step_into(key);
            self.unknown.push(format!("unknown field \"{}\"", self.path));
            self.path.truncate(length);
        }
        let kept = self.types.pointers_to_null(number, &out);
        let mut object = Value::Object(out);
        self.types.fill_zeros(number, &mut object);
        for name in kept {
            object[name] = Value::Null;
        }
        Ok(object)
    }

    fn step_into(&mut self, key: &str) -> usize {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(key);
        length
    }
}

/// An integer cut to the width of its Go type; a float only if it is whole.
fn integer(number: &serde_json::Number, most: i64) -> Option<Value> {
    let wide = match number.as_i64() {
        Some(integer) => integer,
        None => decode::whole(number.as_f64()?)?,
    };
    Some(if most == i64::MAX {
        Value::from(wide)
    } else {
        let bytes = wide.to_le_bytes();
        Value::from(i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    })
}

/// The name of an untyped value in Go's reflection.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "invalid",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    }
}
