//! Schemas and versions as Go prints the internal structs: every field, in declaration order.
//!
//! A few messages show them whole.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use sluice_base::gojson;

use super::{flag, list, text};

/// How a field of the internal schema is printed.
enum Shape {
    /// A string; empty when absent.
    Text,
    Flag,
    /// A pointer or interface: null when absent, else the value.
    Plain,
    Schema,
    Schemas,
    SchemaMap,
    SchemaOrBool,
    SchemaOrArray,
    Rules,
}

const FIELDS: [(&str, &str, Shape); 44] = [
    ("ID", "id", Shape::Text),
    ("Schema", "$schema", Shape::Text),
    ("Ref", "$ref", Shape::Plain),
    ("Description", "description", Shape::Text),
    ("Type", "type", Shape::Text),
    ("Nullable", "nullable", Shape::Flag),
    ("Format", "format", Shape::Text),
    ("Title", "title", Shape::Text),
    ("Default", "default", Shape::Plain),
    ("Maximum", "maximum", Shape::Plain),
    ("ExclusiveMaximum", "exclusiveMaximum", Shape::Flag),
    ("Minimum", "minimum", Shape::Plain),
    ("ExclusiveMinimum", "exclusiveMinimum", Shape::Flag),
    ("MaxLength", "maxLength", Shape::Plain),
    ("MinLength", "minLength", Shape::Plain),
    ("Pattern", "pattern", Shape::Text),
    ("MaxItems", "maxItems", Shape::Plain),
    ("MinItems", "minItems", Shape::Plain),
    ("UniqueItems", "uniqueItems", Shape::Flag),
    ("MultipleOf", "multipleOf", Shape::Plain),
    ("Enum", "enum", Shape::Plain),
    ("MaxProperties", "maxProperties", Shape::Plain),
    ("MinProperties", "minProperties", Shape::Plain),
    ("Required", "required", Shape::Plain),
    ("Items", "items", Shape::SchemaOrArray),
    ("AllOf", "allOf", Shape::Schemas),
    ("OneOf", "oneOf", Shape::Schemas),
    ("AnyOf", "anyOf", Shape::Schemas),
    ("Not", "not", Shape::Schema),
    ("Properties", "properties", Shape::SchemaMap),
    ("AdditionalProperties", "additionalProperties", Shape::SchemaOrBool),
    ("PatternProperties", "patternProperties", Shape::SchemaMap),
    ("Dependencies", "dependencies", Shape::Plain),
    ("AdditionalItems", "additionalItems", Shape::SchemaOrBool),
    ("Definitions", "definitions", Shape::SchemaMap),
    ("ExternalDocs", "externalDocs", Shape::Plain),
    ("Example", "example", Shape::Plain),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", Shape::Plain),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", Shape::Flag),
    ("XIntOrString", "x-kubernetes-int-or-string", Shape::Flag),
    ("XListMapKeys", "x-kubernetes-list-map-keys", Shape::Plain),
    ("XListType", "x-kubernetes-list-type", Shape::Plain),
    ("XMapType", "x-kubernetes-map-type", Shape::Plain),
    ("XValidations", "x-kubernetes-validations", Shape::Rules),
];

fn quoted(value: &str) -> String {
    gojson::to_string(&value.into())
}

/// A schema.
pub(super) fn schema(node: &Value) -> String {
    let mut out = String::from("{");
    for (index, (name, key, shape)) in FIELDS.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let _ = write!(out, "{comma}\"{name}\":{}", field(node, key, shape));
    }
    out.push('}');
    out
}

fn field(node: &Value, key: &str, shape: &Shape) -> String {
    let null = || "null".to_owned();
    let value = node.get(key).filter(|value| !value.is_null());
    let joined = |items: &mut dyn Iterator<Item = String>| {
        format!("[{}]", items.collect::<Vec<_>>().join(","))
    };
    match shape {
        Shape::Text => quoted(text(node, key)),
        Shape::Flag => flag(node, key).to_string(),
        Shape::Plain => value.map_or_else(null, gojson::to_string),
        Shape::Schema => value.map_or_else(null, schema),
        Shape::Schemas => {
            value.map_or_else(null, |_| joined(&mut list(node, key).iter().map(schema)))
        }
        Shape::SchemaMap => value.and_then(Value::as_object).map_or_else(null, schemas),
        Shape::SchemaOrBool => value.map_or_else(null, |value| match value {
            Value::Bool(allows) => format!(r#"{{"Allows":{allows},"Schema":null}}"#),
            node => format!(r#"{{"Allows":true,"Schema":{}}}"#, schema(node)),
        }),
        Shape::SchemaOrArray => value.map_or_else(null, |value| match value {
            Value::Array(items) => {
                let items = joined(&mut items.iter().map(schema));
                format!(r#"{{"Schema":null,"JSONSchemas":{items}}}"#)
            }
            node => format!(r#"{{"Schema":{},"JSONSchemas":null}}"#, schema(node)),
        }),
        Shape::Rules => value.map_or_else(null, |_| joined(&mut list(node, key).iter().map(rule))),
    }
}

fn schemas(fields: &Map<String, Value>) -> String {
    let items: Vec<String> =
        fields.iter().map(|(name, node)| format!("{}:{}", quoted(name), schema(node))).collect();
    format!("{{{}}}", items.join(","))
}

fn rule(rule: &Value) -> String {
    let plain = |key: &str| rule.get(key).map_or_else(|| "null".to_owned(), gojson::to_string);
    format!(
        r#"{{"Rule":{},"Message":{},"MessageExpression":{},"Reason":{},"FieldPath":{},"OptionalOldSelf":{}}}"#,
        quoted(text(rule, "rule")),
        quoted(text(rule, "message")),
        quoted(text(rule, "messageExpression")),
        plain("reason"),
        quoted(text(rule, "fieldPath")),
        plain("optionalOldSelf"),
    )
}

/// `{openAPIV3Schema: …}`.
pub(super) fn validation(value: Option<&Value>) -> String {
    value.map_or_else(
        || "null".to_owned(),
        |value| {
            let inner = value.get("openAPIV3Schema").filter(|inner| !inner.is_null());
            format!(r#"{{"OpenAPIV3Schema":{}}}"#, inner.map_or_else(|| "null".to_owned(), schema))
        },
    )
}

/// The subresources of a version.
pub(super) fn subresources(value: Option<&Value>) -> String {
    let null = || "null".to_owned();
    let Some(value) = value else { return null() };
    let part = |key: &str| value.get(key).filter(|part| !part.is_null());
    let scale = part("scale").map_or_else(null, |scale| {
        let selector = scale.get("labelSelectorPath").map_or_else(null, gojson::to_string);
        format!(
            r#"{{"SpecReplicasPath":{},"StatusReplicasPath":{},"LabelSelectorPath":{selector}}}"#,
            quoted(text(scale, "specReplicasPath")),
            quoted(text(scale, "statusReplicasPath")),
        )
    });
    let status = part("status").map_or_else(null, |_| "{}".to_owned());
    format!(r#"{{"Status":{status},"Scale":{scale}}}"#)
}
