//! The recorded table of types.

use serde::Deserialize;
use serde_json::Value;

use super::{Own, Types};
use crate::recorded::Members;

/// One Go type.
#[derive(Debug)]
pub(crate) struct Type {
    /// As Go's reflection prints it: `v1.PodSpec`, `[]v1.Container`.
    pub(crate) name: String,
    /// What it is made of.
    pub(crate) shape: Shape,
    /// A named list that is a message of its own in protobuf.
    pub(crate) message: bool,
}

/// What a type is made of; numbers are types in the table.
#[derive(Debug)]
pub(crate) enum Shape {
    Bool,
    Integer {
        least: i64,
        most: i64,
    },
    Float,
    Text,
    Bytes,
    List(usize),
    Map(usize),
    Pointer(usize),
    Struct(Fields),
    /// A type with its own JSON form.
    Own(Own),
    /// Anything goes.
    Any,
}

/// The fields of a struct, twice: as JSON sees them and as protobuf sees them.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    /// The fields of inlined structs are among them.
    pub(crate) flat: Vec<Field>,
    /// Inlined structs are one field.
    pub(crate) own: Vec<Field>,
}

/// A field of a struct.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    /// Empty for an inlined struct.
    pub(crate) json: String,
    /// The Go name, unless it is the JSON name with a capital.
    go: String,
    /// The Go names of the inlined structs around it.
    pub(crate) around: Vec<String>,
    pub(crate) type_number: usize,
    pub(crate) omit_empty: bool,
    pub(crate) omit_zero: bool,
    /// The protobuf field number; 0 for none.
    pub(crate) number: u32,
    /// The `patchStrategy` tag.
    pub(crate) strategy: String,
    /// The `patchMergeKey` tag.
    pub(crate) merge_key: String,
}

impl Type {
    /// The name without its package, as error messages have it.
    pub(crate) fn short_name(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or_default()
    }
}

impl Field {
    /// The name of the field in Go.
    pub(crate) fn go_name(&self) -> String {
        if !self.go.is_empty() {
            return self.go.clone();
        }
        let mut letters = self.json.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
    }
}

impl Fields {
    /// The field that a JSON key means; Kubernetes takes no other case.
    pub(crate) fn named(&self, key: &str) -> Option<&Field> {
        self.flat.iter().find(|field| field.json == key)
    }
}

impl Shape {
    /// Its name in Go's reflection.
    pub(crate) fn go_kind(&self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Integer { most: i64::MAX, .. } => "int64",
            Self::Integer { most: 255, .. } => "uint8",
            Self::Integer { .. } => "int32",
            Self::Float => "float64",
            Self::Text => "string",
            Self::Bytes | Self::List(_) => "slice",
            Self::Map(_) => "map",
            Self::Pointer(_) => "ptr",
            Self::Struct(_) | Self::Own(_) => "struct",
            Self::Any => "interface",
        }
    }

    /// Whether `omitempty` drops the value.
    pub(crate) fn is_empty(&self, value: &Value) -> bool {
        match self {
            Self::Bool => *value == Value::Bool(false),
            Self::Integer { .. } | Self::Float => value.as_f64() == Some(0.0),
            Self::Text => value.as_str().is_some_and(str::is_empty),
            Self::Bytes => value.is_null() || value.as_str().is_some_and(str::is_empty),
            Self::List(_) => value.is_null() || value.as_array().is_some_and(Vec::is_empty),
            Self::Map(_) => {
                value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty)
            }
            Self::Pointer(_) | Self::Any => value.is_null(),
            Self::Struct(_) | Self::Own(_) => false,
        }
    }
}

#[derive(Deserialize)]
struct WireType {
    #[serde(rename = "n")]
    name: String,
    #[serde(rename = "k")]
    kind: String,
    #[serde(rename = "e", default)]
    element: usize,
    #[serde(rename = "f", default)]
    fields: Vec<WireField>,
    #[serde(rename = "j", default)]
    own: bool,
    #[serde(rename = "g", default)]
    message: bool,
}

#[derive(Deserialize)]
struct WireField {
    #[serde(rename = "n")]
    json: String,
    #[serde(rename = "g", default)]
    go: String,
    #[serde(rename = "t")]
    type_number: usize,
    #[serde(rename = "o", default)]
    omit_empty: bool,
    #[serde(rename = "z", default)]
    omit_zero: bool,
    #[serde(rename = "p", default)]
    number: u32,
    #[serde(rename = "s", default)]
    strategy: String,
    #[serde(rename = "k", default)]
    merge_key: String,
}

impl WireField {
    fn read(&self) -> Field {
        Field {
            json: self.json.clone(),
            go: self.go.clone(),
            around: Vec::new(),
            type_number: self.type_number,
            omit_empty: self.omit_empty,
            omit_zero: self.omit_zero,
            number: self.number,
            strategy: self.strategy.clone(),
            merge_key: self.merge_key.clone(),
        }
    }
}

/// Reads the recorded table.
pub(super) fn read(members: &Members) -> Types {
    let because = "because the recorded table is compiled in and a test reads it";
    let kinds = serde_json::from_str(members.text("kinds").expect(because)).expect(because);
    let wire: Vec<WireType> =
        serde_json::from_str(members.text("types").expect(because)).expect(because);
    let types = wire.iter().map(|entry| Type {
        name: entry.name.clone(),
        shape: shape(entry, &wire),
        message: entry.message,
    });
    let schema_props = wire.iter().position(|entry| entry.name == "v1.JSONSchemaProps");
    Types { kinds, table: types.collect(), schema_props: schema_props.expect(because) }
}

fn shape(entry: &WireType, all: &[WireType]) -> Shape {
    if let Some(own) = Own::named(&entry.name).filter(|_| entry.own) {
        return Shape::Own(own);
    }
    match entry.kind.as_str() {
        "bool" => Shape::Bool,
        "uint8" => Shape::Integer { least: 0, most: i64::from(u8::MAX) },
        "int32" => Shape::Integer { least: i64::from(i32::MIN), most: i64::from(i32::MAX) },
        "int" | "int64" => Shape::Integer { least: i64::MIN, most: i64::MAX },
        "float64" => Shape::Float,
        "string" => Shape::Text,
        "slice" if all[entry.element].kind == "uint8" => Shape::Bytes,
        "slice" => Shape::List(entry.element),
        "map" => Shape::Map(entry.element),
        "ptr" => Shape::Pointer(entry.element),
        "struct" => {
            let mut fields = Fields::default();
            flatten(entry, all, &mut Vec::new(), &mut fields.flat);
            fields.own = entry.fields.iter().map(WireField::read).collect();
            Shape::Struct(fields)
        }
        _ => Shape::Any,
    }
}

fn flatten(entry: &WireType, all: &[WireType], around: &mut Vec<String>, flat: &mut Vec<Field>) {
    for field in &entry.fields {
        if field.json.is_empty() {
            around.push(field.go.clone());
            flatten(&all[field.type_number], all, around, flat);
            around.pop();
        } else {
            flat.push(Field { around: around.clone(), ..field.read() });
        }
    }
}
