//! Walks a document along a Go type, the way `sigs.k8s.io/json` decodes.
//!
//! Go's decoder has two kinds of failures. A value of the wrong kind is recorded and decoding continues; the first such
//! error is the result. A failing `UnmarshalJSON` of a type ends decoding at once and takes precedence. Unknown and
//! duplicate fields count only if neither happened.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::byte_text;
use super::document::Document;
use super::own::{Own, instant, quantity};
use super::table::{Shape, Type};
use super::{DecodeError, Decoded, Types};

/// Upstream keeps no more complaints about unknown fields than this.
const MAX_STRICT: usize = 100;

/// Decodes `document` into the type `root` and encodes it again.
pub(super) fn decode(
    types: &Types,
    root: usize,
    document: Document,
) -> Result<Decoded, DecodeError> {
    let mut decoder = Decoder::new(types, true);
    let value = decoder.run(root, document).map_err(|fault| DecodeError::Value(fault.message()))?;
    Ok(Decoded { value, strict: decoder.strict })
}

/// Decodes a value of a type with its own `UnmarshalJSON`, outside of any object.
pub(super) fn own_value(types: &Types, number: usize, source: Value) -> Result<Value, String> {
    Decoder::new(types, false).run(number, source.into()).map_err(|fault| fault.message())
}

/// A failure, with Go's struct and field filled in as it travels outwards.
#[derive(Debug)]
enum Fault {
    /// Go's `UnmarshalTypeError`.
    Type { found: String, owner: String, field: String, wanted: String },
    /// Any other error.
    Plain(String),
}

impl Fault {
    fn mismatch(found: impl Into<String>, wanted: &str) -> Self {
        Self::Type {
            found: found.into(),
            owner: String::new(),
            field: String::new(),
            wanted: wanted.to_owned(),
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Type { found, owner, field, wanted } if owner.is_empty() && field.is_empty() => {
                format!("json: cannot unmarshal {found} into Go value of type {wanted}")
            }
            Self::Type { found, owner, field, wanted } => format!(
                "json: cannot unmarshal {found} into Go struct field {owner}.{field} of type {wanted}"
            ),
            Self::Plain(message) => message.clone(),
        }
    }
}

struct Decoder<'t> {
    types: &'t Types,
    /// The struct of the field that is being decoded, and the path from the root.
    owner: &'t str,
    fields: Vec<&'t str>,
    /// The first value of a wrong kind.
    noted: Option<Fault>,
    strict: Vec<String>,
    /// The path for `strict`, with indices and map keys; lengths mark its steps.
    path: String,
    keeps_strict: bool,
}

impl<'t> Decoder<'t> {
    fn new(types: &'t Types, keeps_strict: bool) -> Self {
        Self {
            types,
            owner: "",
            fields: Vec::new(),
            noted: None,
            strict: Vec::new(),
            path: String::new(),
            keeps_strict,
        }
    }

    fn run(&mut self, root: usize, document: Document) -> Result<Value, Fault> {
        match self.value(root, document) {
            Err(fault) => Err(self.in_context(fault)),
            Ok(value) => self.noted.take().map_or(Ok(value), Err),
        }
    }

    fn in_context(&self, fault: Fault) -> Fault {
        match fault {
            Fault::Type { found, field, wanted, .. } if !self.fields.is_empty() => {
                let inner = (!field.is_empty()).then_some(field.as_str());
                let path: Vec<&str> = self.fields.iter().copied().chain(inner).collect();
                Fault::Type { found, owner: self.owner.to_owned(), field: path.join("."), wanted }
            }
            other => other,
        }
    }

    fn note(&mut self, fault: Fault) {
        if self.noted.is_none() {
            self.noted = Some(self.in_context(fault));
        }
    }

    /// Notes that `document` is of the wrong kind; the field keeps its zero value.
    fn mismatch(&mut self, number: usize, wanted: &Type, document: &Document) -> Value {
        self.note(Fault::mismatch(kind_of(document), &wanted.name));
        self.types.zero(number)
    }

    fn complain(&mut self, what: &str, key: &str) {
        if !self.keeps_strict || self.strict.len() >= MAX_STRICT {
            return;
        }
        let dot = if self.path.is_empty() { "" } else { "." };
        let path = format!("{}{dot}{key}", self.path);
        let complaint = format!("{what} {}", sluice_base::go::quote(&path));
        if !self.strict.contains(&complaint) {
            self.strict.push(complaint);
        }
    }

    fn value(&mut self, number: usize, document: Document) -> Result<Value, Fault> {
        let types = self.types;
        let wanted = types.get(number);
        // A null empties what can be nil and leaves everything else as it was.
        if document == Document::Null && !matches!(wanted.shape, Shape::Own(_)) {
            return Ok(types.zero(number));
        }
        Ok(match (&wanted.shape, document) {
            (Shape::Pointer(element), document) => return self.value(*element, document),
            (Shape::Own(own), document) => return self.own(*own, document),
            (Shape::Any, document) => document.into_value(),
            (Shape::Bool, Document::Bool(value)) => Value::Bool(value),
            (Shape::Text, Document::Text(text)) => Value::String(text),
            (Shape::Integer { least, most }, Document::Number(literal)) => {
                match literal.parse::<i64>() {
                    Ok(value) if (*least..=*most).contains(&value) => Value::from(value),
                    _ => {
                        self.note(Fault::mismatch(format!("number {literal}"), &wanted.name));
                        Value::from(0)
                    }
                }
            }
            (Shape::Float, Document::Number(literal)) => match literal.parse::<f64>() {
                Ok(value) if value.is_finite() => float(value),
                _ => {
                    self.note(Fault::mismatch(format!("number {literal}"), &wanted.name));
                    Value::from(0)
                }
            },
            (Shape::Bytes, Document::Text(text)) => match byte_text::read(&text) {
                Ok(bytes) => Value::String(STANDARD.encode(bytes)),
                Err(message) => {
                    self.note(Fault::Plain(message));
                    Value::Null
                }
            },
            (Shape::Bytes, Document::List(items)) => self.byte_list(items),
            (Shape::List(element), Document::List(items)) => self.list(*element, items)?,
            (Shape::Map(element), Document::Object(members)) => self.map(*element, members)?,
            (Shape::Struct(_), Document::Object(members)) => {
                self.structure(number, wanted, members)?
            }
            (_, document) => self.mismatch(number, wanted, &document),
        })
    }

    fn list(&mut self, element: usize, items: Vec<Document>) -> Result<Value, Fault> {
        let mut out = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let length = self.path.len();
            if self.keeps_strict {
                let _ = write!(self.path, "[{index}]");
            }
            out.push(self.value(element, item)?);
            self.path.truncate(length);
        }
        Ok(Value::Array(out))
    }

    /// Go reads a list of small numbers into bytes, too.
    fn byte_list(&mut self, items: Vec<Document>) -> Value {
        let mut bytes = Vec::with_capacity(items.len());
        for item in items {
            match &item {
                Document::Null => bytes.push(0),
                Document::Number(literal) => match literal.parse() {
                    Ok(byte) => bytes.push(byte),
                    Err(_) => self.note(Fault::mismatch(format!("number {literal}"), "uint8")),
                },
                other => self.note(Fault::mismatch(kind_of(other), "uint8")),
            }
        }
        Value::String(STANDARD.encode(bytes))
    }

    fn map(&mut self, element: usize, members: Vec<(String, Document)>) -> Result<Value, Fault> {
        let mut out = Map::new();
        for (key, member) in members {
            if out.contains_key(&key) {
                self.complain("duplicate field", &key);
            }
            let length = self.step_into(&key);
            let value = self.value(element, member)?;
            self.path.truncate(length);
            out.insert(key, value);
        }
        Ok(Value::Object(out))
    }

    fn structure(
        &mut self,
        number: usize,
        wanted: &'t Type,
        members: Vec<(String, Document)>,
    ) -> Result<Value, Fault> {
        let Shape::Struct(fields) = &wanted.shape else { return Ok(Value::Null) };
        let mut out = Map::new();
        let mut nulls: Vec<&str> = Vec::new();
        let outer = self.owner;
        let depth = self.fields.len();
        for (key, member) in members {
            let Some(field) = fields.named(&key) else {
                self.complain("unknown field", &key);
                continue;
            };
            let is_null = member == Document::Null;
            if out.contains_key(&key) {
                self.complain("duplicate field", &key);
                if is_null && !self.types.is_nilable(field.type_number) {
                    continue;
                }
            }
            self.owner = wanted.short_name();
            self.fields.extend(field.around.iter().map(String::as_str));
            self.fields.push(&field.json);
            let length = self.step_into(&key);
            let value = self.value(field.type_number, member)?;
            self.path.truncate(length);
            self.fields.truncate(depth);
            self.owner = outer;
            if is_null {
                nulls.push(&field.json);
            }
            out.insert(key, value);
        }
        let mut kept = self.types.pointers_to_null(number, &out);
        kept.retain(|name| !nulls.contains(name));
        let mut object = Value::Object(out);
        self.types.fill_zeros(number, &mut object);
        for name in kept {
            object[name] = Value::Null;
        }
        Ok(object)
    }

    fn step_into(&mut self, key: &str) -> usize {
        let length = self.path.len();
        if self.keeps_strict {
            if length > 0 {
                self.path.push('.');
            }
            self.path.push_str(key);
        }
        length
    }

    fn own(&mut self, own: Own, document: Document) -> Result<Value, Fault> {
        Ok(match (own, document) {
            (Own::SchemaOrBool, Document::Null) => {
                return Err(Fault::Plain("boolean or JSON schema expected".to_owned()));
            }
            (own, Document::Null) => own.zero(),
            (Own::Raw, document) => document.into_value(),
            (Own::Quantity, document) => {
                let text = match document {
                    Document::Text(text) | Document::Number(text) => text,
                    other => sluice_base::gojson::to_string(&other.into_value()),
                };
                quantity(&text).map_err(Fault::Plain)?
            }
            (Own::Time, Document::Text(text)) => instant(&text, false).map_err(Fault::Plain)?,
            (Own::MicroTime, Document::Text(text)) => instant(&text, true).map_err(Fault::Plain)?,
            (Own::Time | Own::MicroTime, other) => {
                return Err(Fault::mismatch(kind_of(&other), "string"));
            }
            (Own::IntOrString, Document::Text(text)) => Value::String(text),
            (Own::IntOrString, Document::Number(literal)) => match literal.parse::<i32>() {
                Ok(value) => Value::from(value),
                Err(_) => return Err(Fault::mismatch(format!("number {literal}"), "int32")),
            },
            (Own::IntOrString, other) => return Err(Fault::mismatch(kind_of(&other), "int32")),
            (Own::SchemaOrBool, Document::Bool(value)) => Value::Bool(value),
            (
                Own::SchemaOrArray | Own::SchemaOrBool | Own::SchemaOrTexts,
                document @ Document::Object(_),
            ) => self.apart("v1.JSONSchemaProps", document)?,
            (Own::SchemaOrArray, document @ Document::List(_)) => {
                nil_if_empty(self.apart("[]v1.JSONSchemaProps", document)?)
            }
            (Own::SchemaOrTexts, document @ Document::List(_)) => {
                nil_if_empty(self.apart("[]string", document)?)
            }
            (Own::SchemaOrBool, _) => {
                return Err(Fault::Plain("boolean or JSON schema expected".to_owned()));
            }
            (Own::SchemaOrArray | Own::SchemaOrTexts, _) => Value::Null,
        })
    }

    /// Decodes with a decoder of its own, as `UnmarshalJSON` of the schema types does: unknown
    /// fields inside are not noticed.
    fn apart(&mut self, type_name: &str, document: Document) -> Result<Value, Fault> {
        let number = self.types.table.iter().position(|known| known.name == type_name);
        let number = number.expect("because the recorded table has the types of CRD schemas");
        Decoder::new(self.types, false).run(number, document)
    }
}

/// An empty list of alternatives counts as none.
fn nil_if_empty(value: Value) -> Value {
    if value.as_array().is_some_and(Vec::is_empty) { Value::Null } else { value }
}

/// The name of a JSON type in Go's decoder.
fn kind_of(document: &Document) -> &'static str {
    match document {
        Document::Null => "null",
        Document::Bool(_) => "bool",
        Document::Number(_) => "number",
        Document::Text(_) => "string",
        Document::List(_) => "array",
        Document::Object(_) => "object",
    }
}

/// A float as Go writes it: whole numbers without decimals.
pub(crate) fn float(value: f64) -> Value {
    whole(value).map_or_else(|| Value::from(value), Value::from)
}

/// The integer that a float is, if it is one.
pub(super) fn whole(value: f64) -> Option<i64> {
    if value.fract() == 0.0 { format!("{value:.0}").parse().ok() } else { None }
}
