//! Decodes and encodes `metadata` as Go's `metav1.ObjectMeta`.
//!
//! Custom objects are plain JSON, but their metadata (and that of embedded objects) goes through the Go type: unknown
//! fields are dropped and reported, times are normalised, empty fields are omitted, and a wrong type is an error of
//! `encoding/json`.

use serde_json::{Map, Value};
use sluice_base::time;

/// The Go type of a field.
enum Type {
    /// A string type with its Go name.
    Text(&'static str),
    Int64,
    Bool,
    Time,
    Texts,
    TextMap,
    /// A list of structs: Go's name of the struct and its fields.
    Structs(&'static str, &'static [Field]),
    Raw,
}

struct Field {
    name: &'static str,
    kind: Type,
    presence: Presence,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    /// Written even when empty.
    Always,
    /// Left out when empty.
    OmitEmpty,
    /// A pointer: left out when missing, written when empty.
    Pointer,
}

const fn field(name: &'static str, kind: Type, presence: Presence) -> Field {
    Field { name, kind, presence }
}

use Presence::{Always, OmitEmpty, Pointer};

const OBJECT_META: &[Field] = &[
    field("annotations", Type::TextMap, OmitEmpty),
    field("creationTimestamp", Type::Time, OmitEmpty),
    field("deletionGracePeriodSeconds", Type::Int64, Pointer),
    field("deletionTimestamp", Type::Time, Pointer),
    field("finalizers", Type::Texts, OmitEmpty),
    field("generateName", Type::Text("string"), OmitEmpty),
    field("generation", Type::Int64, OmitEmpty),
    field("labels", Type::TextMap, OmitEmpty),
    field("managedFields", Type::Structs("ManagedFieldsEntry", MANAGED_FIELDS), OmitEmpty),
    field("name", Type::Text("string"), OmitEmpty),
    field("namespace", Type::Text("string"), OmitEmpty),
    field("ownerReferences", Type::Structs("OwnerReference", OWNER_REFERENCE), OmitEmpty),
    field("resourceVersion", Type::Text("string"), OmitEmpty),
    field("selfLink", Type::Text("string"), OmitEmpty),
    field("uid", Type::Text("types.UID"), OmitEmpty),
];

const OWNER_REFERENCE: &[Field] = &[
    field("apiVersion", Type::Text("string"), Always),
    field("blockOwnerDeletion", Type::Bool, Pointer),
    field("controller", Type::Bool, Pointer),
    field("kind", Type::Text("string"), Always),
    field("name", Type::Text("string"), Always),
    field("uid", Type::Text("types.UID"), Always),
];

const MANAGED_FIELDS: &[Field] = &[
    field("apiVersion", Type::Text("string"), OmitEmpty),
    field("fieldsType", Type::Text("string"), OmitEmpty),
    field("fieldsV1", Type::Raw, Pointer),
    field("manager", Type::Text("string"), OmitEmpty),
    field("operation", Type::Text("v1.ManagedFieldsOperationType"), OmitEmpty),
    field("subresource", Type::Text("string"), OmitEmpty),
    field("time", Type::Time, Pointer),
];

/// Metadata that went through the Go type.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ObjectMeta {
    /// The metadata as it is written back.
    pub value: Map<String, Value>,
    /// The fields that were dropped, relative to `metadata`.
    pub unknown: Vec<String>,
}

/// What to do with a field of the wrong type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// Fail: for requests.
    Refuse,
    /// Leave it out: for what is already stored.
    Drop,
}

/// Decodes `metadata`. The error is the one `encoding/json` gives.
pub fn decode(metadata: &Value, malformed: Malformed) -> Result<ObjectMeta, String> {
    let mut decoder = Decoder::default();
    let value = match metadata {
        Value::Null => Map::new(),
        Value::Object(fields) => decoder.fields(fields, "ObjectMeta", OBJECT_META, malformed),
        other => {
            return Err(match malformed {
                Malformed::Refuse => format!(
                    "json: cannot unmarshal {} into Go value of type v1.ObjectMeta",
                    json_type(other)
                ),
                Malformed::Drop => {
                    format!("invalid metadata: expected object, got {}", go_type(other))
                }
            });
        }
    };
    match decoder.error {
        Some(error) if malformed == Malformed::Refuse => Err(error),
        _ => Ok(ObjectMeta { value, unknown: decoder.unknown }),
    }
}

fn json_type(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "string".to_owned(),
        Value::Array(_) => "array".to_owned(),
        Value::Object(_) => "object".to_owned(),
    }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

#[derive(Default)]
struct Decoder {
    path: Vec<String>,
    names: Vec<&'static str>,
    unknown: Vec<String>,
    /// The first error; decoding goes on after it.
    error: Option<String>,
}

impl Decoder {
    fn fields(
        &mut self,
        fields: &Map<String, Value>,
        owner: &'static str,
        known: &'static [Field],
        malformed: Malformed,
    ) -> Map<String, Value> {
        let mut out = Map::new();
        for entry in known.iter().filter(|entry| entry.presence == Always) {
            out.insert(entry.name.to_owned(), Value::String(String::new()));
        }
        for (name, value) in fields {
            let Some(entry) = known.iter().find(|entry| entry.name == name) else {
                self.path.push(name.clone());
                self.unknown.push(self.path.join("."));
                self.path.pop();
                continue;
            };
            if value.is_null() {
                continue;
            }
            self.path.push(name.clone());
            self.names.push(entry.name);
            let earlier = self.error.take();
            let decoded = self.value(value, owner, &entry.kind);
            let failed = self.error.is_some();
            self.error = earlier.or_else(|| self.error.take());
            self.path.pop();
            self.names.pop();
            let dropped = failed && malformed == Malformed::Drop && self.path.is_empty();
            if let Some(decoded) = decoded
                .filter(|decoded| !dropped && (entry.presence != OmitEmpty || !is_empty(decoded)))
            {
                out.insert(name.clone(), decoded);
            }
        }
        out
    }

    fn value(&mut self, value: &Value, owner: &'static str, kind: &Type) -> Option<Value> {
        match (kind, value) {
            (Type::Text(_), Value::String(_)) | (Type::Bool, Value::Bool(_)) | (Type::Raw, _) => {
                Some(value.clone())
            }
            (Type::Int64, Value::Number(number)) if number.is_i64() => Some(value.clone()),
            (Type::Int64, Value::Number(number)) => {
                let mut shown = String::new();
                sluice_base::gojson::write_number(&mut shown, number);
                self.mismatch(&format!("number {shown}"), owner, "int64")
            }
            (Type::Time, Value::String(text)) => match time::parse(text) {
                Ok(moment) => Some(Value::String(time::format_seconds(moment))),
                Err(why) => {
                    self.error.get_or_insert(why.to_string());
                    None
                }
            },
            (Type::Texts, Value::Array(items)) => {
                let texts: Vec<Value> = items.iter().map(|item| self.text(item, owner)).collect();
                Some(Value::Array(texts))
            }
            (Type::TextMap, Value::Object(fields)) => {
                let texts = fields.iter().map(|(key, item)| (key.clone(), self.text(item, owner)));
                Some(Value::Object(texts.collect()))
            }
            (Type::Structs(name, known), Value::Array(items)) => {
                let place = self.path.pop().unwrap_or_default();
                let mut out = Vec::new();
                for (index, item) in items.iter().enumerate() {
                    self.path.push(format!("{place}[{index}]"));
                    let fields = item.as_object().cloned().unwrap_or_default();
                    if !item.is_object() && !item.is_null() {
                        self.mismatch(&json_type(item), owner, &format!("v1.{name}"));
                    }
                    out.push(Value::Object(self.fields(&fields, name, known, Malformed::Refuse)));
                    self.path.pop();
                }
                self.path.push(place);
                Some(Value::Array(out))
            }
            (Type::Text(expected), other) => self.mismatch(&json_type(other), owner, expected),
            (Type::Time, other) => self.mismatch(&json_type(other), owner, "string"),
            (Type::Bool, other) => self.mismatch(&json_type(other), owner, "bool"),
            (Type::Int64, other) => self.mismatch(&json_type(other), owner, "int64"),
            (Type::Texts, other) => self.mismatch(&json_type(other), owner, "[]string"),
            (Type::TextMap, other) => self.mismatch(&json_type(other), owner, "map[string]string"),
            (Type::Structs(name, _), other) => {
                self.mismatch(&json_type(other), owner, &format!("[]v1.{name}"))
            }
        }
    }

    /// A member of a list or map of strings; null is the empty string.
    fn text(&mut self, value: &Value, owner: &'static str) -> Value {
        match value {
            Value::String(_) => value.clone(),
            Value::Null => Value::String(String::new()),
            other => {
                self.mismatch(&json_type(other), owner, "string");
                Value::String(String::new())
            }
        }
    }

    fn mismatch(&mut self, actual: &str, owner: &str, expected: &str) -> Option<Value> {
        let place = self.names.join(".");
        let why = format!(
            "json: cannot unmarshal {actual} into Go struct field {owner}.{place} of type {expected}"
        );
        self.error.get_or_insert(why);
        None
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) => false,
    }
}
