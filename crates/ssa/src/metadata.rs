//! Labels and annotations, and those that control applying.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The field manager, and the group of the owner labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The field manager of all writes.
    pub field_manager: String,
    /// The prefix of the labels `name` and `namespace`.
    pub group: String,
}

impl Owner {
    /// The owner of Flux's kustomize-controller.
    pub fn kustomize() -> Self {
        Self {
            field_manager: "kustomize-controller".to_owned(),
            group: "kustomize.toolkit.fluxcd.io".to_owned(),
        }
    }

    /// The owner labels of one owner.
    pub fn labels(&self, name: &str, namespace: &str) -> BTreeMap<String, String> {
        BTreeMap::from([
            (format!("{}/name", self.group), name.to_owned()),
            (format!("{}/namespace", self.group), namespace.to_owned()),
        ])
    }

    /// Namespace and name in the owner labels of an object.
    pub fn marked(&self, object: &Value) -> Option<(String, String)> {
        let label = |field: &str| entry(object, "labels", &format!("{}/{field}", self.group));
        Some((label("namespace")?.to_owned(), label("name")?.to_owned()))
    }

    /// The label selector for the objects of one owner.
    pub fn selector(&self, name: &str, namespace: &str) -> String {
        let pairs = self.labels(name, namespace).into_iter();
        pairs.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
    }
}

/// Sets labels and annotations, replacing existing values.
pub fn set_metadata(
    object: &mut Value,
    labels: &BTreeMap<String, String>,
    annotations: &BTreeMap<String, String>,
) {
    for (field, entries) in [("labels", labels), ("annotations", annotations)] {
        if entries.is_empty() {
            continue;
        }
        let Some(map) = object
            .as_object_mut()
            .and_then(|root| child(root, "metadata"))
            .and_then(|metadata| child(metadata, field))
        else {
            return;
        };
        for (key, value) in entries {
            map.insert(key.clone(), Value::from(value.clone()));
        }
    }
}

/// The map in a field, created if absent.
fn child<'m>(map: &'m mut Map<String, Value>, field: &str) -> Option<&'m mut Map<String, Value>> {
    let value = map.entry(field).or_insert(Value::Null);
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut()
}

/// The value of a label or annotation.
fn entry<'v>(object: &'v Value, field: &str, key: &str) -> Option<&'v str> {
    object.get("metadata")?.get(field)?.get(key)?.as_str()
}

/// The managed fields of an object.
pub(crate) fn entries(object: &Value) -> &[Value] {
    object.pointer("/metadata/managedFields").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Whether an entry is this manager's from server-side apply.
pub(crate) fn is_own_entry(entry: &Value, manager: &str) -> bool {
    let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
    text("manager") == manager && text("operation") == "Apply" && text("subresource").is_empty()
}

/// Labels of an object; values that are not strings are skipped.
pub(crate) fn labels(object: &Value) -> BTreeMap<&str, &str> {
    texts(object, "labels")
}

/// Annotations of an object; values that are not strings are skipped.
pub(crate) fn annotations(object: &Value) -> BTreeMap<&str, &str> {
    texts(object, "annotations")
}

fn texts<'v>(object: &'v Value, field: &str) -> BTreeMap<&'v str, &'v str> {
    object
        .get("metadata")
        .and_then(|metadata| metadata.get(field))
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
        .collect()
}

/// Labels or annotations that control applying: a key and the value that counts.
pub type Marks = Vec<(String, String)>;

/// Whether an object has one of the marks, as a label or an annotation, ignoring case.
pub(crate) fn has_mark(object: &Value, marks: &Marks) -> bool {
    marks.iter().any(|(key, value)| {
        ["labels", "annotations"].iter().any(|field| {
            entry(object, field, key).is_some_and(|found| {
                !found.is_empty() && found.to_lowercase() == value.to_lowercase()
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn marks_are_found_in_labels_and_annotations_in_any_case() {
        let marks = vec![("a/ssa".to_owned(), "Ignore".to_owned())];
        let object = |field: &str, value: &str| json!({"metadata": {field: {"a/ssa": value}}});
        assert!(has_mark(&object("labels", "ignore"), &marks));
        assert!(has_mark(&object("annotations", "IGNORE"), &marks));
        assert!(!has_mark(&object("annotations", "merge"), &marks));
        assert!(!has_mark(&json!({}), &marks));
    }

    #[test]
    fn metadata_is_made_where_there_is_none() {
        let mut object = json!({"kind": "A", "metadata": {"name": "a", "labels": null}});
        let labels = Owner::kustomize().labels("apps", "flux-system");
        set_metadata(&mut object, &labels, &BTreeMap::new());
        assert_eq!(
            object["metadata"],
            json!({"name": "a", "labels": {
                "kustomize.toolkit.fluxcd.io/name": "apps",
                "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
            }})
        );
    }
}
