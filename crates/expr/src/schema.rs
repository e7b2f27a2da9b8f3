//! The parts of a structural schema that expressions need.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

/// The identity of a list's elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ListType {
    /// By position.
    #[default]
    Atomic,
    /// By value.
    Set,
    /// By some of their fields.
    Map,
}

/// A rule of `x-kubernetes-validations`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rule {
    pub(crate) expression: String,
    pub(crate) message: String,
    pub(crate) message_expression: String,
    pub(crate) reason: Option<String>,
    pub(crate) field_path: String,
    pub(crate) optional_old_self: Option<bool>,
}

/// A node of a structural schema; opaque outside this crate.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    pub(crate) kind: String,
    pub(crate) format: String,
    pub(crate) nullable: bool,
    pub(crate) int_or_string: bool,
    pub(crate) embedded: bool,
    pub(crate) preserve_unknown: bool,
    pub(crate) properties: Option<BTreeMap<String, Arc<Schema>>>,
    pub(crate) additional: Option<Arc<Schema>>,
    pub(crate) items: Option<Arc<Schema>>,
    pub(crate) list_type: ListType,
    pub(crate) list_map_keys: Vec<String>,
    pub(crate) required: Vec<String>,
    /// The length of the longest text an enumeration allows.
    pub(crate) longest_enum: Option<i64>,
    pub(crate) max_length: Option<i64>,
    pub(crate) max_items: Option<i64>,
    pub(crate) max_properties: Option<i64>,
    pub(crate) has_default: bool,
    pub(crate) rules: Vec<Rule>,
    pub(crate) all_of: Vec<Arc<Schema>>,
    /// For embedded resources: the same with the fields every resource has.
    pub(crate) resource: Option<Arc<Schema>>,
}

/// How deep a schema may nest.
const DEPTH_LIMIT: usize = 200;

impl Schema {
    /// Reads a schema; what is not well formed is left out, since its own validation refuses it.
    pub(crate) fn parse(json: &Json) -> Schema {
        Schema::parse_at(json, 0)
    }

    fn parse_at(json: &Json, depth: usize) -> Schema {
        if depth > DEPTH_LIMIT {
            return Schema::default();
        }
        let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
        let flag = |key: &str| json[key].as_bool().unwrap_or(false);
        let below = |value: &Json| Arc::new(Schema::parse_at(value, depth + 1));
        let strings = |key: &str| -> Vec<String> {
            let found = json[key].as_array().into_iter().flatten();
            found.filter_map(|value| value.as_str().map(str::to_owned)).collect()
        };
        let properties: Option<BTreeMap<String, Arc<Schema>>> =
            json["properties"].as_object().filter(|found| !found.is_empty()).map(|found| {
                let parsed = found.iter();
                parsed.map(|(name, value)| (name.clone(), below(value))).collect()
            });
        let all_of = json["allOf"].as_array().into_iter().flatten();
        let all_of = all_of.map(&below).collect();
        let rules = json["x-kubernetes-validations"].as_array().into_iter().flatten();
        let mut schema = Schema {
            kind: text("type"),
            format: text("format"),
            nullable: flag("nullable"),
            int_or_string: flag("x-kubernetes-int-or-string"),
            embedded: flag("x-kubernetes-embedded-resource"),
            preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
            properties,
            additional: json["additionalProperties"]
                .is_object()
                .then(|| below(&json["additionalProperties"])),
            items: json["items"].is_object().then(|| below(&json["items"])),
            list_type: match json["x-kubernetes-list-type"].as_str() {
                Some("set") => ListType::Set,
                Some("map") => ListType::Map,
                _ => ListType::Atomic,
            },
            list_map_keys: strings("x-kubernetes-list-map-keys"),
            required: strings("required"),
            longest_enum: json["enum"].as_array().filter(|values| !values.is_empty()).map(
                |values| {
                    let lengths = values.iter().filter_map(Json::as_str).map(str::len);
                    i64::try_from(lengths.max().unwrap_or(0)).unwrap_or(i64::MAX)
                },
            ),
            max_length: json["maxLength"].as_i64(),
            max_items: json["maxItems"].as_i64(),
            max_properties: json["maxProperties"].as_i64(),
            has_default: json.get("default").is_some_and(|value| !value.is_null()),
            rules: rules.map(Rule::parse).collect(),
            all_of,
            resource: None,
        };
        if schema.embedded {
            schema.resource = Some(Arc::new(schema.with_resource_fields()));
        }
        schema
    }

    /// Whether the value is an object with named fields, which are escaped.
    pub(crate) fn is_object(&self) -> bool {
        self.properties.is_some()
    }

    /// The schema of the value under a key.
    pub(crate) fn property(&self, key: &str) -> Option<&Schema> {
        match &self.properties {
            Some(properties) => properties.get(key).map(|found| &**found),
            None => self.additional.as_deref(),
        }
    }

    /// The same schema with `apiVersion`, `kind` and `metadata` as resources have them.
    pub(crate) fn with_resource_fields(&self) -> Schema {
        let string = Arc::new(Schema { kind: "string".to_owned(), ..Schema::default() });
        let mut properties = self.properties.clone().unwrap_or_default();
        let is = |properties: &BTreeMap<String, Arc<Schema>>, name: &str, kind: &str| {
            properties.get(name).is_some_and(|found| found.kind == kind)
        };
        let complete = is(&properties, "kind", "string")
            && is(&properties, "apiVersion", "string")
            && is(&properties, "metadata", "object")
            && properties["metadata"].properties.as_ref().is_some_and(|metadata| {
                is(metadata, "name", "string") && is(metadata, "generateName", "string")
            });
        if complete {
            return self.clone();
        }
        let metadata = Schema {
            kind: "object".to_owned(),
            properties: Some(BTreeMap::from([
                ("name".to_owned(), Arc::clone(&string)),
                ("generateName".to_owned(), Arc::clone(&string)),
            ])),
            ..Schema::default()
        };
        properties.insert("kind".to_owned(), Arc::clone(&string));
        properties.insert("apiVersion".to_owned(), string);
        properties.insert("metadata".to_owned(), Arc::new(metadata));
        Schema { properties: Some(properties), items: None, resource: None, ..self.clone() }
    }

    /// The schema a value is read with.
    pub(crate) fn view(&self) -> &Schema {
        self.resource.as_deref().unwrap_or(self)
    }
}

impl Rule {
    fn parse(json: &Json) -> Rule {
        let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
        Rule {
            expression: text("rule"),
            message: text("message"),
            message_expression: text("messageExpression"),
            reason: json["reason"].as_str().map(str::to_owned),
            field_path: text("fieldPath"),
            optional_old_self: json["optionalOldSelf"].as_bool(),
        }
    }
}
