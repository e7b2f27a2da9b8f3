//! `spec` of a definition: group, names, versions.

use std::collections::BTreeSet;

use serde_json::Value;
use sluice_base::gojson;
use sluice_base::names;

use super::internal::{Internal, Version};
use super::{Rules, Tolerance, conversion, flag, invalid_printed, list, schema, served, text};
use crate::field::{FieldError, Path};

pub(super) fn validate(spec: &Value, tolerance: &Tolerance, rules: &dyn Rules) -> Vec<FieldError> {
    let path = Path::new("spec");
    let internal = Internal::of(spec);
    let mut errors = Vec::new();
    errors.extend(validate_group(text(spec, "group"), &path.child("group")));
    errors.extend(validate_choice(
        &path.child("scope"),
        text(spec, "scope"),
        &["Cluster", "Namespaced"],
    ));
    let preserve = flag(spec, "preserveUnknownFields");
    let mut tolerance = tolerance.clone();
    // Pruning, defaults and extensions only work with a structural schema.
    if !preserve || internal.has_defaults() || internal.has_extensions() {
        tolerance.non_structural = false;
    }
    for (index, version) in internal.versions.iter().enumerate() {
        if internal.shared_schema().is_some() || version.open_api_schema().is_some() {
            continue;
        }
        let at = path.child("versions").index(index).child("schema").child("openAPIV3Schema");
        if !tolerance.schema_missing {
            errors.push(FieldError::required(&at, ""));
        } else if !preserve && flag(version.value, "served") {
            errors.push(FieldError::required(&at, "because otherwise all fields are pruned"));
        }
    }
    if internal.has_defaults() && preserve {
        let why = "must be false in order to use defaults in the schema";
        errors.push(FieldError::invalid(&path.child("preserveUnknownFields"), true, why));
    }
    errors.extend(validate_versions(&internal, &tolerance, rules, &path));
    let names = spec.get("names").unwrap_or(&Value::Null);
    for field in ["plural", "singular", "kind", "listKind"] {
        if text(names, field).is_empty() {
            errors.push(FieldError::required(&path.child("names").child(field), ""));
        }
    }
    errors.extend(validate_names(names, &path.child("names")));
    errors.extend(schema::validate(
        internal.schema,
        internal.any_status(),
        &tolerance,
        rules,
        &path.child("validation"),
    ));
    errors
        .extend(served::validate_subresources(internal.subresources, &path.child("subresources")));
    errors.extend(served::validate_columns(
        internal.columns,
        &path.child("additionalPrinterColumns"),
    ));
    if !internal.selectable.is_empty() {
        let at = path.child("selectableFields");
        if internal.schema.is_none() {
            let why = "may only be set when validations.schema is included";
            errors.push(FieldError::invalid(&at, "", why));
        } else {
            let schema = internal.shared_schema();
            errors.extend(served::validate_selectable(
                internal.selectable,
                schema,
                "",
                &tolerance,
                &at,
            ));
        }
    }
    let conversion = spec.get("conversion").unwrap_or(&Value::Null);
    let strategy = text(conversion, "strategy");
    if !conversion.is_null() && strategy != "None" && preserve {
        let at = path.child("conversion").child("strategy");
        let why = "must be None if spec.preserveUnknownFields is true";
        errors.push(FieldError::invalid(&at, strategy, why));
    }
    let recognized = !tolerance.unrecognized_review_versions;
    errors.extend(conversion::validate(conversion, recognized, &path.child("conversion")));
    errors
}

fn validate_group(group: &str, path: &Path) -> Option<FieldError> {
    if group.is_empty() {
        return Some(FieldError::required(path, ""));
    }
    let wrong = names::dns1123_subdomain(group);
    if !wrong.is_empty() {
        return Some(FieldError::invalid(path, group, wrong.join(",")));
    }
    let why = "should be a domain with at least one dot";
    (!group.contains('.')).then(|| FieldError::invalid(path, group, why))
}

pub(super) fn validate_choice(path: &Path, value: &str, accepted: &[&str]) -> Option<FieldError> {
    if value.is_empty() {
        return Some(FieldError::required(path, ""));
    }
    (!accepted.contains(&value)).then(|| FieldError::not_supported(path, value, accepted))
}

fn validate_versions(
    internal: &Internal<'_>,
    tolerance: &Tolerance,
    rules: &dyn Rules,
    path: &Path,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let at = path.child("versions");
    for (index, version) in internal.versions.iter().enumerate() {
        let at = at.index(index);
        let wrong = names::dns1035_label(version.name());
        if !wrong.is_empty() {
            errors.push(FieldError::invalid(&at.child("name"), version.name(), wrong.join(",")));
        }
        errors.extend(validate_deprecation(version.value, &at.child("deprecationWarning")));
        errors.extend(schema::validate(
            version.schema,
            internal.has_status(version),
            tolerance,
            rules,
            &at.child("schema"),
        ));
        errors
            .extend(served::validate_subresources(version.subresources, &at.child("subresources")));
        errors.extend(served::validate_columns(
            version.columns,
            &at.child("additionalPrinterColumns"),
        ));
        if !version.selectable.is_empty() {
            let at = at.child("selectableFields");
            match version.open_api_schema() {
                None => {
                    let why =
                        "may only be set when `version.schema.openAPIV3Schema` is not included";
                    errors.push(FieldError::invalid(&at, "", why));
                }
                schema => errors.extend(served::validate_selectable(
                    version.selectable,
                    schema,
                    version.name(),
                    tolerance,
                    &at,
                )),
            }
        }
    }
    let all: BTreeSet<&str> = internal.versions.iter().map(Version::name).collect();
    if all.len() != internal.versions.len() {
        let why = "must contain unique version names";
        errors.push(invalid_printed(&at, &internal.print_versions(), why));
    }
    if internal.versions.iter().filter(|version| flag(version.value, "storage")).count() != 1 {
        let why = "must have exactly one version marked as storage version";
        errors.push(invalid_printed(&at, &internal.print_versions(), why));
    }
    // The first version's name also stands at the top of the internal type.
    if let Some(first) = internal.versions.first()
        && !first.name().is_empty()
    {
        let wrong = names::dns1035_label(first.name());
        if !wrong.is_empty() {
            errors.push(FieldError::invalid(&path.child("version"), first.name(), wrong.join(",")));
        }
    }
    errors
}

fn validate_deprecation(version: &Value, path: &Path) -> Vec<FieldError> {
    let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) else {
        return Vec::new();
    };
    let mut wrong = Vec::new();
    if flag(version, "deprecated") {
        if warning.len() > 256 {
            wrong.push("must be <= 256 characters long".to_owned());
        }
        if warning.is_empty() {
            wrong.push("must not be an empty string".to_owned());
        }
        if let Some((index, _)) =
            warning.char_indices().find(|(_, character)| !is_printable(*character))
        {
            wrong.push(format!(
                "must only contain printable UTF-8 characters; non-printable character found at index {index}"
            ));
        }
    } else {
        wrong.push("can only be set for deprecated versions".to_owned());
    }
    // Upstream passes a pointer, which is printed as JSON.
    let printed = gojson::to_string(&warning.into());
    wrong.into_iter().map(|why| invalid_printed(path, &printed, &why)).collect()
}

/// Go's `unicode.IsPrint`, near enough: of white space only the plain space counts.
fn is_printable(character: char) -> bool {
    character == ' ' || !(character.is_control() || character.is_whitespace())
}

pub(super) fn validate_names(names: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in ["plural", "singular"] {
        let name = text(names, field);
        let wrong = names::dns1035_label(name);
        if !name.is_empty() && !wrong.is_empty() {
            errors.push(FieldError::invalid(&path.child(field), name, wrong.join(",")));
        }
    }
    for field in ["kind", "listKind"] {
        let name = text(names, field);
        let wrong = names::dns1035_label(&name.to_lowercase());
        if !name.is_empty() && !wrong.is_empty() {
            let why =
                format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
            errors.push(FieldError::invalid(&path.child(field), name, why));
        }
    }
    let mut labels = |field: &str| {
        for (index, name) in list(names, field).iter().enumerate() {
            let name = name.as_str().unwrap_or_default();
            let wrong = names::dns1035_label(name);
            if !wrong.is_empty() {
                let at = path.child(field).index(index);
                errors.push(FieldError::invalid(&at, name, wrong.join(",")));
            }
        }
    };
    labels("shortNames");
    let (kind, list_kind) = (text(names, "kind"), text(names, "listKind"));
    let same = !kind.is_empty() && kind == list_kind;
    if same {
        let why = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(&path.child("listKind"), list_kind, why));
    }
    let mut categories = Vec::new();
    for (index, name) in list(names, "categories").iter().enumerate() {
        let name = name.as_str().unwrap_or_default();
        let wrong = names::dns1035_label(name);
        if !wrong.is_empty() {
            let at = path.child("categories").index(index);
            categories.push(FieldError::invalid(&at, name, wrong.join(",")));
        }
    }
    errors.extend(categories);
    errors
}
