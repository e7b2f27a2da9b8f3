//! Walking schemas as written, and what an update may leave wrong because it already was.

use serde_json::Value;

use super::internal::Internal;
use super::{Tolerance, list, schema, text};
use crate::field::Path;
use crate::structural::{Root, Schema, formats, invariants, pruning};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Whether `wanted` holds for a node of a schema, visited in upstream's order.
pub(super) fn any_node(node: &Value, wanted: &mut dyn FnMut(&Value) -> bool) -> bool {
    if !node.is_object() {
        return false;
    }
    if wanted(node) {
        return true;
    }
    let one = |key: &str| node.get(key).into_iter();
    let many = |key: &str| node.get(key).and_then(Value::as_array).into_iter().flatten();
    let map = |key: &str| {
        node.get(key).and_then(Value::as_object).into_iter().flatten().map(|(_, value)| value)
    };
    one("items")
        .chain(many("items"))
        .chain(many("allOf"))
        .chain(many("anyOf"))
        .chain(many("oneOf"))
        .chain(one("not"))
        .chain(map("properties"))
        .chain(one("additionalProperties"))
        .chain(map("patternProperties"))
        .chain(one("additionalItems"))
        .chain(map("definitions"))
        .chain(map("dependencies"))
        .any(|below| any_node(below, wanted))
}

/// The formats in a definition that the server does not check, in upstream's order of finding.
pub fn unrecognized_formats(definition: &Value) -> Vec<String> {
    let Some(spec) = definition.get("spec") else { return Vec::new() };
    let mut found = Vec::new();
    for schema in Internal::of(spec).schemas() {
        any_node(schema, &mut |node| {
            let format = text(node, "format");
            if !format.is_empty() && text(node, "type") == "string" && !formats::is_known(format) {
                found.push(format.to_owned());
            }
            false
        });
    }
    found
}

/// What the old spec got away with.
pub(super) fn tolerance(spec: &Value, old: &Value) -> Tolerance {
    let before = Internal::of(old);
    let any = |wanted: &mut dyn FnMut(&Value) -> bool| {
        before.schemas().any(|schema| any_node(schema, wanted))
    };
    let parsed: Vec<_> = before.schemas().map(Schema::parse).collect();
    let root = Path::default();
    let conversion = old.get("conversion").unwrap_or(&Value::Null);
    let review = conversion
        .get("webhook")
        .map_or(&[][..], |webhook| list(webhook, "conversionReviewVersions"));
    let versions = |spec: &Value| -> Vec<(String, Vec<Value>)> {
        let internal = Internal::of(spec);
        let own = internal.versions.iter().map(|v| (v.name().to_owned(), v.selectable.to_vec()));
        std::iter::once((String::new(), internal.selectable.to_vec())).chain(own).collect()
    };
    let now = versions(spec);
    Tolerance {
        schema_missing: before.shared_schema().is_none()
            && before.versions.iter().any(|version| version.open_api_schema().is_none()),
        non_structural: parsed.iter().any(|schema| match schema {
            Ok(schema) => !invariants::check(schema, &root).is_empty(),
            Err(_) => true,
        }),
        unpruned_defaults: parsed.iter().flatten().any(has_unpruned_defaults),
        non_atomic_sets: any(&mut |node| schema::set_item_error(node, &root).is_some()),
        invalid_map_keys: any(&mut |node| !schema::map_key_errors(node, &root).is_empty()),
        invalid_types: any(&mut |node| {
            let kind = text(node, "type");
            !kind.is_empty() && !TYPES.contains(&kind)
        }),
        unrecognized_review_versions: !review.is_empty()
            && !review.iter().any(|version| version == "v1" || version == "v1beta1"),
        too_many_selectable: versions(old)
            .into_iter()
            .filter(|(_, fields)| fields.len() > super::MAX_SELECTABLE_FIELDS)
            .filter(|old| now.contains(old))
            .map(|(name, _)| name)
            .collect(),
    }
}

fn has_unpruned_defaults(schema: &Schema) -> bool {
    let own = schema.default.as_ref().is_some_and(|default| {
        let mut pruned = default.clone();
        let root = if schema.embedded_resource { Root::Resource } else { Root::Value };
        pruning::prune(&mut pruned, Some(schema), root);
        pruned != *default
    });
    own || schema.items.as_deref().is_some_and(has_unpruned_defaults)
        || schema.properties.values().any(has_unpruned_defaults)
}

pub(super) fn is_known_type(kind: &str) -> bool {
    TYPES.contains(&kind)
}

pub(super) fn known_types() -> &'static [&'static str] {
    &TYPES
}
