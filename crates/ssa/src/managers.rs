//! Take-over of fields: which managers give way, and the patch that does it.

use serde_json::{Value, json};
use sluice_schema::smd;

use crate::metadata::{self, entries};

/// The operation of a manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// By server-side apply.
    Apply,
    /// By create, update or another patch.
    Update,
}

impl Operation {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// A field manager to take over, by the prefix of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldManager {
    /// The prefix of the name.
    pub prefix: String,
    /// The operation.
    pub operation: Operation,
}

impl FieldManager {
    /// A manager by prefix and operation.
    pub fn new(prefix: &str, operation: Operation) -> Self {
        Self { prefix: prefix.to_owned(), operation }
    }

    fn matches(&self, entry: &Value) -> bool {
        let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
        text("operation") == self.operation.as_str()
            && text("subresource").is_empty()
            && text("manager").starts_with(&self.prefix)
    }
}

/// What is removed from a live object before it is applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleanup {
    /// Keys of annotations.
    pub annotations: Vec<String>,
    /// Keys of labels.
    pub labels: Vec<String>,
    /// Managers to take over.
    pub managers: Vec<FieldManager>,
    /// Objects with one of these marks are left as they are.
    pub exclusions: metadata::Marks,
}

impl Cleanup {
    /// Whether an entry is taken over.
    pub(crate) fn takes_over(&self, entry: &Value) -> bool {
        self.managers.iter().any(|manager| manager.matches(entry))
    }

    /// The JSON patch for an object, or `None` if there is nothing to do.
    pub(crate) fn patch(&self, live: &Value, field_manager: &str) -> Option<Value> {
        let mut operations = Vec::new();
        let found = metadata::annotations(live);
        remove_keys(&mut operations, "annotations", &self.annotations, &found);
        remove_keys(&mut operations, "labels", &self.labels, &metadata::labels(live));
        if let Some(entries) = taken_over(entries(live), &self.managers, field_manager) {
            operations.push(
                json!({"op": "replace", "path": "/metadata/managedFields", "value": entries}),
            );
        }
        (!operations.is_empty()).then(|| Value::from(operations))
    }
}

/// The patch that moves all managed fields to another API version, or `None` if they have it.
pub(crate) fn migration(live: &Value, api_version: &str) -> Option<Value> {
    let mut moved = entries(live).to_vec();
    let mut changed = false;
    for entry in &mut moved {
        if entry.get("apiVersion").and_then(Value::as_str) != Some(api_version) {
            entry["apiVersion"] = Value::from(api_version);
            changed = true;
        }
    }
    changed.then(|| json!([{"op": "replace", "path": "/metadata/managedFields", "value": moved}]))
}

fn remove_keys(
    operations: &mut Vec<Value>,
    field: &str,
    keys: &[String],
    found: &std::collections::BTreeMap<&str, &str>,
) {
    for key in keys.iter().filter(|key| found.contains_key(key.as_str())) {
        let path = format!("/metadata/{field}/{}", key.replace('/', "~1"));
        operations.push(json!({"op": "remove", "path": path}));
    }
}

/// The entries after taken-over managers were merged into our own, which comes last.
fn taken_over(
    entries: &[Value],
    managers: &[FieldManager],
    field_manager: &str,
) -> Option<Vec<Value>> {
    let own = entries.iter().rposition(|entry| {
        entry.get("manager").and_then(Value::as_str) == Some(field_manager)
            && entry.get("operation").and_then(Value::as_str) == Some("Apply")
    });
    let mut ours = own.and_then(|index| entries.get(index)).cloned();
    let mut kept = Vec::new();
    let mut edited = false;
    for (index, entry) in entries.iter().enumerate() {
        if Some(index) == own {
            continue;
        }
        if !managers.iter().any(|manager| manager.matches(entry)) {
            kept.push(entry.clone());
            continue;
        }
        edited = true;
        match &mut ours {
            None => {
                let mut renamed = entry.clone();
                renamed["manager"] = Value::from(field_manager);
                renamed["operation"] = Value::from("Apply");
                ours = Some(renamed);
            }
            Some(ours) => merge_fields(ours, entry),
        }
    }
    if !edited {
        return None;
    }
    kept.extend(ours);
    Some(kept)
}

/// Adds the fields of one entry to another. Unreadable fields are left out.
fn merge_fields(into: &mut Value, from: &Value) {
    let Some(theirs) = from.get("fieldsV1") else { return };
    let Some(ours) = into.get("fieldsV1") else {
        into["fieldsV1"] = theirs.clone();
        return;
    };
    if let (Ok(ours), Ok(theirs)) = (smd::from_fields_v1(ours), smd::from_fields_v1(theirs)) {
        into["fieldsV1"] = smd::to_fields_v1(&ours.union(&theirs));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(manager: &str, operation: &str, field: &str) -> Value {
        json!({
            "manager": manager, "operation": operation, "apiVersion": "v1",
            "fieldsV1": {"f:data": {format!("f:{field}"): {}}},
        })
    }

    fn cleanup() -> Cleanup {
        Cleanup {
            annotations: vec!["a/b".to_owned()],
            managers: vec![
                FieldManager::new("kubectl", Operation::Apply),
                FieldManager::new("kubectl", Operation::Update),
            ],
            ..Cleanup::default()
        }
    }

    fn live(entries: &[Value]) -> Value {
        json!({"metadata": {"managedFields": entries}})
    }

    #[test]
    fn the_first_manager_that_gives_way_becomes_ours() {
        let live = live(&[
            entry("kubectl-client-side-apply", "Update", "a"),
            entry("other", "Update", "b"),
        ]);
        let patch = cleanup().patch(&live, "us").expect("there is something to do");
        assert_eq!(
            patch[0]["value"],
            json!([entry("other", "Update", "b"), entry("us", "Apply", "a")])
        );
    }

    #[test]
    fn fields_are_added_to_ours_which_comes_last() {
        let mut status = entry("kubectl", "Update", "c");
        status["subresource"] = json!("status");
        let live =
            live(&[entry("us", "Apply", "a"), entry("kubectl", "Apply", "b"), status.clone()]);
        let patch = cleanup().patch(&live, "us").expect("there is something to do");
        let mut ours = entry("us", "Apply", "a");
        ours["fieldsV1"]["f:data"]["f:b"] = json!({});
        assert_eq!(patch[0]["value"], json!([status, ours]));
    }

    #[test]
    fn what_is_clean_is_left_alone() {
        let live = live(&[entry("us", "Apply", "a"), entry("other", "Apply", "b")]);
        assert_eq!(cleanup().patch(&live, "us"), None);
    }

    #[test]
    fn annotations_go_by_key() {
        let live = json!({"metadata": {"annotations": {"a/b": "x", "c": "y"}}});
        let patch = cleanup().patch(&live, "us").expect("there is something to do");
        assert_eq!(patch, json!([{"op": "remove", "path": "/metadata/annotations/a~1b"}]));
    }
}
