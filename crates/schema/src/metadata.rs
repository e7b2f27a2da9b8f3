//! Validates an object's `metadata` (`ValidateObjectMeta`), for whole objects and for embedded ones.

use serde_json::Value;

use sluice_base::names;

use crate::field::{FieldError, Path};

/// How names are checked: the name and whether it is only the prefix of one.
pub type NameRule<'a> = &'a dyn Fn(&str, bool) -> Vec<String>;

/// All annotations together may have this many bytes.
pub const ANNOTATIONS_LIMIT: usize = 256 * 1024;

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn texts<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    value
        .get(key)
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
}

/// What is wrong with `metadata`, which already has the right types.
pub fn validate(
    metadata: &Value,
    namespaced: bool,
    name_rule: NameRule<'_>,
    path: &Path,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let generate_name = text(metadata, "generateName");
    if !generate_name.is_empty() {
        let at = path.child("generateName");
        errors.extend(
            name_rule(generate_name, true)
                .into_iter()
                .map(|why| FieldError::invalid(&at, generate_name, why)),
        );
    }
    let name = text(metadata, "name");
    if name.is_empty() {
        errors.push(FieldError::required(&path.child("name"), "name or generateName is required"));
    } else {
        let at = path.child("name");
        errors.extend(
            name_rule(name, false).into_iter().map(|why| FieldError::invalid(&at, name, why)),
        );
    }
    errors.extend(validate_namespace(text(metadata, "namespace"), namespaced, path));
    let generation = metadata.get("generation").and_then(Value::as_i64).unwrap_or_default();
    if generation < 0 {
        let at = path.child("generation");
        errors.push(FieldError::invalid(&at, generation, "must be greater than or equal to 0"));
    }
    errors.extend(validate_labels(metadata, &path.child("labels")));
    errors.extend(validate_annotations(metadata, &path.child("annotations")));
    errors.extend(validate_owners(metadata, &path.child("ownerReferences")));
    errors.extend(validate_finalizers(metadata, &path.child("finalizers")));
    errors.extend(validate_managed_fields(metadata, &path.child("managedFields")));
    errors
}

fn validate_namespace(namespace: &str, namespaced: bool, path: &Path) -> Vec<FieldError> {
    let at = path.child("namespace");
    match (namespaced, namespace.is_empty()) {
        (true, true) => vec![FieldError::required(&at, "")],
        (true, false) => names::dns1123_label(namespace)
            .into_iter()
            .map(|why| FieldError::invalid(&at, namespace, why))
            .collect(),
        (false, true) => Vec::new(),
        (false, false) => vec![FieldError::forbidden(&at, "not allowed on this type")],
    }
}

/// What is wrong with the `labels` of `metadata`.
pub fn validate_labels(metadata: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in texts(metadata, "labels") {
        errors.extend(
            names::label_key(key).into_iter().map(|why| FieldError::invalid(path, key, why)),
        );
        errors.extend(
            names::label_value(value).into_iter().map(|why| FieldError::invalid(path, value, why)),
        );
    }
    errors
}

/// What is wrong with the `annotations` of `metadata`.
pub fn validate_annotations(metadata: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut size = 0;
    for (key, value) in texts(metadata, "annotations") {
        size += key.len() + value.len();
        errors.extend(
            names::label_key(&key.to_lowercase())
                .into_iter()
                .map(|why| FieldError::invalid(path, key, why)),
        );
    }
    if size > ANNOTATIONS_LIMIT {
        errors.push(FieldError::too_long(path, ANNOTATIONS_LIMIT));
    }
    errors
}

fn validate_owners(metadata: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut controller: Option<String> = None;
    let owners = list(metadata, "ownerReferences");
    for owner in owners {
        let (api_version, kind) = (text(owner, "apiVersion"), text(owner, "kind"));
        // A version with more than one slash does not parse, which upstream takes as no version.
        let (group, version) = match api_version.split('/').collect::<Vec<_>>().as_slice() {
            [version] => ("", *version),
            [group, version] => (*group, *version),
            _ => ("", ""),
        };
        if version.is_empty() {
            let at = path.child("apiVersion");
            errors.push(FieldError::invalid(&at, api_version, "version must not be empty"));
        }
        for (field, value) in
            [("kind", kind), ("name", text(owner, "name")), ("uid", text(owner, "uid"))]
        {
            if value.is_empty() {
                errors.push(FieldError::invalid(&path.child(field), value, "must not be empty"));
            }
        }
        if (group, version, kind) == ("", "v1", "Event") {
            let why = "/v1, Kind=Event is disallowed from being an owner";
            errors.push(FieldError::invalid(path, owner.clone(), why));
        }
        if owner.get("controller").and_then(Value::as_bool) == Some(true) {
            let current = format!("{kind}/{}", text(owner, "name"));
            match &controller {
                None => controller = Some(current),
                Some(first) => errors.push(FieldError::invalid(
                    path,
                    owners.to_vec(),
                    format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {current}"
                    ),
                )),
            }
        }
    }
    errors
}

fn validate_finalizers(metadata: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let finalizers = list(metadata, "finalizers");
    for finalizer in finalizers.iter().filter_map(Value::as_str) {
        errors.extend(
            names::label_key(finalizer)
                .into_iter()
                .map(|why| FieldError::invalid(path, finalizer, why)),
        );
    }
    let has = |name: &str| finalizers.iter().any(|finalizer| finalizer == name);
    if has("orphan") && has("foregroundDeletion") {
        let why = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(FieldError::invalid(path, finalizers.to_vec(), why));
    }
    errors
}

fn validate_managed_fields(metadata: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, entry) in list(metadata, "managedFields").iter().enumerate() {
        let at = path.index(index);
        let operation = text(entry, "operation");
        if !matches!(operation, "Apply" | "Update") {
            let why = "must be `Apply` or `Update`";
            errors.push(FieldError::invalid(&at.child("operation"), operation, why));
        }
        let fields_type = text(entry, "fieldsType");
        if !matches!(fields_type, "" | "FieldsV1") {
            let why = "must be `FieldsV1`";
            errors.push(FieldError::invalid(&at.child("fieldsType"), fields_type, why));
        }
        errors.extend(validate_field_manager(text(entry, "manager"), &at.child("manager")));
        if text(entry, "subresource").len() > 256 {
            errors.push(FieldError::too_long(&at.child("subresource"), 256));
        }
    }
    errors
}

/// What is wrong with the name of a field manager.
pub fn validate_field_manager(manager: &str, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if manager.len() > 128 {
        errors.push(FieldError::too_long(path, 128));
    }
    for (index, character) in manager.char_indices() {
        if character.is_control() {
            let code = u32::from(character);
            let why = format!("invalid character U+{code:04X} (at position {index})");
            errors.push(FieldError::invalid(path, manager, why));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_field_has_its_rule() {
        let rule = |name: &str, prefix: bool| names::path_segment(name, prefix);
        let cases = [
            (json!({"name": "a"}), vec![]),
            (json!({}), vec!["metadata.name: Required value: name or generateName is required"]),
            (
                json!({"name": "a/b"}),
                vec![r#"metadata.name: Invalid value: "a/b": may not contain '/'"#],
            ),
            (
                json!({"name": "a", "namespace": "x"}),
                vec!["metadata.namespace: Forbidden: not allowed on this type"],
            ),
            (
                json!({"name": "a", "finalizers": ["orphan", "foregroundDeletion"]}),
                vec![
                    r#"metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set"#,
                ],
            ),
            (
                json!({"name": "a", "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p"}]}),
                vec![r#"metadata.ownerReferences.uid: Invalid value: "": must not be empty"#],
            ),
            (
                json!({"name": "a", "managedFields": [{"operation": "Patch"}]}),
                vec![
                    r#"metadata.managedFields[0].operation: Invalid value: "Patch": must be `Apply` or `Update`"#,
                ],
            ),
        ];
        for (metadata, expected) in cases {
            let errors = validate(&metadata, false, &rule, &Path::new("metadata"));
            let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(texts, expected);
        }
    }
}
