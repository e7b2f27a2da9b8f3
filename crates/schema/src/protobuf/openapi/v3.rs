//! The messages of `openapi.v3`, as far as the API server writes them.

use serde_json::Value;

use super::Kind::{Anys, Choice, Choices, Flag, Map, Number, One, Text, Texts, Whole, Wrapped};
use super::{Field, Kind, Message};

pub(super) static DOCUMENT: Message = Message {
    fields: &[
        Field("openapi", 1, Text),
        Field("info", 2, One(&INFO)),
        Field("paths", 4, One(&PATHS)),
        Field("components", 5, One(&COMPONENTS)),
    ],
    extensions: 9,
    others: None,
};

static INFO: Message = Message {
    fields: &[Field("title", 1, Text), Field("description", 2, Text), Field("version", 6, Text)],
    extensions: 7,
    others: None,
};

static COMPONENTS: Message = Message {
    fields: &[
        Field("schemas", 1, Map(&Choice(schema))),
        Field("securitySchemes", 7, Map(&Choice(security_scheme))),
    ],
    extensions: 10,
    others: None,
};

static PATHS: Message = Message { fields: &[], extensions: 2, others: Some((1, One(&PATH_ITEM))) };

static PATH_ITEM: Message = Message {
    fields: &[
        Field("$ref", 1, Text),
        Field("summary", 2, Text),
        Field("description", 3, Text),
        Field("get", 4, One(&OPERATION)),
        Field("put", 5, One(&OPERATION)),
        Field("post", 6, One(&OPERATION)),
        Field("delete", 7, One(&OPERATION)),
        Field("options", 8, One(&OPERATION)),
        Field("head", 9, One(&OPERATION)),
        Field("patch", 10, One(&OPERATION)),
        Field("trace", 11, One(&OPERATION)),
        Field("parameters", 13, Choices(parameter)),
    ],
    extensions: 14,
    others: None,
};

static OPERATION: Message = Message {
    fields: &[
        Field("tags", 1, Texts),
        Field("summary", 2, Text),
        Field("description", 3, Text),
        Field("operationId", 5, Text),
        Field("parameters", 6, Choices(parameter)),
        Field("requestBody", 7, Choice(request_body)),
        Field("responses", 8, One(&RESPONSES)),
        Field("deprecated", 10, Flag),
    ],
    extensions: 13,
    others: None,
};

static REFERENCE: Message = Message {
    fields: &[Field("$ref", 1, Text), Field("summary", 2, Text), Field("description", 3, Text)],
    extensions: 0,
    others: None,
};

/// The message itself as field 1, or a reference as field 2.
fn or_reference(value: &Value, message: &'static Message) -> (u32, Kind) {
    if value.get("$ref").is_some_and(Value::is_string) {
        (2, One(&REFERENCE))
    } else {
        (1, One(message))
    }
}

fn parameter(value: &Value) -> (u32, Kind) {
    or_reference(value, &PARAMETER)
}

fn request_body(value: &Value) -> (u32, Kind) {
    or_reference(value, &REQUEST_BODY)
}

fn response(value: &Value) -> (u32, Kind) {
    or_reference(value, &RESPONSE)
}

fn schema(value: &Value) -> (u32, Kind) {
    or_reference(value, &SCHEMA)
}

fn security_scheme(value: &Value) -> (u32, Kind) {
    or_reference(value, &SECURITY_SCHEME)
}

static PARAMETER: Message = Message {
    fields: &[
        Field("name", 1, Text),
        Field("in", 2, Text),
        Field("description", 3, Text),
        Field("required", 4, Flag),
        Field("deprecated", 5, Flag),
        Field("allowEmptyValue", 6, Flag),
        Field("style", 7, Text),
        Field("explode", 8, Flag),
        Field("allowReserved", 9, Flag),
        Field("schema", 10, Choice(schema)),
        Field("content", 13, Map(&One(&MEDIA_TYPE))),
    ],
    extensions: 14,
    others: None,
};

static REQUEST_BODY: Message = Message {
    fields: &[
        Field("description", 1, Text),
        Field("content", 2, Map(&One(&MEDIA_TYPE))),
        Field("required", 3, Flag),
    ],
    extensions: 4,
    others: None,
};

static RESPONSES: Message = Message {
    fields: &[Field("default", 1, Choice(response))],
    extensions: 3,
    others: Some((2, Choice(response))),
};

static RESPONSE: Message = Message {
    fields: &[Field("description", 1, Text), Field("content", 3, Map(&One(&MEDIA_TYPE)))],
    extensions: 5,
    others: None,
};

static MEDIA_TYPE: Message =
    Message { fields: &[Field("schema", 1, Choice(schema))], extensions: 5, others: None };

static SCHEMA: Message = Message {
    fields: &[
        Field("nullable", 1, Flag),
        Field("readOnly", 3, Flag),
        Field("writeOnly", 4, Flag),
        Field("externalDocs", 6, One(&EXTERNAL_DOCS)),
        Field("example", 7, super::Kind::Any),
        Field("deprecated", 8, Flag),
        Field("title", 9, Text),
        Field("multipleOf", 10, Number),
        Field("maximum", 11, Number),
        Field("exclusiveMaximum", 12, Flag),
        Field("minimum", 13, Number),
        Field("exclusiveMinimum", 14, Flag),
        Field("maxLength", 15, Whole),
        Field("minLength", 16, Whole),
        Field("pattern", 17, Text),
        Field("maxItems", 18, Whole),
        Field("minItems", 19, Whole),
        Field("uniqueItems", 20, Flag),
        Field("maxProperties", 21, Whole),
        Field("minProperties", 22, Whole),
        Field("required", 23, Texts),
        Field("enum", 24, Anys),
        Field("type", 25, Text),
        Field("allOf", 26, Choices(schema)),
        Field("oneOf", 27, Choices(schema)),
        Field("anyOf", 28, Choices(schema)),
        Field("not", 29, One(&SCHEMA)),
        Field("items", 30, Wrapped(&Choices(schema))),
        Field("properties", 31, Map(&Choice(schema))),
        Field("additionalProperties", 32, Choice(additional)),
        Field("default", 33, Choice(default)),
        Field("description", 34, Text),
        Field("format", 35, Text),
    ],
    extensions: 36,
    others: None,
};

fn additional(value: &Value) -> (u32, Kind) {
    if value.is_boolean() { (2, Flag) } else { (1, Choice(schema)) }
}

/// `DefaultType` has numbers, booleans and texts; of anything else only remains that there is a default.
fn default(value: &Value) -> (u32, Kind) {
    match value {
        Value::Number(_) => (1, Number),
        Value::Bool(_) => (2, Flag),
        _ => (3, Text),
    }
}

static EXTERNAL_DOCS: Message = Message {
    fields: &[Field("description", 1, Text), Field("url", 2, Text)],
    extensions: 3,
    others: None,
};

static SECURITY_SCHEME: Message = Message {
    fields: &[
        Field("type", 1, Text),
        Field("description", 2, Text),
        Field("name", 3, Text),
        Field("in", 4, Text),
        Field("scheme", 5, Text),
    ],
    extensions: 9,
    others: None,
};
