//! The Go types of the built-in kinds, and what decoding into them and encoding again does.
//!
//! A Kubernetes API server reads every request into a Go struct and writes the struct out again.
//! That drops unknown fields, fills in zero values, canonicalises quantities and times, and refuses
//! values of the wrong type in words that users know. The table of types was recorded by reflection
//! (`xtask record types`); this module walks it.

mod byte_text;
mod decode;
mod document;
mod own;
mod table;

use std::sync::OnceLock;

use serde_json::Value;

pub use document::{Document, SyntaxError};
pub(crate) use own::Own;
pub(crate) use table::{Shape, Type};

use crate::recorded::Members;

/// The table of all Go types.
pub struct Types {
    kinds: std::collections::BTreeMap<String, usize>,
    types: Vec<Type>,
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
    /// A value has the wrong type or form; in the words of Go's decoder.
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
        let root = self.type_of(api_version, kind).ok_or_else(|| DecodeError::UnknownKind {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        })?;
        decode::decode(self, root, document)
    }

    /// Brings an object that hooks have changed into the form in which Go writes it.
    pub fn normalize(
        &self,
        api_version: &str,
        kind: &str,
        object: &mut Value,
    ) -> Result<(), DecodeError> {
        let document = Document::from(object.take());
        *object = self.decode(api_version, kind, document)?.value;
        Ok(())
    }

    /// The number of the kind's type.
    pub(crate) fn type_of(&self, api_version: &str, kind: &str) -> Option<usize> {
        self.kinds.get(&format!("{api_version} {kind}")).copied()
    }

    /// The type of that number.
    pub(crate) fn get(&self, number: usize) -> &Type {
        &self.types[number]
    }

    /// Whether a nil pointer is possible there.
    fn is_pointer(&self, number: usize) -> bool {
        matches!(self.get(number).shape, Shape::Pointer(_))
    }

    /// Whether a null changes what is there already.
    fn is_nilable(&self, number: usize) -> bool {
        !matches!(
            self.get(number).shape,
            Shape::Bool | Shape::Integer { .. } | Shape::Float | Shape::Text | Shape::Struct(_)
        )
    }

    /// What a field holds that nobody set, as Go writes it.
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
