//! Reading a value into the shape of a Go type and writing it again: unknown fields are dropped, what is
//! empty is left out, and a number or truth is taken as text where a text is wanted.

use serde_json::{Map, Value, json};
use sluice_base::{go, gojson};

use crate::decode;

/// A Go type, as far as JSON shows it.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    Text,
    /// A text whose Go type has a name.
    NamedText(&'static str),
    /// A text that may be absent, other than empty.
    OptionalText,
    Flag,
    /// An integer, with its Go type.
    Integer(&'static str),
    /// `map[string]string`.
    TextMap,
    /// `map[string]interface{}`.
    AnyMap,
    List(&'static Shape),
    /// A struct, there even when it is empty.
    Struct(&'static Struct),
    /// A struct that may be absent.
    Pointer(&'static Struct),
}

/// A Go struct with its name and the fields of all that is embedded in it.
pub(super) struct Struct {
    pub(super) name: &'static str,
    pub(super) fields: &'static [Field],
}

/// A field of a struct.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    /// The embedded structs it comes through, each with a dot behind it.
    pub(super) embedded: &'static str,
    /// Whether it is written even when it is empty.
    pub(super) always: bool,
}

impl Field {
    pub(super) const fn new(name: &'static str, shape: Shape) -> Self {
        Self { name, shape, embedded: "", always: false }
    }

    pub(super) const fn through(self, embedded: &'static str) -> Self {
        Self { embedded, ..self }
    }

    pub(super) const fn always(self) -> Self {
        Self { always: true, ..self }
    }
}

impl Shape {
    fn go_type(&self) -> String {
        match self {
            Self::Text | Self::OptionalText => "string".to_owned(),
            Self::Flag => "bool".to_owned(),
            Self::Integer(name) | Self::NamedText(name) => (*name).to_owned(),
            Self::TextMap => "map[string]string".to_owned(),
            Self::AnyMap => "map[string]interface {}".to_owned(),
            Self::List(Self::Pointer(item)) => format!("[]*types.{}", item.name),
            Self::List(item) => format!("[]{}", item.go_type()),
            Self::Struct(object) | Self::Pointer(object) => format!("types.{}", object.name),
        }
    }

    /// What a field that was never set is written as.
    fn zero(&self) -> Value {
        match self {
            Self::Text | Self::NamedText(_) => json!(""),
            Self::Flag => json!(false),
            Self::Integer(_) => json!(0),
            Self::Struct(object) => Value::Object(object.zero()),
            _ => Value::Null,
        }
    }

    /// Whether Go leaves a value out that may be left out.
    fn is_empty(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Struct(_) | Self::Pointer(_), Value::Object(_))
            | (Self::OptionalText, Value::String(_))
            | (_, Value::Bool(true)) => false,
            (_, Value::Null | Value::Bool(false)) => true,
            (_, Value::String(text)) => text.is_empty(),
            (_, Value::Number(number)) => number.as_i64() == Some(0),
            (_, Value::Array(items)) => items.is_empty(),
            (_, Value::Object(fields)) => fields.is_empty(),
        }
    }
}

impl Struct {
    fn zero(&self) -> Map<String, Value> {
        let always = self.fields.iter().filter(|field| field.always);
        always.map(|field| (field.name.to_owned(), field.shape.zero())).collect()
    }

    /// The field a name means: the one spelt so, or else one spelt so in other cases.
    fn field(&self, name: &str) -> Option<&'static Field> {
        let exact = self.fields.iter().find(|field| field.name == name);
        exact.or_else(|| self.fields.iter().find(|field| field.name.eq_ignore_ascii_case(name)))
    }
}

/// One reading; the first thing that does not fit is kept, in Go's words.
#[derive(Default)]
pub(super) struct Reading {
    pub(super) problem: Option<String>,
    path: Vec<String>,
    /// The struct whose field is read.
    owner: &'static str,
    /// Whether a text is wanted by a type that is not reached through an embedded one.
    is_hidden: bool,
}

impl Reading {
    /// The fields of an object, on top of those it has.
    pub(super) fn object(
        &mut self,
        shape: &'static Struct,
        mut fields: Map<String, Value>,
        value: Option<&Value>,
    ) -> Map<String, Value> {
        let entries = match value {
            Some(Value::Object(entries)) => entries,
            None | Some(Value::Null) => return fields,
            Some(other) => {
                self.wrong(other, &format!("types.{}", shape.name));
                return fields;
            }
        };
        for (name, value) in entries {
            let Some(field) = shape.field(name) else { continue };
            // A null leaves texts, flags and numbers as they are.
            let is_kept = matches!(
                field.shape,
                Shape::Text
                    | Shape::NamedText(_)
                    | Shape::Flag
                    | Shape::Integer(_)
                    | Shape::Struct(_)
            );
            if value.is_null() && is_kept {
                continue;
            }
            self.path.push(format!("{}{}", field.embedded, field.name));
            let (was_hidden, above) = (self.is_hidden, self.owner);
            self.owner = shape.name;
            self.is_hidden |= !field.embedded.is_empty();
            let before = fields.remove(field.name);
            let read = self.value(&field.shape, before, value);
            (self.is_hidden, self.owner) = (was_hidden, above);
            self.path.pop();
            if field.always || !field.shape.is_empty(&read) {
                fields.insert(field.name.to_owned(), read);
            }
        }
        fields
    }

    fn value(&mut self, shape: &'static Shape, before: Option<Value>, value: &Value) -> Value {
        match (shape, value) {
            (_, Value::Null) => shape.zero(),
            (Shape::Text | Shape::NamedText(_) | Shape::OptionalText, _) => {
                self.text(value, &shape.go_type())
            }
            (Shape::Flag, Value::Bool(_)) => value.clone(),
            (Shape::Integer(name), Value::Number(number)) => {
                if !number.is_i64() {
                    self.wrong_as(&format!("number {}", gojson::to_string(value)), name);
                }
                value.clone()
            }
            (Shape::TextMap, Value::Object(entries)) => {
                let mut out = match before {
                    Some(Value::Object(before)) => before,
                    _ => Map::new(),
                };
                for (name, value) in entries {
                    let text = if value.is_null() { json!("") } else { self.text(value, "string") };
                    out.insert(name.clone(), text);
                }
                Value::Object(out)
            }
            (Shape::AnyMap, Value::Object(_)) => {
                crate::flux::substitute::through_float(value.clone())
            }
            (Shape::List(item), Value::Array(items)) => {
                items.iter().map(|value| self.value(item, None, value)).collect()
            }
            (Shape::Struct(object) | Shape::Pointer(object), _) => {
                let before = match before {
                    Some(Value::Object(before)) => before,
                    _ => object.zero(),
                };
                Value::Object(self.object(object, before, Some(value)))
            }
            _ => {
                self.wrong(value, &shape.go_type());
                shape.zero()
            }
        }
    }

    fn text(&mut self, value: &Value, wanted: &str) -> Value {
        match value {
            Value::Number(number) if !self.is_hidden => Value::String(go::value::number(number)),
            Value::Bool(truth) if !self.is_hidden => Value::String(truth.to_string()),
            Value::String(_) => value.clone(),
            other => {
                self.wrong(other, wanted);
                json!("")
            }
        }
    }

    fn wrong(&mut self, value: &Value, wanted: &str) {
        self.wrong_as(decode::kind(value), wanted);
    }

    fn wrong_as(&mut self, kind: &str, wanted: &str) {
        let (owner, path) = (self.owner, self.path.join("."));
        let place = if path.is_empty() {
            format!("value of type {wanted}")
        } else {
            format!("struct field {owner}.{path} of type {wanted}")
        };
        self.problem.get_or_insert_with(|| format!("{kind} into Go {place}"));
    }
}
