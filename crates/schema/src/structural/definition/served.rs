//! Validation of how a version is served: subresources, printer columns, selectable fields.

use std::collections::BTreeSet;

use serde_json::Value;
use sluice_base::gojson;

use super::{MAX_SELECTABLE_FIELDS, Tolerance, invalid_printed, text};
use crate::field::{FieldError, Path};
use crate::structural::{Schema, field_path};

fn validate_simple_path(path_text: &str, path: &Path) -> Option<FieldError> {
    let why = "must be a simple json path starting with .";
    (!path_text.starts_with('.')).then(|| FieldError::invalid(path, path_text, why))
}

pub(super) fn validate_columns(columns: &[Value], path: &Path) -> Vec<FieldError> {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    const FORMATS: [&str; 8] =
        ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
    let mut errors = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        let at = path.index(index);
        if text(column, "name").is_empty() {
            errors.push(FieldError::required(&at.child("name"), ""));
        }
        let one_of = |list: &[&str]| format!("must be one of {}", list.join(","));
        let kind = text(column, "type");
        if kind.is_empty() {
            errors.push(FieldError::required(&at.child("type"), one_of(&TYPES)));
        } else if !TYPES.contains(&kind) {
            errors.push(FieldError::invalid(&at.child("type"), kind, one_of(&TYPES)));
        }
        let format = text(column, "format");
        if !format.is_empty() && !FORMATS.contains(&format) {
            errors.push(FieldError::invalid(&at.child("format"), format, one_of(&FORMATS)));
        }
        let json_path = text(column, "jsonPath");
        if json_path.is_empty() {
            errors.push(FieldError::required(&at.child("JSONPath"), ""));
        } else {
            errors.extend(validate_simple_path(json_path, &at.child("JSONPath")));
        }
    }
    errors
}

pub(super) fn validate_subresources(subresources: Option<&Value>, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let Some(scale) =
        subresources.and_then(|found| found.get("scale")).filter(|found| !found.is_null())
    else {
        return errors;
    };
    for (field, root, under) in [
        ("specReplicasPath", ".spec.", "should be a json path under .spec"),
        ("statusReplicasPath", ".status.", "should be a json path under .status"),
    ] {
        let at = path.child(&format!("scale.{field}"));
        let given = text(scale, field);
        if given.is_empty() {
            errors.push(FieldError::required(&at, ""));
        } else if let Some(error) = validate_simple_path(given, &at) {
            errors.push(error);
        } else if !given.starts_with(root) {
            errors.push(FieldError::invalid(&at, given, under));
        }
    }
    let selector = text(scale, "labelSelectorPath");
    if !selector.is_empty() {
        let at = path.child("scale.labelSelectorPath");
        if let Some(error) = validate_simple_path(selector, &at) {
            errors.push(error);
        } else if !selector.starts_with(".spec.") && !selector.starts_with(".status.") {
            let why = "should be a json path under either .spec or .status";
            errors.push(invalid_printed(&at, &gojson::to_string(&selector.into()), why));
        }
    }
    errors
}

pub(super) fn validate_selectable(
    fields: &[Value],
    schema: Option<&Value>,
    version: &str,
    tolerance: &Tolerance,
    path: &Path,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let schema = match schema.map_or_else(|| Ok(Schema::default()), Schema::parse) {
        Ok(schema) => schema,
        Err(why) => {
            let at = Path::new("spec").child("schema.openAPIV3Schema");
            return vec![FieldError::invalid(&at, "", why.to_string())];
        }
    };
    let mut seen = BTreeSet::new();
    for (index, field) in fields.iter().enumerate() {
        let at = path.index(index).child("jsonPath");
        let json_path = text(field, "jsonPath");
        if json_path.is_empty() {
            errors.push(FieldError::required(&at, ""));
            continue;
        }
        let found = match field_path::resolve(json_path, &schema, false) {
            Ok(found) => found,
            Err(why) => {
                let why = format!("is an invalid path: {why}");
                errors.push(FieldError::invalid(&at, json_path, why));
                continue;
            }
        };
        if found.root == "metadata" {
            let why = "must not point to fields in metadata";
            errors.push(FieldError::invalid(&at, json_path, why));
        }
        if !matches!(found.schema.kind.as_str(), "string" | "boolean" | "integer") {
            let why = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
            errors.push(FieldError::invalid(&at, json_path, why));
        }
        if !seen.insert(found.path.to_string()) {
            errors.push(FieldError::duplicate(&at, json_path));
        }
    }
    if seen.len() > MAX_SELECTABLE_FIELDS && !tolerance.too_many_selectable.contains(version) {
        errors.push(FieldError::too_many(path, seen.len(), MAX_SELECTABLE_FIELDS));
    }
    errors
}
