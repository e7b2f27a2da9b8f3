//! Schemas of Rust types in a CRD, and the macros that declare such types.
//!
//! An `Option` is optional, everything else is required. All other properties are in `#[schema(...)]`, under their
//! OpenAPI names; the prefix `x-kubernetes-` is omitted, and `rules` is a list of `(rule, message)`.
//!
//! Every declared type keeps unknown fields, so reading and writing an object loses nothing, whichever version of
//! the CRD it was written for.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};
use sluice_base::duration::GoDuration;
use sluice_base::time::Time;

/// The pattern of a duration of milliseconds to hours.
pub(crate) const DURATION: &str = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$";

/// The pattern of a duration of milliseconds to minutes.
pub(crate) const SHORT_DURATION: &str = r"^([0-9]+(\.[0-9]+)?(ms|s|m))+$";

/// The unknown fields of an object.
pub type Unknown = BTreeMap<String, Value>;

/// A type with a CRD schema.
pub trait Schema {
    /// Whether a field of this type may be left out.
    const OPTIONAL: bool = false;

    /// The structural schema of the type.
    fn schema() -> Value;

    /// Whether the value is omitted when written.
    fn is_absent(&self) -> bool {
        false
    }
}

impl<T: Schema> Schema for Option<T> {
    const OPTIONAL: bool = true;

    fn schema() -> Value {
        T::schema()
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: Schema> Schema for Vec<T> {
    fn schema() -> Value {
        json!({"type": "array", "items": T::schema()})
    }
}

impl<T: Schema> Schema for BTreeMap<String, T> {
    fn schema() -> Value {
        json!({"type": "object", "additionalProperties": T::schema()})
    }
}

macro_rules! plain {
    ($($type:ty => $schema:tt),+ $(,)?) => {
        $(impl Schema for $type {
            fn schema() -> Value {
                json!($schema)
            }
        })+
    };
}

plain! {
    String => {"type": "string"},
    GoDuration => {"type": "string"},
    Time => {"type": "string", "format": "date-time"},
    bool => {"type": "boolean"},
    i64 => {"type": "integer", "format": "int64"},
    // Go's `int`, which has no format.
    isize => {"type": "integer"},
    Value => {"x-kubernetes-preserve-unknown-fields": true},
    Map<String, Value> => {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
}

/// The schema of an object under construction.
#[derive(Debug, Default)]
pub(crate) struct ObjectSchema {
    properties: Map<String, Value>,
    required: Vec<Value>,
}

impl ObjectSchema {
    /// Adds a field under its name in manifests.
    pub(crate) fn field<T: Schema>(&mut self, name: &str, docs: &[&str], facts: &[Fact]) {
        if !T::OPTIONAL {
            self.required.push(name.into());
        }
        self.properties.insert(name.to_owned(), described(T::schema(), docs, facts));
    }

    /// Adds `metadata`, which the API server itself validates.
    pub(crate) fn metadata(&mut self) {
        self.properties.insert("metadata".into(), json!({"type": "object"}));
    }

    /// The finished schema.
    pub(crate) fn finish(mut self, docs: &[&str], facts: &[Fact]) -> Value {
        let mut schema = json!({"type": "object", "properties": self.properties});
        if !self.required.is_empty() {
            self.required.sort_by(|left, right| left.as_str().cmp(&right.as_str()));
            schema["required"] = Value::Array(self.required);
        }
        described(schema, docs, facts)
    }
}

/// A property in `#[schema(...)]`: a path of keys and a value.
pub(crate) struct Fact {
    path: &'static [&'static str],
    value: Value,
}

impl Fact {
    pub(crate) fn new(path: &'static [&'static str], value: impl Serialize) -> Self {
        // Only literals and constants are ever written there, and those serialise.
        Self { path, value: serde_json::to_value(value).unwrap_or_default() }
    }

    fn put(&self, schema: &mut Value) {
        let mut target = schema;
        let Some((last, parents)) = self.path.split_last() else { return };
        for parent in parents {
            target = &mut target[*parent];
        }
        match *last {
            "rules" => target["x-kubernetes-validations"] = rules(&self.value),
            "list_type" => target["x-kubernetes-list-type"] = self.value.clone(),
            "list_map_keys" => target["x-kubernetes-list-map-keys"] = self.value.clone(),
            "map_type" => target["x-kubernetes-map-type"] = self.value.clone(),
            name => target[camel(name)] = self.value.clone(),
        }
    }
}

/// The schema with documentation lines as its description, and with facts added.
fn described(mut schema: Value, docs: &[&str], facts: &[Fact]) -> Value {
    let lines: Vec<&str> = docs.iter().map(|line| line.trim()).collect();
    if !lines.is_empty() {
        schema["description"] = lines.join("\n").into();
    }
    for fact in facts {
        fact.put(&mut schema);
    }
    schema
}

fn rules(pairs: &Value) -> Value {
    let pairs = pairs.as_array().map(Vec::as_slice).unwrap_or_default();
    pairs.iter().map(|pair| json!({"rule": pair[0], "message": pair[1]})).collect()
}

/// `secret_ref` as manifests write it: `secretRef`.
pub(crate) fn camel(name: &str) -> String {
    let mut words = name.trim_start_matches("r#").split('_');
    let mut text = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        text.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        text.push_str(letters.as_str());
    }
    text
}

/// Declares an object: a struct that is read and written with all its fields, known or not, and that has a CRD
/// schema. `#[wire("...")]` names a field that is not in camel case.
macro_rules! object {
    (
        $(#[doc = $doc:literal])+
        $(#[schema($($($fact:ident).+ = $value:expr),+ $(,)?)])?
        pub struct $name:ident {
            $(
                $(#[doc = $field_doc:literal])+
                $(#[wire($wire:literal)])?
                $(#[schema($($($field_fact:ident).+ = $field_value:expr),+ $(,)?)])?
                pub $field:ident: $type:ty,
            )*
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        pub struct $name {
            $(
                $(#[doc = $field_doc])+
                $(#[serde(rename = $wire)])?
                #[serde(skip_serializing_if = "crate::schema::Schema::is_absent")]
                pub $field: $type,
            )*
            /// Fields that this type does not know, as they were read.
            #[serde(flatten)]
            pub unknown: crate::schema::Unknown,
        }

        impl crate::schema::Schema for $name {
            fn schema() -> serde_json::Value {
                let mut object = crate::schema::ObjectSchema::default();
                $(
                    let name = crate::schema::wire_name(stringify!($field), &[$($wire)?]);
                    object.field::<$type>(
                        &name,
                        &[$($field_doc),+],
                        &[$($(crate::schema::Fact::new(
                            &[$(stringify!($field_fact)),+],
                            $field_value,
                        )),+)?],
                    );
                )*
                object.finish(
                    &[$($doc),+],
                    &[$($(crate::schema::Fact::new(&[$(stringify!($fact)),+], $value)),+)?],
                )
            }
        }
    };
}

/// Declares an enumeration of strings. Decoding keeps an unknown value: the API server rejects it, and one invalid
/// object must not make a whole list unreadable.
macro_rules! choice {
    (
        $(#[doc = $doc:literal])+
        pub enum $name:ident {
            $($variant:ident = $word:literal,)+
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $(
                #[doc = concat!("`", $word, "`")]
                #[serde(rename = $word)]
                $variant,
            )+
            /// A value that is not in the enumeration.
            #[serde(untagged)]
            Other(String),
        }

        impl $name {
            /// The value in manifests.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)+
                    Self::Other(word) => word,
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::Other(String::new())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(self.as_str())
            }
        }

        impl crate::schema::Schema for $name {
            fn schema() -> serde_json::Value {
                serde_json::json!({"type": "string", "enum": [$($word),+]})
            }
        }
    };
}

pub(crate) use {choice, object};

/// The name of a field in manifests: the one it was given, or its own in camel case.
pub(crate) fn wire_name(field: &str, given: &[&str]) -> String {
    given.first().map_or_else(|| camel(field), |name| (*name).to_owned())
}
