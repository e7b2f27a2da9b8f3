//! Validation of `metadata` on create and update.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use super::{immutable, in_order, invalid_each, invalid_raw, labels, names, non_negative};
use crate::kind::NameRule;
use crate::value::{at, entries, flag, list, number, present, text, texts};

const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// Validates the metadata of a new object; `path` is the place of `meta`.
pub(crate) fn object_meta(
    meta: &Value,
    namespaced: bool,
    rule: NameRule,
    path: &Path,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let prefix = text(meta, "generateName");
    if !prefix.is_empty() {
        let wrong = names::by_rule(rule, prefix, true);
        errors.extend(invalid_each(&path.child("generateName"), prefix, wrong));
    }
    let name = text(meta, "name");
    if name.is_empty() {
        let detail = "name or generateName is required";
        errors.push(FieldError::required(&path.child("name"), detail));
    } else {
        errors.extend(invalid_each(&path.child("name"), name, names::by_rule(rule, name, false)));
    }
    let namespace = text(meta, "namespace");
    if !namespaced {
        if !namespace.is_empty() {
            let detail = "not allowed on this type";
            errors.push(FieldError::forbidden(&path.child("namespace"), detail));
        }
    } else if namespace.is_empty() {
        errors.push(FieldError::required(&path.child("namespace"), ""));
    } else {
        errors.extend(invalid_each(
            &path.child("namespace"),
            namespace,
            names::dns_label(namespace),
        ));
    }
    errors.extend(non_negative(number(meta, "generation"), &path.child("generation")));
    errors.extend(labels::labels(at(meta, "labels"), &path.child("labels")));
    errors.extend(annotations(at(meta, "annotations"), &path.child("annotations")));
    errors.extend(owner_references(meta, &path.child("ownerReferences")));
    errors.extend(finalizers(meta, &path.child("finalizers")));
    errors.extend(managed_fields(meta, &path.child("managedFields")));
    errors
}

/// Validates the metadata of a changed object; `path` is the place of both.
pub(crate) fn object_meta_update(new: &Value, old: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if present(old, "deletionTimestamp") {
        let before = texts(old, "finalizers");
        let mut extra: Vec<_> =
            texts(new, "finalizers").into_iter().filter(|name| !before.contains(name)).collect();
        extra.sort_unstable();
        extra.dedup();
        if !extra.is_empty() {
            let extra: Vec<_> = extra.iter().map(|name| format!("{name:?}")).collect();
            errors.push(FieldError::forbidden(
                &path.child("finalizers"),
                format!(
                    "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                    extra.join(", ")
                ),
            ));
        }
    }
    let version = text(new, "resourceVersion");
    if version.is_empty() {
        let detail = "must be specified for an update";
        errors.push(FieldError::invalid(&path.child("resourceVersion"), version, detail));
    }
    if number(new, "generation") < number(old, "generation") {
        errors.push(FieldError::invalid(
            &path.child("generation"),
            number(new, "generation"),
            "must not be decremented",
        ));
    }
    for name in ["name", "namespace", "uid"] {
        let (new, old) = (text(new, name), text(old, name));
        errors.extend(immutable(&new.into(), &old.into(), &path.child(name)));
    }
    for name in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        errors.extend(immutable(at(new, name), at(old, name), &path.child(name)));
    }
    errors.extend(labels::labels(at(new, "labels"), &path.child("labels")));
    errors.extend(annotations(at(new, "annotations"), &path.child("annotations")));
    errors.extend(owner_references(new, &path.child("ownerReferences")));
    errors.extend(managed_fields(new, &path.child("managedFields")));
    errors
}

/// Validates a set of annotations.
pub(crate) fn annotations(annotations: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut size = 0;
    for (key, value) in entries(annotations, "") {
        errors.extend(invalid_each(path, key, names::qualified_name(&key.to_lowercase())));
        size += key.len() + value.as_str().unwrap_or_default().len();
    }
    if size > ANNOTATIONS_LIMIT {
        errors.push(FieldError::too_long(path, ANNOTATIONS_LIMIT));
    }
    errors
}

fn owner_references(meta: &Value, path: &Path) -> Vec<FieldError> {
    const ORDER: &[&str] =
        &["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
    let mut errors = Vec::new();
    let mut controller = None;
    let references = list(meta, "ownerReferences");
    for reference in references {
        let version = text(reference, "apiVersion");
        if version.is_empty() || version.ends_with('/') || version.matches('/').count() > 1 {
            let detail = "version must not be empty";
            errors.push(FieldError::invalid(&path.child("apiVersion"), version, detail));
        }
        for name in ["kind", "name", "uid"] {
            if text(reference, name).is_empty() {
                errors.push(FieldError::invalid(&path.child(name), "", "must not be empty"));
            }
        }
        if version == "v1" && text(reference, "kind") == "Event" {
            let detail = "/v1, Kind=Event is disallowed from being an owner";
            errors.push(invalid_raw(path, &in_order(reference, ORDER), detail));
        }
        if flag(reference, "controller") {
            let this = format!("{}/{}", text(reference, "kind"), text(reference, "name"));
            match &controller {
                None => controller = Some(this),
                Some(first) => {
                    let printed: Vec<_> =
                        references.iter().map(|reference| in_order(reference, ORDER)).collect();
                    errors.push(invalid_raw(
                        path,
                        &format!("[{}]", printed.join(",")),
                        &format!(
                            "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}"
                        ),
                    ));
                }
            }
        }
    }
    errors
}

fn finalizers(meta: &Value, path: &Path) -> Vec<FieldError> {
    let finalizers = texts(meta, "finalizers");
    let mut errors = Vec::new();
    for name in &finalizers {
        errors.extend(invalid_each(path, name, names::qualified_name(name)));
    }
    if finalizers.contains(&"orphan") && finalizers.contains(&"foregroundDeletion") {
        errors.push(FieldError::invalid(
            path,
            at(meta, "finalizers").clone(),
            "finalizer orphan and foregroundDeletion cannot be both set",
        ));
    }
    errors
}

/// Validates the name of a field manager.
pub(crate) fn field_manager(manager: &str, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if manager.len() > 128 {
        errors.push(FieldError::too_long(path, 128));
    }
    for (index, letter) in manager.char_indices() {
        if letter.is_control() {
            errors.push(FieldError::invalid(
                path,
                manager,
                format!("invalid character U+{:04X} (at position {index})", u32::from(letter)),
            ));
        }
    }
    errors
}

fn managed_fields(meta: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, entry) in list(meta, "managedFields").iter().enumerate() {
        let path = path.index(index);
        let operation = text(entry, "operation");
        if !matches!(operation, "Apply" | "Update") {
            let detail = "must be `Apply` or `Update`";
            errors.push(FieldError::invalid(&path.child("operation"), operation, detail));
        }
        let kind = text(entry, "fieldsType");
        if !matches!(kind, "" | "FieldsV1") {
            errors.push(FieldError::invalid(&path.child("fieldsType"), kind, "must be `FieldsV1`"));
        }
        errors.extend(field_manager(text(entry, "manager"), &path.child("manager")));
        if text(entry, "subresource").len() > 256 {
            errors.push(FieldError::too_long(&path.child("subresource"), 256));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn messages(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn new_metadata_is_checked_in_upstreams_order() {
        let meta = json!({
            "namespace": "a", "labels": {"-": "ok"}, "annotations": {"Good.io/x": "1", "/": ""},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "u", "blockOwnerDeletion": true}],
            "finalizers": ["orphan", "foregroundDeletion"],
        });
        let found =
            messages(&object_meta(&meta, false, NameRule::Subdomain, &Path::new("metadata")));
        let fields: Vec<_> = found.iter().map(|text| text.split(": ").next().unwrap()).collect();
        assert_eq!(
            fields,
            [
                "metadata.name",
                "metadata.namespace",
                "metadata.labels",
                "metadata.annotations",
                "metadata.annotations",
                "metadata.annotations",
                "metadata.ownerReferences",
                "metadata.finalizers",
            ]
        );
        assert_eq!(
            found[6],
            r#"metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"e","uid":"u","blockOwnerDeletion":true}: /v1, Kind=Event is disallowed from being an owner"#
        );
    }

    #[test]
    fn identity_never_changes_and_a_dying_object_takes_no_finalizers() {
        let old = json!({"name": "a", "uid": "1", "deletionTimestamp": "2026-01-01T00:00:00Z", "generation": 2});
        let new = json!({"name": "b", "uid": "1", "deletionTimestamp": "2026-01-01T00:00:00Z", "generation": 2,
            "resourceVersion": "7", "finalizers": ["x/y"]});
        assert_eq!(
            messages(&object_meta_update(&new, &old, &Path::new("metadata"))),
            [
                r#"metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"x/y"}"#,
                r#"metadata.name: Invalid value: "b": field is immutable"#,
            ]
        );
    }
}
