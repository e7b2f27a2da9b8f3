//! Reads request bodies in Kubernetes' protobuf into the JSON that Go would write for them.
//!
//! Go clients always send built-in kinds as protobuf. The body is an envelope that names the kind, around a message with
//! field numbers that are in the Go type's tags; so the recorded type table is all that is needed. Responses with
//! objects may always be JSON, and are not written here; OpenAPI documents are ([`openapi`]), because kubectl reads v2
//! in no other form.

pub mod openapi;
mod wire;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value};
use sluice_base::quantity;

use crate::gotypes::{Document, Field, Own, Shape, Types, float, write_instant};
use wire::{Payload, Reader};

/// The first bytes of every body.
const MAGIC: &[u8] = b"k8s\0";

/// Schemas of custom resources nest; deeper than this is refused.
const MAX_DEPTH: usize = 128;

/// Why a body cannot be decoded, with the messages of Go's decoder where users may see them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProtobufError {
    /// The body is empty.
    #[error("empty data")]
    Empty,
    /// The body does not begin with the magic bytes.
    #[error(
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
    )]
    NoMagic,
    /// There is nothing behind the magic bytes.
    #[error("empty body")]
    EmptyBody,
    /// The envelope names no kind, or one that has no Go type.
    #[error("no kind {kind:?} is registered for version {api_version:?}")]
    UnknownKind {
        /// `apps/v1`.
        api_version: String,
        /// `Deployment`.
        kind: String,
    },
    /// The bytes end within a value.
    #[error("unexpected EOF")]
    UnexpectedEnd,
    /// A number has too many bytes.
    #[error("proto: integer overflow")]
    Overflow,
    /// A field has another wire type than its Go type.
    #[error("proto: wrong wireType = {wire_type} for field {field}")]
    WireType {
        /// The wire type found.
        wire_type: u8,
        /// The Go name of the field.
        field: String,
    },
    /// A tag that no field can have.
    #[error("proto: {message}: illegal tag {number} (wire type {tag})")]
    IllegalTag {
        /// The Go name of the message.
        message: String,
        /// The field number.
        number: i32,
        /// The whole tag.
        tag: u64,
    },
    /// Messages nest too deeply.
    #[error("proto: messages nest too deeply")]
    Depth,
    /// A value is of no use for its type.
    #[error("{0}")]
    Value(String),
}

/// The object in `body`, as Go would write it in JSON, with the kind of the envelope.
pub fn decode(body: &[u8]) -> Result<Value, ProtobufError> {
    if body.is_empty() {
        return Err(ProtobufError::Empty);
    }
    let envelope = body.strip_prefix(MAGIC).ok_or(ProtobufError::NoMagic)?;
    if envelope.is_empty() {
        return Err(ProtobufError::EmptyBody);
    }
    Decoder { types: Types::recorded() }.envelope(envelope, 0)
}

/// Kinds of `meta/v1` that every group version knows, also those of custom resources.
const META_KINDS: &[&str] = &[
    "CreateOptions",
    "DeleteOptions",
    "GetOptions",
    "ListOptions",
    "PatchOptions",
    "UpdateOptions",
];

struct Decoder<'t> {
    types: &'t Types,
}

impl Decoder<'_> {
    fn envelope(&self, bytes: &[u8], depth: usize) -> Result<Value, ProtobufError> {
        if depth > MAX_DEPTH {
            return Err(ProtobufError::Depth);
        }
        let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
        let mut reader = Reader::new(bytes, "Unknown");
        while let Some((number, payload)) = reader.next_field()? {
            match (number, payload) {
                (1, Payload::Bytes(type_meta)) => {
                    let mut inner = Reader::new(type_meta, "TypeMeta");
                    while let Some((number, payload)) = inner.next_field()? {
                        match (number, payload) {
                            (1, Payload::Bytes(text)) => api_version = lossy(text),
                            (2, Payload::Bytes(text)) => kind = lossy(text),
                            _ => {}
                        }
                    }
                }
                (2, Payload::Bytes(bytes)) => raw = bytes,
                _ => {}
            }
        }
        let number = self.types.type_of(&api_version, &kind).or_else(|| {
            META_KINDS.contains(&kind.as_str()).then(|| self.types.type_of("v1", &kind))?
        });
        let Some(number) = number else {
            return Err(ProtobufError::UnknownKind { api_version, kind });
        };
        let mut object = self.message(number, raw, depth)?;
        if let Value::Object(members) = &mut object {
            members.insert("apiVersion".to_owned(), Value::String(api_version));
            members.insert("kind".to_owned(), Value::String(kind));
        }
        Ok(object)
    }

    /// A struct's message as JSON.
    fn message(&self, number: usize, bytes: &[u8], depth: usize) -> Result<Value, ProtobufError> {
        if depth > MAX_DEPTH {
            return Err(ProtobufError::Depth);
        }
        let mut out = Map::new();
        self.fields(number, bytes, &mut out, depth)?;
        let kept = self.types.pointers_to_null(number, &out);
        let mut object = Value::Object(out);
        self.types.fill_zeros(number, &mut object);
        for name in kept {
            object[name] = Value::Null;
        }
        Ok(object)
    }

    /// Collects the fields of a message; those of inlined structs go to the same object.
    fn fields(
        &self,
        number: usize,
        bytes: &[u8],
        out: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), ProtobufError> {
        let message = self.types.get(number);
        let Shape::Struct(fields) = &message.shape else { return Ok(()) };
        let mut reader = Reader::new(bytes, message.short_name());
        while let Some((tag, payload)) = reader.next_field()? {
            let Some(field) = fields.own.iter().find(|field| field.number == tag) else { continue };
            if field.json.is_empty() {
                let inner = payload.bytes().ok_or_else(|| wrong(field, &payload))?;
                self.fields(field.type_number, inner, out, depth + 1)?;
                continue;
            }
            let field_type = self.types.get(field.type_number);
            match &field_type.shape {
                Shape::List(element) if !field_type.message => {
                    let list =
                        out.entry(field.json.as_str()).or_insert_with(|| Value::Array(vec![]));
                    let Value::Array(items) = list else { continue };
                    self.items(*element, field, &payload, items, depth)?;
                }
                Shape::Map(element) => {
                    let entry = payload.bytes().ok_or_else(|| wrong(field, &payload))?;
                    let (key, value) = self.entry(*element, field, entry, depth)?;
                    let map =
                        out.entry(field.json.as_str()).or_insert_with(|| Value::Object(Map::new()));
                    if let Value::Object(members) = map {
                        members.insert(key, value);
                    }
                }
                _ => {
                    let value = self.value(field.type_number, field, &payload, depth + 1)?;
                    out.insert(field.json.clone(), value);
                }
            }
        }
        Ok(())
    }

    /// One element of a repeated field, or several that are packed.
    fn items(
        &self,
        element: usize,
        field: &Field,
        payload: &Payload<'_>,
        items: &mut Vec<Value>,
        depth: usize,
    ) -> Result<(), ProtobufError> {
        if let (Shape::Integer { .. } | Shape::Bool, Payload::Bytes(packed)) =
            (&self.types.get(element).shape, payload)
        {
            let mut reader = Reader::new(packed, "");
            while !reader.is_done() {
                let number = Payload::Varint(reader.varint()?);
                items.push(self.value(element, field, &number, depth + 1)?);
            }
            return Ok(());
        }
        items.push(self.value(element, field, payload, depth + 1)?);
        Ok(())
    }

    /// An entry of a map; what it lacks is zero.
    fn entry(
        &self,
        element: usize,
        field: &Field,
        bytes: &[u8],
        depth: usize,
    ) -> Result<(String, Value), ProtobufError> {
        let mut key = String::new();
        let mut value = None;
        let mut reader = Reader::new(bytes, "");
        while let Some((number, payload)) = reader.next_field()? {
            match (number, payload) {
                (1, Payload::Bytes(text)) => key = lossy(text),
                (2, payload) => value = Some(self.value(element, field, &payload, depth + 1)?),
                _ => {}
            }
        }
        // Go makes an empty list or string here, where it is nil elsewhere.
        let absent = || match self.types.get(element).shape {
            Shape::Bytes => Value::String(String::new()),
            Shape::List(_) => Value::Array(Vec::new()),
            _ => self.types.zero(element),
        };
        Ok((key, value.unwrap_or_else(absent)))
    }

    fn value(
        &self,
        number: usize,
        field: &Field,
        payload: &Payload<'_>,
        depth: usize,
    ) -> Result<Value, ProtobufError> {
        if depth > MAX_DEPTH {
            return Err(ProtobufError::Depth);
        }
        let field_type = self.types.get(number);
        Ok(match (&field_type.shape, payload) {
            (Shape::Pointer(element), payload) => self.value(*element, field, payload, depth)?,
            (Shape::Bool, Payload::Varint(value)) => Value::Bool(*value != 0),
            (Shape::Integer { most, .. }, Payload::Varint(value)) => integer(*value, *most),
            (Shape::Float, Payload::Fixed64(bits)) => float(f64::from_bits(*bits)),
            (Shape::Text, Payload::Bytes(text)) => Value::String(lossy(text)),
            (Shape::Bytes, Payload::Bytes(bytes)) => Value::String(STANDARD.encode(bytes)),
            (Shape::Struct(_), Payload::Bytes(bytes)) => self.message(number, bytes, depth)?,
            (Shape::Own(own), Payload::Bytes(bytes)) => self.own(*own, field, bytes, depth)?,
            // Named lists such as Verbs are a message with one repeated field.
            (Shape::List(element), Payload::Bytes(bytes)) if field_type.message => {
                let mut items = Vec::new();
                let mut reader = Reader::new(bytes, field_type.short_name());
                while let Some((tag, payload)) = reader.next_field()? {
                    if tag == 1 {
                        items.push(self.value(*element, field, &payload, depth + 1)?);
                    }
                }
                Value::Array(items)
            }
            (_, payload) => return Err(wrong(field, payload)),
        })
    }

    fn own(
        &self,
        own: Own,
        field: &Field,
        bytes: &[u8],
        depth: usize,
    ) -> Result<Value, ProtobufError> {
        let parts = Parts::read(bytes)?;
        Ok(match own {
            Own::Quantity => match parts.text(1) {
                Some(text) => Value::String(
                    quantity::canonicalize(&text)
                        .map_err(|error| ProtobufError::Value(error.to_string()))?,
                ),
                None => own.zero(),
            },
            Own::Time | Own::MicroTime if bytes.is_empty() => Value::Null,
            Own::Time => instant(parts.number(1), 0, false),
            Own::MicroTime => instant(parts.number(1), parts.number(2), true),
            Own::IntOrString => match parts.number(1) {
                0 => integer(parts.varint(2), i64::from(i32::MAX)),
                1 => Value::String(parts.text(3).unwrap_or_default()),
                _ => return Err(ProtobufError::Value("impossible IntOrString.Type".to_owned())),
            },
            Own::Raw => self.raw(parts.bytes(1).unwrap_or_default(), depth)?,
            Own::SchemaOrBool => match parts.bytes(2) {
                Some(schema) => self.schema(schema, depth)?,
                None => Value::Bool(parts.varint(1) != 0),
            },
            Own::SchemaOrArray | Own::SchemaOrTexts => {
                let mut items = Vec::new();
                for item in parts.all(2) {
                    let item = item.bytes().ok_or_else(|| wrong(field, item))?;
                    items.push(if own == Own::SchemaOrTexts {
                        Value::String(lossy(item))
                    } else {
                        self.schema(item, depth)?
                    });
                }
                match (items.is_empty(), parts.bytes(1)) {
                    (false, _) => Value::Array(items),
                    (true, Some(schema)) => self.schema(schema, depth)?,
                    (true, None) => Value::Null,
                }
            }
        })
    }

    fn schema(&self, bytes: &[u8], depth: usize) -> Result<Value, ProtobufError> {
        self.message(self.types.schema_props(), bytes, depth + 1)
    }

    /// Bytes that hold JSON, or another envelope.
    fn raw(&self, bytes: &[u8], depth: usize) -> Result<Value, ProtobufError> {
        if bytes.is_empty() {
            return Ok(Value::Null);
        }
        if let Some(envelope) = bytes.strip_prefix(MAGIC) {
            return self.envelope(envelope, depth + 1);
        }
        Document::parse(bytes)
            .map(Document::into_value)
            .map_err(|error| ProtobufError::Value(error.to_string()))
    }
}

/// The fields of a small message.
struct Parts<'a>(Vec<(u32, Payload<'a>)>);

impl<'a> Parts<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, ProtobufError> {
        let mut reader = Reader::new(bytes, "");
        let mut parts = Vec::new();
        while let Some(part) = reader.next_field()? {
            parts.push(part);
        }
        Ok(Self(parts))
    }

    fn all(&self, number: u32) -> impl DoubleEndedIterator<Item = &Payload<'a>> {
        self.0.iter().filter(move |(known, _)| *known == number).map(|(_, payload)| payload)
    }

    fn bytes(&self, number: u32) -> Option<&'a [u8]> {
        self.all(number).rev().find_map(Payload::bytes)
    }

    fn text(&self, number: u32) -> Option<String> {
        self.bytes(number).map(lossy)
    }

    fn varint(&self, number: u32) -> u64 {
        let last = self.all(number).rev().find_map(|payload| match payload {
            Payload::Varint(value) => Some(*value),
            _ => None,
        });
        last.unwrap_or_default()
    }

    fn number(&self, number: u32) -> i64 {
        self.varint(number).cast_signed()
    }
}

/// A varint as the Go type keeps it: cut to its width.
fn integer(value: u64, most: i64) -> Value {
    let wide = value.cast_signed();
    if most == i64::MAX {
        Value::from(wide)
    } else {
        // Protobuf's int32 is the low half of the varint.
        let low = u32::try_from(value & u64::from(u32::MAX)).unwrap_or_default();
        Value::from(low.cast_signed())
    }
}

fn instant(seconds: i64, nanos: i64, micros: bool) -> Value {
    let nanos = i32::try_from(nanos / 1000 * 1000).unwrap_or_default();
    // A moment beyond the calendar has no text; Go would print a year of five digits.
    Timestamp::new(seconds, nanos).map_or(Value::Null, |moment| write_instant(moment, micros))
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

fn wrong(field: &Field, payload: &Payload<'_>) -> ProtobufError {
    ProtobufError::WireType { wire_type: payload.wire_type(), field: field.go_name() }
}

#[cfg(test)]
mod tests;
