//! The messages of `openapi.v2`, as far as the API server writes them.

use serde_json::Value;

use super::Kind::{
    Any, Anys, Choice, Choices, Flag, Many, Map, Number, One, Text, Texts, Whole, Wrapped,
};
use super::{Field, Kind, Message};

pub(super) static DOCUMENT: Message = Message {
    fields: &[
        Field("swagger", 1, Text),
        Field("info", 2, One(&INFO)),
        Field("host", 3, Text),
        Field("basePath", 4, Text),
        Field("schemes", 5, Texts),
        Field("consumes", 6, Texts),
        Field("produces", 7, Texts),
        Field("paths", 8, One(&PATHS)),
        Field("definitions", 9, Map(&One(&SCHEMA))),
        Field("security", 12, Many(&SECURITY_REQUIREMENT)),
        Field("securityDefinitions", 13, Map(&Choice(security_definition))),
    ],
    extensions: 16,
    others: None,
};

static INFO: Message = Message {
    fields: &[Field("title", 1, Text), Field("version", 2, Text), Field("description", 3, Text)],
    extensions: 7,
    others: None,
};

static PATHS: Message = Message { fields: &[], extensions: 1, others: Some((2, One(&PATH_ITEM))) };

static PATH_ITEM: Message = Message {
    fields: &[
        Field("$ref", 1, Text),
        Field("get", 2, One(&OPERATION)),
        Field("put", 3, One(&OPERATION)),
        Field("post", 4, One(&OPERATION)),
        Field("delete", 5, One(&OPERATION)),
        Field("options", 6, One(&OPERATION)),
        Field("head", 7, One(&OPERATION)),
        Field("patch", 8, One(&OPERATION)),
        Field("parameters", 9, Choices(parameter)),
    ],
    extensions: 10,
    others: None,
};

static OPERATION: Message = Message {
    fields: &[
        Field("tags", 1, Texts),
        Field("summary", 2, Text),
        Field("description", 3, Text),
        Field("operationId", 5, Text),
        Field("produces", 6, Texts),
        Field("consumes", 7, Texts),
        Field("parameters", 8, Choices(parameter)),
        Field("responses", 9, One(&RESPONSES)),
        Field("schemes", 10, Texts),
        Field("deprecated", 11, Flag),
    ],
    extensions: 13,
    others: None,
};

/// `ParametersItem`, of which only parameters are written, no references.
fn parameter(_: &Value) -> (u32, Kind) {
    (1, Choice(parameter_in))
}

/// `Parameter`.
fn parameter_in(value: &Value) -> (u32, Kind) {
    if value["in"] == "body" { (1, One(&BODY_PARAMETER)) } else { (2, Choice(plain_parameter)) }
}

/// `NonBodyParameter`.
fn plain_parameter(value: &Value) -> (u32, Kind) {
    match value["in"].as_str() {
        Some("header") => (1, One(&HEADER_PARAMETER)),
        Some("path") => (4, One(&HEADER_PARAMETER)),
        _ => (3, One(&QUERY_PARAMETER)),
    }
}

static BODY_PARAMETER: Message = Message {
    fields: &[
        Field("description", 1, Text),
        Field("name", 2, Text),
        Field("in", 3, Text),
        Field("required", 4, Flag),
        Field("schema", 5, One(&SCHEMA)),
    ],
    extensions: 6,
    others: None,
};

/// Parameters in headers and paths, which are numbered alike.
static HEADER_PARAMETER: Message = Message {
    fields: &[
        Field("required", 1, Flag),
        Field("in", 2, Text),
        Field("description", 3, Text),
        Field("name", 4, Text),
        Field("type", 5, Text),
        Field("format", 6, Text),
        Field("uniqueItems", 19, Flag),
    ],
    extensions: 22,
    others: None,
};

static QUERY_PARAMETER: Message = Message {
    fields: &[
        Field("required", 1, Flag),
        Field("in", 2, Text),
        Field("description", 3, Text),
        Field("name", 4, Text),
        Field("allowEmptyValue", 5, Flag),
        Field("type", 6, Text),
        Field("format", 7, Text),
        Field("uniqueItems", 20, Flag),
    ],
    extensions: 23,
    others: None,
};

static RESPONSES: Message =
    Message { fields: &[], extensions: 2, others: Some((1, Choice(response))) };

fn response(value: &Value) -> (u32, Kind) {
    if value.get("$ref").is_some() { (2, One(&REFERENCE)) } else { (1, One(&RESPONSE)) }
}

static REFERENCE: Message = Message {
    fields: &[Field("$ref", 1, Text), Field("description", 2, Text)],
    extensions: 0,
    others: None,
};

static RESPONSE: Message = Message {
    fields: &[Field("description", 1, Text), Field("schema", 2, Wrapped(&One(&SCHEMA)))],
    extensions: 5,
    others: None,
};

static SCHEMA: Message = Message {
    fields: &[
        Field("$ref", 1, Text),
        Field("format", 2, Text),
        Field("title", 3, Text),
        Field("description", 4, Text),
        Field("default", 5, Any),
        Field("multipleOf", 6, Number),
        Field("maximum", 7, Number),
        Field("exclusiveMaximum", 8, Flag),
        Field("minimum", 9, Number),
        Field("exclusiveMinimum", 10, Flag),
        Field("maxLength", 11, Whole),
        Field("minLength", 12, Whole),
        Field("pattern", 13, Text),
        Field("maxItems", 14, Whole),
        Field("minItems", 15, Whole),
        Field("uniqueItems", 16, Flag),
        Field("maxProperties", 17, Whole),
        Field("minProperties", 18, Whole),
        Field("required", 19, Texts),
        Field("enum", 20, Anys),
        Field("additionalProperties", 21, Choice(additional)),
        Field("type", 22, Wrapped(&Texts)),
        Field("items", 23, Wrapped(&Many(&SCHEMA))),
        Field("allOf", 24, Many(&SCHEMA)),
        Field("properties", 25, Map(&One(&SCHEMA))),
        Field("discriminator", 26, Text),
        Field("readOnly", 27, Flag),
        Field("externalDocs", 29, One(&EXTERNAL_DOCS)),
        Field("example", 30, Any),
    ],
    extensions: 31,
    others: None,
};

fn additional(value: &Value) -> (u32, Kind) {
    if value.is_boolean() { (2, Flag) } else { (1, One(&SCHEMA)) }
}

static EXTERNAL_DOCS: Message = Message {
    fields: &[Field("description", 1, Text), Field("url", 2, Text)],
    extensions: 3,
    others: None,
};

static SECURITY_REQUIREMENT: Message =
    Message { fields: &[], extensions: 0, others: Some((1, Wrapped(&Texts))) };

/// Every scheme of the API server is a bearer token, which v2 has as a key in a header.
fn security_definition(_: &Value) -> (u32, Kind) {
    (2, One(&API_KEY))
}

static API_KEY: Message = Message {
    fields: &[
        Field("type", 1, Text),
        Field("name", 2, Text),
        Field("in", 3, Text),
        Field("description", 4, Text),
    ],
    extensions: 5,
    others: None,
};
