//! The CustomResourceDefinition itself: defaults, validation, conditions.
//!
//! Upstream validates its internal type, in which the common parts of all versions (schema, subresources, columns,
//! selectable fields) are at the top. Paths in messages follow it, so the errors of a definition with one version name
//! `spec.validation.openAPIV3Schema`.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::defaulting::DefaultValue;
use crate::field::{ErrorType, FieldError, Path};

mod conditions;
mod conversion;
mod internal;
mod print;
mod ratchet;
mod schema;
mod served;
mod spec;

pub use conditions::{
    Condition, Names, api_approval_condition, condition, names_and_conditions,
    non_structural_condition, set_condition,
};
pub use ratchet::unrecognized_formats;

/// What the expression engine says about the CEL rules of a schema; it lives outside this crate.
pub trait Rules {
    /// What is wrong with the rules of a schema (as written, and otherwise in order): do they
    /// compile, may they use `oldSelf`, do they cost too much.
    fn check(&self, schema: &Value, path: &Path) -> Vec<FieldError>;
    /// What the rules of a schema say about a default value in it.
    fn check_default(&self, default: &DefaultValue<'_>) -> Vec<FieldError>;
}

/// No engine: rules are taken as they are.
#[derive(Debug, Clone, Copy)]
pub struct Unchecked;

impl Rules for Unchecked {
    fn check(&self, _: &Value, _: &Path) -> Vec<FieldError> {
        Vec::new()
    }

    fn check_default(&self, _: &DefaultValue<'_>) -> Vec<FieldError> {
        Vec::new()
    }
}

/// At most so many fields of a version can be selected by.
const MAX_SELECTABLE_FIELDS: usize = 8;

/// The annotation with the approval of `*.k8s.io` groups.
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

/// An error with a Go struct as its value, printed as Go prints it.
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
    errors.extend(spec::validate(spec, &Tolerance::default(), rules));
    errors.extend(validate_rest(definition, None));
    errors
}

/// What is wrong with a change of a definition.
pub fn validate_update(definition: &Value, old: &Value, rules: &dyn Rules) -> Vec<FieldError> {
    let null = Value::Null;
    let (spec, old_spec) =
        (definition.get("spec").unwrap_or(&null), old.get("spec").unwrap_or(&null));
    let tolerance = ratchet::tolerance(spec, old_spec);
    let mut errors = spec::validate(spec, &tolerance, rules);
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
    spec::validate_names(names, &Path::new("status").child("acceptedNames"))
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
