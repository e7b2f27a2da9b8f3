//! Whether a schema is structural, with upstream's messages.
//!
//! What fails here is refused when a definition is created, and becomes the `NonStructuralSchema`
//! condition of definitions stored before that rule.

use super::{Additional, Schema};
use crate::field::{FieldError, Path};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// What keeps `schema` from being structural, sorted by message.
pub fn check(schema: &Schema, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check_node(schema, Level::Root, path, &mut errors);
    check_completeness(schema, Some(schema), path, path, &mut errors);
    errors.sort_by_cached_key(ToString::to_string);
    errors
}

/// The two branches `anyOf` has in the long form of int-or-string.
fn is_int_or_string_any_of(branches: &[Schema]) -> bool {
    let of = |kind: &str| Schema { kind: kind.to_owned(), ..Schema::default() };
    matches!(branches, [first, second] if *first == of("integer") && *second == of("string"))
}

fn check_node(schema: &Schema, level: Level, path: &Path, errors: &mut Vec<FieldError>) {
    if schema.kind == "array" && schema.items.is_none() {
        errors.push(FieldError::required(&path.child("items"), "must be specified"));
    }
    if let Some(items) = &schema.items {
        check_node(items, Level::Item, &path.child("items"), errors);
    }
    for (name, property) in &schema.properties {
        check_node(property, Level::Field, &path.child("properties").key(name), errors);
    }
    if let Some(additional) = &schema.additional_properties {
        let at = path.child("additionalProperties");
        if level == Level::Root {
            errors.push(FieldError::forbidden(&at, "must not be used at the root"));
        }
        if let Some(additional) = additional.schema() {
            check_node(additional, Level::Field, &at, errors);
        }
    }
    if schema.int_or_string {
        let why = "must be false if x-kubernetes-int-or-string is true";
        for (set, name) in [
            (schema.preserve_unknown_fields, "x-kubernetes-preserve-unknown-fields"),
            (schema.embedded_resource, "x-kubernetes-embedded-resource"),
        ] {
            if set {
                errors.push(FieldError::invalid(&path.child(name), true, why));
            }
        }
    }
    let skip_any_of = is_int_or_string_any_of(&schema.any_of);
    let skip_first_all_of =
        schema.all_of.first().is_some_and(|first| is_int_or_string_any_of(&first.any_of));
    check_value_validation(schema, skip_any_of, skip_first_all_of, path, errors);
    check_type(schema, level, path, errors);
    check_meta_fields(schema, level, path, errors);
    if schema.embedded_resource && !schema.preserve_unknown_fields && schema.properties.is_empty() {
        let why = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(&path.child("properties"), why));
    }
}

fn check_type(schema: &Schema, level: Level, path: &Path, errors: &mut Vec<FieldError>) {
    let at = path.child("type");
    if schema.embedded_resource && schema.kind != "object" {
        let why = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(if schema.kind.is_empty() {
            FieldError::required(&at, why)
        } else {
            FieldError::invalid(&at, schema.kind.as_str(), why)
        });
    } else if schema.kind.is_empty() && !schema.int_or_string && !schema.preserve_unknown_fields {
        let why = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(FieldError::required(&at, why));
    }
    if schema.embedded_resource && schema.additional_properties.is_some() {
        let why = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(&path.child("additionalProperties"), why));
    }
    if level == Level::Root && !schema.kind.is_empty() && schema.kind != "object" {
        errors.push(FieldError::invalid(&at, schema.kind.as_str(), "must be object at the root"));
    }
}

/// `apiVersion`, `kind` and `metadata` have fixed types; at the root only the name may be limited.
fn check_meta_fields(schema: &Schema, level: Level, path: &Path, errors: &mut Vec<FieldError>) {
    let is_resource = level == Level::Root || schema.embedded_resource;
    for name in ["kind", "apiVersion"] {
        if let Some(property) = schema.properties.get(name)
            && is_resource
            && property.kind != "string"
        {
            let at = path.child("properties").key(name).child("type");
            errors.push(FieldError::invalid(&at, property.kind.as_str(), "must be string"));
        }
    }
    let Some(metadata) = schema.properties.get("metadata") else { return };
    let at = path.child("properties").key("metadata");
    if is_resource && metadata.kind != "object" {
        let why = "must be object";
        errors.push(FieldError::invalid(&at.child("type"), metadata.kind.as_str(), why));
    }
    if level == Level::Root {
        let mut rest = metadata.clone();
        if rest.properties.keys().all(|name| name == "name" || name == "generateName") {
            rest.properties.clear();
        }
        rest.kind.clear();
        rest.default = None;
        if rest != Schema::default() {
            let why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
            errors.push(FieldError::forbidden(&at, why));
        }
    }
}

fn check_value_validation(
    schema: &Schema,
    skip_any_of: bool,
    skip_first_all_of: bool,
    path: &Path,
    errors: &mut Vec<FieldError>,
) {
    if !skip_any_of {
        for (index, branch) in schema.any_of.iter().enumerate() {
            check_nested(branch, false, &path.child("anyOf").index(index), errors);
        }
    }
    for (index, branch) in schema.all_of.iter().enumerate() {
        let skip = skip_first_all_of && index == 0;
        check_nested(branch, skip, &path.child("allOf").index(index), errors);
    }
    for (index, branch) in schema.one_of.iter().enumerate() {
        check_nested(branch, false, &path.child("oneOf").index(index), errors);
    }
    if let Some(branch) = &schema.not {
        check_nested(branch, false, &path.child("not"), errors);
    }
    if let Some(pattern) = &schema.pattern
        && let Err(why) = pattern.regex()
    {
        let why = format!("must be a valid regular expression, but isn't: {why}");
        errors.push(FieldError::invalid(&path.child("pattern"), pattern.as_str(), why));
    }
}

/// Below `allOf`, `anyOf`, `oneOf` and `not` only values are restricted; structure is forbidden.
fn check_nested(branch: &Schema, skip_any_of: bool, path: &Path, errors: &mut Vec<FieldError>) {
    check_value_validation(branch, skip_any_of, false, path, errors);
    if let Some(items) = &branch.items {
        check_nested(items, false, &path.child("items"), errors);
    }
    for (name, property) in &branch.properties {
        check_nested(property, false, &path.child("properties").key(name), errors);
    }
    let empty = "must be empty to be structural";
    let undefined = "must be undefined to be structural";
    let off = "must be false to be structural";
    let additional =
        !matches!(branch.additional_properties, None | Some(Additional::Allowed(false)));
    for (set, name, why) in [
        (!branch.kind.is_empty(), "type", empty),
        (additional, "additionalProperties", undefined),
        (branch.default.is_some(), "default", undefined),
        (!branch.title.is_empty(), "title", empty),
        (!branch.description.is_empty(), "description", empty),
        (branch.nullable, "nullable", off),
        (branch.preserve_unknown_fields, "x-kubernetes-preserve-unknown-fields", off),
        (branch.embedded_resource, "x-kubernetes-embedded-resource", off),
        (branch.int_or_string, "x-kubernetes-int-or-string", off),
        (!branch.list_map_keys.is_empty(), "x-kubernetes-list-map-keys", empty),
        (branch.list_type.is_some(), "x-kubernetes-list-type", undefined),
        (branch.map_type.is_some(), "x-kubernetes-map-type", undefined),
        (!branch.rules.is_empty(), "x-kubernetes-validations", empty),
    ] {
        if set {
            errors.push(FieldError::forbidden(&path.child(name), why));
        }
    }
    if branch.properties.contains_key("metadata") {
        let at = path.child("properties").key("metadata");
        errors.push(FieldError::forbidden(&at, "must not be specified in a nested context"));
    }
}

/// Every field a value validation talks about must exist in the structural part.
fn check_completeness(
    branch: &Schema,
    structure: Option<&Schema>,
    structure_path: &Path,
    path: &Path,
    errors: &mut Vec<FieldError>,
) {
    let Some(structure) = structure else {
        let why = format!("because it is defined in {path}");
        errors.push(FieldError::required(structure_path, why));
        return;
    };
    let mut nested = |branch: &Schema, at: &Path| {
        check_nested_completeness(branch, Some(structure), structure_path, at, errors);
    };
    if let Some(branch) = &branch.not {
        nested(branch, &path.child("not"));
    }
    for (name, branches) in
        [("allOf", &branch.all_of), ("anyOf", &branch.any_of), ("oneOf", &branch.one_of)]
    {
        for (index, branch) in branches.iter().enumerate() {
            nested(branch, &path.child(name).index(index));
        }
    }
}

fn check_nested_completeness(
    branch: &Schema,
    structure: Option<&Schema>,
    structure_path: &Path,
    path: &Path,
    errors: &mut Vec<FieldError>,
) {
    check_completeness(branch, structure, structure_path, path, errors);
    let Some(structure) = structure else { return };
    if let Some(items) = &branch.items {
        check_nested_completeness(
            items,
            structure.items.as_deref(),
            &structure_path.child("items"),
            &path.child("items"),
            errors,
        );
    }
    for (name, property) in &branch.properties {
        let at = path.child("properties").key(name);
        let structure_at = structure_path.child("properties").key(name);
        match structure.properties.get(name) {
            None => {
                let why = format!("because it is defined in {at}");
                errors.push(FieldError::required(&structure_at, why));
            }
            Some(known) => {
                check_nested_completeness(property, Some(known), &structure_at, &at, errors);
            }
        }
    }
}
