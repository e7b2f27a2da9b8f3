//! OpenAPI v3 documents as OpenAPI v2, which kubectl still requests (client-side validation of lists, `explain` of
//! old clients).
//!
//! v2 has no defaults of fields, no alternatives and no references with siblings other than a description; these are
//! omitted as the API server omits them, also for custom resources.

use serde_json::{Map, Value, json};

const OLD: &str = "#/components/schemas/";
const NEW: &str = "#/definitions/";

/// The fields of a v3 schema that v2 has too.
const KEPT: [&str; 20] = [
    "description",
    "discriminator",
    "enum",
    "example",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "externalDocs",
    "format",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "title",
    "uniqueItems",
];

/// A v3 schema as a v2 definition.
pub fn schema(given: &Value) -> Value {
    let Some(given) = given.as_object() else { return given.clone() };
    let is_on = |name: &str| given.get(name) == Some(&Value::Bool(true));
    let (nullable, preserves) = (is_on("nullable"), is_on("x-kubernetes-preserve-unknown-fields"));
    let mut out: Map<String, Value> = given
        .iter()
        .filter(|(name, _)| KEPT.contains(&name.as_str()) || name.starts_with("x-"))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if let Some(target) = reference(given) {
        out.insert("$ref".to_owned(), moved(target).into());
        return Value::Object(out);
    }
    if let Some(properties) = given.get("properties").and_then(Value::as_object)
        && !nullable
        && !preserves
    {
        let each = properties.iter().map(|(name, property)| (name.clone(), schema(property)));
        out.insert("properties".to_owned(), each.collect::<Map<_, _>>().into());
    }
    if let Some(items) = given.get("items")
        && !nullable
        && !preserves
    {
        out.insert("items".to_owned(), schema(items));
    }
    if let Some(values) = given.get("additionalProperties") {
        out.insert("additionalProperties".to_owned(), schema(values));
    }
    if let Some(required) = required(given) {
        out.insert("required".to_owned(), required);
    }
    // Old clients take a type without the parts it promises for an error.
    let untyped = |name: &str| {
        nullable
            || (name == "array" && !out.contains_key("items"))
            || (name == "object" && preserves)
    };
    match given.get("type").and_then(Value::as_str) {
        Some(name) if !untyped(name) => {
            out.insert("type".to_owned(), name.into());
        }
        // Alternatives of built-in kinds are those of IntOrString and Quantity, which v2 has as strings.
        None if given.contains_key("oneOf") && !is_on("x-kubernetes-int-or-string") => {
            out.insert("type".to_owned(), "string".into());
        }
        _ => {}
    }
    Value::Object(out)
}

/// What a schema is only another name for: `$ref`, or `allOf` of one, which v3 needs for siblings.
fn reference(schema: &Map<String, Value>) -> Option<&str> {
    let direct = schema.get("$ref").and_then(Value::as_str);
    direct.or_else(|| match schema.get("allOf")?.as_array()?.as_slice() {
        [only] => only.get("$ref")?.as_str(),
        _ => None,
    })
}

fn moved(target: &str) -> String {
    target.replace(OLD, NEW)
}

/// The required properties, without those that may be null, which v2 cannot say.
fn required(schema: &Map<String, Value>) -> Option<Value> {
    let may_be_null = |name: &Value| {
        let property = schema.get("properties").and_then(|all| all.get(name.as_str()?));
        property.is_some_and(|property| property["nullable"] == true)
    };
    let names = schema.get("required")?.as_array()?;
    let kept: Vec<Value> = names.iter().filter(|name| !may_be_null(name)).cloned().collect();
    (!kept.is_empty()).then(|| kept.into())
}

/// The paths of a v3 document as v2 has them.
pub fn paths(given: &Value) -> Map<String, Value> {
    let given = given.as_object().into_iter().flatten();
    given.map(|(path, item)| (path.clone(), path_item(item))).collect()
}

fn path_item(item: &Value) -> Value {
    let fields = item.as_object().into_iter().flatten();
    fields
        .map(|(name, value)| {
            let value = match name.as_str() {
                "parameters" => parameters(value).into(),
                "get" | "put" | "post" | "delete" | "options" | "head" | "patch" => {
                    operation(value)
                }
                _ => value.clone(),
            };
            (name.clone(), value)
        })
        .collect::<Map<_, _>>()
        .into()
}

fn parameters(given: &Value) -> Vec<Value> {
    let given = given.as_array().into_iter().flatten();
    given
        .map(|parameter| {
            let mut out = parameter.as_object().cloned().unwrap_or_default();
            if let Some(schema) = out.remove("schema")
                && let Value::Object(schema) = self::schema(&schema)
            {
                out.extend(schema.into_iter().filter(|(name, _)| name != "description"));
            }
            Value::Object(out)
        })
        .collect()
}

fn operation(given: &Value) -> Value {
    let mut out = given.as_object().cloned().unwrap_or_default();
    let mut all = Vec::new();
    let mut consumes = vec!["*/*".to_owned()];
    if let Some(body) = out.remove("requestBody") {
        let content = body["content"].as_object().cloned().unwrap_or_default();
        if let Some((_, media)) = content.iter().next() {
            let mut parameter =
                json!({"in": "body", "name": "body", "schema": schema(&media["schema"])});
            if body["required"] == true {
                parameter["required"] = true.into();
            }
            all.push(parameter);
        }
        consumes = content.into_iter().map(|(media_type, _)| media_type).collect();
    }
    all.extend(parameters(out.get("parameters").unwrap_or(&Value::Null)));
    if all.is_empty() {
        out.remove("parameters");
    } else {
        out.insert("parameters".to_owned(), all.into());
    }
    let mut produces: Vec<String> = Vec::new();
    if let Some(responses) = out.get_mut("responses").and_then(Value::as_object_mut) {
        for response in responses.values_mut().filter_map(Value::as_object_mut) {
            let Some(Value::Object(content)) = response.remove("content") else { continue };
            if let Some((_, media)) = content.iter().next() {
                response.insert("schema".to_owned(), schema(&media["schema"]));
            }
            produces.extend(content.into_iter().map(|(media_type, _)| media_type));
        }
    }
    produces.sort();
    produces.dedup();
    if !produces.is_empty() {
        out.insert("produces".to_owned(), produces.into());
    }
    out.insert("consumes".to_owned(), consumes.into());
    out.insert("schemes".to_owned(), json!(["https"]));
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_v2_cannot_say_is_left_out() {
        let cases = [
            (json!({"type": "string", "default": "x"}), json!({"type": "string"})),
            (
                json!({"allOf": [{"$ref": "#/components/schemas/A"}], "default": {}, "description": "a"}),
                json!({"$ref": "#/definitions/A", "description": "a"}),
            ),
            (
                json!({"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"}),
                json!({"type": "string", "format": "int-or-string"}),
            ),
            (
                json!({"type": "object", "required": ["a", "b"], "properties": {
                    "a": {"type": "string", "nullable": true}, "b": {"type": "array", "items": {"type": "integer"}}}}),
                json!({"type": "object", "required": ["b"], "properties": {
                    "a": {}, "b": {"type": "array", "items": {"type": "integer"}}}}),
            ),
            (
                json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {}}}),
                json!({"x-kubernetes-preserve-unknown-fields": true}),
            ),
            (
                json!({"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": true}),
                json!({"x-kubernetes-int-or-string": true}),
            ),
            // A property may be called like a keyword.
            (
                json!({"type": "object", "properties": {"$ref": {"type": "string"}, "oneOf": {"type": "string"}}}),
                json!({"type": "object", "properties": {"$ref": {"type": "string"}, "oneOf": {"type": "string"}}}),
            ),
        ];
        for (given, expected) in cases {
            assert_eq!(schema(&given), expected, "{given}");
        }
    }
}
