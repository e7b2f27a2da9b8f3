//! The CustomResourceDefinition itself: defaults, validation, conditions.
//!
//! Upstream validates its internal type, in which what all versions share (schema, subresources,
//! columns, selectable fields) stands once at the top. Paths in messages follow it, so a definition
//! of one version is told about `spec.validation.openAPIV3Schema`.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use sluice_base::gojson;

use super::{Schema, field_path};
use crate::field::{ErrorType, FieldError, Path};
use crate::names;

mod conditions;
mod conversion;
mod internal;
mod ratchet;
mod schema;

pub use conditions::{
    Condition, Names, api_approval_condition, condition, names_and_conditions,
    non_structural_condition, set_condition,
};
use internal::Internal;
pub use ratchet::unrecognized_formats;

/// What the expression engine says about the CEL rules of a schema; it lives outside this crate.
pub trait Rules {
    /// What is wrong with the rules of a schema (as written, and otherwise in order): do they
    /// compile, may they use `oldSelf`, do they cost too much.
    fn check(&self, schema: &Value, path: &Path) -> Vec<FieldError>;
    /// What the rules of `schema` and below say about a default value.
    fn check_default(&self, schema: &Schema, value: &Value, path: &Path) -> Vec<FieldError>;
}

/// No engine: rules are taken as they are.
#[derive(Debug, Clone, Copy)]
pub struct Unchecked;

impl Rules for Unchecked {
    fn check(&self, _: &Value, _: &Path) -> Vec<FieldError> {
        Vec::new()
    }

    fn check_default(&self, _: &Schema, _: &Value, _: &Path) -> Vec<FieldError> {
        Vec::new()
    }
}

/// At most so many fields of a version can be selected by.
const MAX_SELECTABLE_FIELDS: usize = 8;

/// The annotation with which `*.k8s.io` groups say who approved them.
pub const APPROVED_ANNOTATION: &str = "api-approved.kubernetes.io";

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or_default()
}

/// An error whose value is a Go struct, printed as Go prints it.
fn invalid_printed(path: &Path, printed: &str, detail: &str) -> FieldError {
    FieldError {
        kind: ErrorType::Invalid,
        field: path.to_string(),
        value: None,
        detail: format!("{printed}: {detail}"),
    }
}

/// Fills in what the author of a definition may leave out.
pub fn default(definition: &mut Value) {
    let Some(spec) = definition.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let names = spec.entry("names").or_insert_with(|| json!({}));
    if let Some(names) = names.as_object_mut() {
        let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        fill(names, "singular", kind.to_lowercase());
        fill(names, "listKind", if kind.is_empty() { kind } else { format!("{kind}List") });
    }
    let conversion = spec.entry("conversion").or_insert(Value::Null);
    if conversion.is_null() {
        *conversion = json!({"strategy": "None"});
    }
    if let Some(service) =
        conversion.pointer_mut("/webhook/clientConfig/service").and_then(Value::as_object_mut)
    {
        service.entry("port").or_insert_with(|| 443.into());
    }
    let storage = storage_version(definition).map(str::to_owned);
    let status = definition.as_object_mut().map(|fields| fields.entry("status"));
    if let (Some(storage), Some(status)) = (storage, status) {
        let status = status.or_insert_with(|| json!({}));
        if list(status, "storedVersions").is_empty()
            && let Some(status) = status.as_object_mut()
        {
            status.insert("storedVersions".to_owned(), json!([storage]));
        }
    }
}

fn fill(fields: &mut Map<String, Value>, key: &str, value: String) {
    if fields.get(key).and_then(Value::as_str).unwrap_or_default().is_empty() && !value.is_empty() {
        fields.insert(key.to_owned(), value.into());
    }
}

/// The name of the version in which objects are stored.
pub fn storage_version(definition: &Value) -> Option<&str> {
    let versions = list(definition.get("spec")?, "versions");
    versions.iter().find(|version| flag(version, "storage")).map(|version| text(version, "name"))
}

/// Resets the status of a definition that is about to be created, and notes its storage version.
pub fn prepare_create(definition: &mut Value) {
    let stored = storage_version(definition).map(|storage| vec![storage]);
    let status = json!({"storedVersions": stored});
    if let Some(fields) = definition.as_object_mut() {
        fields.insert("status".to_owned(), status);
    }
}

/// Adds the storage version to those that objects may be stored in.
pub fn note_storage_version(definition: &mut Value) {
    let Some(storage) = storage_version(definition).map(str::to_owned) else { return };
    if let Some(stored) = status_list(definition, "storedVersions")
        && !stored.iter().any(|version| *version == *storage)
    {
        stored.push(storage.into());
    }
}

/// A list of the status, made where it is absent or null.
fn status_list<'a>(definition: &'a mut Value, field: &str) -> Option<&'a mut Vec<Value>> {
    let status = definition.as_object_mut()?.entry("status").or_insert(Value::Null);
    if status.is_null() {
        *status = json!({});
    }
    let list = status.as_object_mut()?.entry(field).or_insert(Value::Null);
    if list.is_null() {
        *list = json!([]);
    }
    list.as_array_mut()
}

/// What may be wrong for the sake of what already was.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tolerance {
    schema_missing: bool,
    non_structural: bool,
    unpruned_defaults: bool,
    non_atomic_sets: bool,
    invalid_map_keys: bool,
    invalid_types: bool,
    unrecognized_review_versions: bool,
    too_many_selectable: BTreeSet<String>,
}

/// What is wrong with a new definition. `metadata` is checked elsewhere but for the rule that the
/// name is made of plural and group.
pub fn validate(definition: &Value, rules: &dyn Rules) -> Vec<FieldError> {
    let spec = definition.get("spec").unwrap_or(&Value::Null);
    let mut errors = Vec::new();
    let name = text(definition.get("metadata").unwrap_or(&Value::Null), "name");
    let plural = text(spec.get("names").unwrap_or(&Value::Null), "plural");
    if name != format!("{plural}.{}", text(spec, "group")) {
        let at = Path::new("metadata").child("name");
        let why = r#"must be spec.names.plural+"."+spec.group"#;
        errors.push(FieldError::invalid(&at, name, why));
    }
    errors.extend(validate_spec(spec, &Tolerance::default(), rules));
    errors.extend(validate_rest(definition, None));
    errors
}

/// What is wrong with a change of a definition.
pub fn validate_update(definition: &Value, old: &Value, rules: &dyn Rules) -> Vec<FieldError> {
    let null = Value::Null;
    let (spec, old_spec) =
        (definition.get("spec").unwrap_or(&null), old.get("spec").unwrap_or(&null));
    let tolerance = ratchet::tolerance(spec, old_spec);
    let mut errors = validate_spec(spec, &tolerance, rules);
    let at = Path::new("spec");
    let mut immutable = |field: &str, new: &str, old: &str| {
        if new != old {
            let path = field.split('.').fold(at.clone(), |path, step| path.child(step));
            errors.push(FieldError::invalid(&path, new, "field is immutable"));
        }
    };
    let (names, old_names) =
        (spec.get("names").unwrap_or(&null), old_spec.get("names").unwrap_or(&null));
    if condition(old, "Established").is_some_and(|found| text(found, "status") == "True") {
        immutable("scope", text(spec, "scope"), text(old_spec, "scope"));
        immutable("names.kind", text(names, "kind"), text(old_names, "kind"));
    }
    immutable("group", text(spec, "group"), text(old_spec, "group"));
    immutable("names.plural", text(names, "plural"), text(old_names, "plural"));
    errors.extend(validate_rest(definition, Some(old)));
    errors
}

/// What is wrong with a change of a definition's status.
pub fn validate_status_update(definition: &Value) -> Vec<FieldError> {
    let names = definition.pointer("/status/acceptedNames").unwrap_or(&Value::Null);
    validate_names(names, &Path::new("status").child("acceptedNames"))
}

fn validate_rest(definition: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = validate_status_update(definition);
    let null = Value::Null;
    let spec = definition.get("spec").unwrap_or(&null);
    let status = definition.get("status").unwrap_or(&null);
    errors.extend(validate_stored_versions(
        status.get("storedVersions").unwrap_or(&null),
        list(spec, "versions"),
        &Path::new("status").child("storedVersions"),
    ));
    errors.extend(conditions::validate_api_approval(definition, old));
    let preserved =
        old.and_then(|old| old.get("spec")).is_some_and(|old| flag(old, "preserveUnknownFields"));
    if !preserved && flag(spec, "preserveUnknownFields") {
        let at = Path::new("spec").child("preserveUnknownFields");
        let why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.push(FieldError::invalid(&at, true, why));
    }
    errors
}

fn validate_stored_versions(shown: &Value, versions: &[Value], path: &Path) -> Vec<FieldError> {
    let stored = shown.as_array().map_or(&[][..], Vec::as_slice);
    if stored.is_empty() {
        let why = "must have at least one stored version";
        return vec![FieldError::invalid(path, shown.clone(), why)];
    }
    let mut errors = Vec::new();
    let names: Vec<&str> = versions.iter().map(|version| text(version, "name")).collect();
    for version in versions.iter().filter(|version| flag(version, "storage")) {
        let name = text(version, "name");
        if !stored.iter().any(|stored| stored == name) {
            let why = format!("must have the storage version {name}");
            errors.push(FieldError::invalid(path, shown.clone(), why));
        }
    }
    for (index, version) in stored.iter().enumerate() {
        let version = version.as_str().unwrap_or_default();
        if !names.contains(&version) {
            let why = format!(
                "missing from spec.versions; {version} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {version} and removes {version} from status.storedVersions"
            );
            errors.push(FieldError::invalid(&path.index(index), version, why));
        }
    }
    errors
}

fn validate_spec(spec: &Value, tolerance: &Tolerance, rules: &dyn Rules) -> Vec<FieldError> {
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
    errors.extend(validate_subresources(internal.subresources, &path.child("subresources")));
    errors.extend(validate_columns(internal.columns, &path.child("additionalPrinterColumns")));
    if !internal.selectable.is_empty() {
        let at = path.child("selectableFields");
        if internal.schema.is_none() {
            let why = "may only be set when validations.schema is included";
            errors.push(FieldError::invalid(&at, "", why));
        } else {
            let schema = internal.shared_schema();
            errors.extend(validate_selectable(internal.selectable, schema, "", &tolerance, &at));
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

fn validate_choice(path: &Path, value: &str, accepted: &[&str]) -> Option<FieldError> {
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
        errors.extend(validate_subresources(version.subresources, &at.child("subresources")));
        errors.extend(validate_columns(version.columns, &at.child("additionalPrinterColumns")));
        if !version.selectable.is_empty() {
            let at = at.child("selectableFields");
            match version.open_api_schema() {
                None => {
                    let why =
                        "may only be set when `version.schema.openAPIV3Schema` is not included";
                    errors.push(FieldError::invalid(&at, "", why));
                }
                schema => errors.extend(validate_selectable(
                    version.selectable,
                    schema,
                    version.name(),
                    tolerance,
                    &at,
                )),
            }
        }
    }
    let all: BTreeSet<&str> = internal.versions.iter().map(internal::Version::name).collect();
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

fn validate_names(names: &Value, path: &Path) -> Vec<FieldError> {
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

fn validate_simple_path(path_text: &str, path: &Path) -> Option<FieldError> {
    let why = "must be a simple json path starting with .";
    (!path_text.starts_with('.')).then(|| FieldError::invalid(path, path_text, why))
}

fn validate_columns(columns: &[Value], path: &Path) -> Vec<FieldError> {
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

fn validate_subresources(subresources: Option<&Value>, path: &Path) -> Vec<FieldError> {
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

fn validate_selectable(
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
