//! The Go types of the built-in kinds: decoding into them and encoding again.
//!
//! A Kubernetes API server decodes every request into a Go struct and encodes the struct again. That
//! drops unknown fields, fills in zero values, canonicalises quantities and times, and rejects values of
//! the wrong type with well-known messages. The table of types was recorded by reflection
//! (`xtask record types`); this module walks it.

mod byte_text;
mod decode;
mod document;
mod own;
mod restore;
mod table;

use std::sync::OnceLock;

use serde_json::Value;

pub(crate) use decode::float;
pub use document::{Document, SyntaxError};
pub(crate) use own::{Own, write_instant};
pub(crate) use table::{Field, Shape, Type};

use crate::recorded::Members;

/// The table of all Go types.
pub struct Types {
    kinds: std::collections::BTreeMap<String, usize>,
    table: Vec<Type>,
    schema_props: usize,
}

/// An object that went through its Go type.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// The object as Go writes it.
    pub value: Value,
    /// `unknown field "spec.foo"` and `duplicate field "spec.bar"`, in the order of the text. Under
    /// strict field validation they refuse the request, else they are warnings or nothing.
    pub strict: Vec<String>,
}

/// Why an object does not fit its Go type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The table has no such kind.
    #[error("no kind {kind:?} is registered for version {api_version:?}")]
    UnknownKind {
        /// `apps/v1`.
        api_version: String,
        /// `Deployment`.
        kind: String,
    },
    /// A value has the wrong type or form; with the message of Go's decoder.
    #[error("{0}")]
    Value(String),
}

impl Types {
    /// The types of the recorded Kubernetes.
    pub fn recorded() -> &'static Self {
        static TYPES: OnceLock<Types> = OnceLock::new();
        TYPES.get_or_init(|| {
            let members =
                Members::unpack(include_bytes!("../data/kubernetes-1.35.4.gotypes.json.gz"));
            table::read(&members)
        })
    }

    /// Whether there is a Go type for the kind.
    pub fn knows(&self, api_version: &str, kind: &str) -> bool {
        self.type_of(api_version, kind).is_some()
    }

    /// Decodes an object into its Go type and encodes it again.
    pub fn decode(
        &self,
        api_version: &str,
        kind: &str,
        document: Document,
    ) -> Result<Decoded, DecodeError> {
        decode::decode(self, self.known(api_version, kind)?, document)
    }

    fn known(&self, api_version: &str, kind: &str) -> Result<usize, DecodeError> {
        self.type_of(api_version, kind).ok_or_else(|| DecodeError::UnknownKind {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        })
    }

    /// Converts an untyped object into its Go type and encodes it again, as the API server does after
    /// a strategic merge. The outcome is that of [`Types::decode`]; what differs is the words of
    /// errors, and that unknown fields come sorted.
    pub fn restore(
        &self,
        api_version: &str,
        kind: &str,
        object: Value,
    ) -> Result<Decoded, DecodeError> {
        restore::restore(self, self.known(api_version, kind)?, object)
    }

    /// Brings an object that hooks have changed into the form in which Go writes it. An object that
    /// does not fit its type is left as it is.
    pub fn normalize(
        &self,
        api_version: &str,
        kind: &str,
        object: &mut Value,
    ) -> Result<(), DecodeError> {
        let document = Document::from(object.clone());
        *object = self.decode(api_version, kind, document)?.value;
        Ok(())
    }

    /// Takes away what does not survive being stored as protobuf, which is what upstream's storage
    /// holds and answers with, dry runs included: empty lists and maps come back as nil. (Only custom
    /// resources and CustomResourceDefinitions are stored as JSON.)
    pub fn as_stored(&self, api_version: &str, kind: &str, object: &mut Value) {
        if let Some(number) = self.type_of(api_version, kind) {
            self.forget_empties(number, object);
        }
    }

    fn forget_empties(&self, number: usize, value: &mut Value) {
        match (&self.get(number).shape, value) {
            (Shape::Pointer(element), value) => self.forget_empties(*element, value),
            (Shape::Struct(fields), Value::Object(members)) => {
                for field in &fields.flat {
                    let Some(member) = members.get_mut(&field.json) else { continue };
                    self.forget_empties(field.type_number, member);
                    let shape = &self.get(field.type_number).shape;
                    if matches!(shape, Shape::List(_) | Shape::Map(_)) && shape.is_empty(member) {
                        *member = Value::Null;
                    }
                }
            }
            (Shape::List(element), Value::Array(items)) => {
                for item in items {
                    self.forget_empties(*element, item);
                }
            }
            (Shape::Map(element), Value::Object(members)) => {
                for member in members.values_mut() {
                    self.forget_empties(*element, member);
                    // In a map it is the other way round: nil comes back as empty.
                    match self.get(*element).shape {
                        Shape::Bytes if member.is_null() => *member = Value::from(""),
                        Shape::List(_) if member.is_null() => *member = Value::Array(Vec::new()),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    /// The number of the kind's type.
    pub(crate) fn type_of(&self, api_version: &str, kind: &str) -> Option<usize> {
        self.kinds.get(&format!("{api_version} {kind}")).copied()
    }

    /// The type of that number.
    pub(crate) fn get(&self, number: usize) -> &Type {
        &self.table[number]
    }

    /// The type of schemas in CustomResourceDefinitions, which contains itself.
    pub(crate) fn schema_props(&self) -> usize {
        self.schema_props
    }

    /// The fields that hold a pointer to something that is written as null. A pointer to a zero time
    /// is no nil pointer, so `omitempty` keeps it.
    pub(crate) fn pointers_to_null(
        &self,
        number: usize,
        members: &serde_json::Map<String, Value>,
    ) -> Vec<&str> {
        let Shape::Struct(fields) = &self.get(number).shape else { return Vec::new() };
        let is_pointer = |number: usize| matches!(self.get(number).shape, Shape::Pointer(_));
        fields
            .flat
            .iter()
            .filter(|field| is_pointer(field.type_number))
            .map(|field| field.json.as_str())
            .filter(|name| members.get(*name).is_some_and(Value::is_null))
            .collect()
    }

    /// Whether a null changes what is there already.
    fn is_nilable(&self, number: usize) -> bool {
        !matches!(
            self.get(number).shape,
            Shape::Bool | Shape::Integer { .. } | Shape::Float | Shape::Text | Shape::Struct(_)
        )
    }

    /// The value of an unset field, as Go writes it.
    pub(crate) fn zero(&self, number: usize) -> Value {
        match &self.get(number).shape {
            Shape::Bool => Value::Bool(false),
            Shape::Integer { .. } | Shape::Float => Value::from(0),
            Shape::Text => Value::String(String::new()),
            Shape::Bytes | Shape::List(_) | Shape::Map(_) | Shape::Pointer(_) | Shape::Any => {
                Value::Null
            }
            Shape::Own(own) => own.zero(),
            Shape::Struct(_) => {
                let mut object = Value::Object(serde_json::Map::new());
                self.fill_zeros(number, &mut object);
                object
            }
        }
    }

    /// Writes the zero values of the fields that `object` lacks, and drops what `omitempty` drops.
    pub(crate) fn fill_zeros(&self, number: usize, object: &mut Value) {
        let (Shape::Struct(fields), Value::Object(members)) = (&self.get(number).shape, object)
        else {
            return;
        };
        for field in &fields.flat {
            let shape = &self.get(field.type_number).shape;
            let omitted = |value: &Value| {
                (field.omit_empty && shape.is_empty(value)) || (field.omit_zero && value.is_null())
            };
            match members.get(&field.json) {
                Some(value) if omitted(value) => {
                    members.remove(&field.json);
                }
                Some(_) => {}
                None => {
                    let zero = self.zero(field.type_number);
                    if !omitted(&zero) {
                        members.insert(field.json.clone(), zero);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
