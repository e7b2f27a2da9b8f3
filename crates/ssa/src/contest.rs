//! The foreign managers of a drifted object, from the managed fields before and after the dry run that would
//! correct it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

use crate::metadata::{self, Owner};

/// The maximum number of fields that are listed.
const NAMED: usize = 10;

/// Foreign managers and another owner of one of our objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contest {
    /// The managers of fields that we apply.
    pub managers: Vec<String>,
    /// Those fields, as paths.
    pub fields: Vec<String>,
    /// Namespace and name of the other owner in its labels.
    pub owner: Option<(String, String)>,
}

impl Contest {
    /// Compares a live object with the result of a dry run.
    pub(crate) fn between(live: &Value, merged: &Value, owner: &Owner) -> Option<Self> {
        let before = own_fields(live, &owner.field_manager);
        let lost: BTreeSet<Path> =
            own_fields(merged, &owner.field_manager).difference(&before).cloned().collect();
        let mut managers = BTreeSet::new();
        let mut fields = BTreeSet::new();
        for entry in metadata::entries(live) {
            let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
            if metadata::is_own_entry(entry, &owner.field_manager)
                || text("subresource") == "status"
            {
                continue;
            }
            let theirs = leaves(entry);
            let taken: Vec<&Path> = lost.intersection(&theirs).collect();
            if !taken.is_empty() {
                managers.insert(text("manager").to_owned());
                fields.extend(taken.into_iter().map(readable));
            }
        }
        let (mine, theirs) = (owner.marked(merged), owner.marked(live));
        let other = theirs.filter(|theirs| mine.as_ref().is_some_and(|mine| mine != theirs));
        if managers.is_empty() && other.is_none() {
            return None;
        }
        Some(Self {
            managers: managers.into_iter().collect(),
            fields: fields.into_iter().take(NAMED).collect(),
            owner: other,
        })
    }
}

/// The path of a field in managed fields.
type Path = Vec<String>;

fn own_fields(object: &Value, manager: &str) -> BTreeSet<Path> {
    let own = metadata::entries(object).iter().filter(|it| metadata::is_own_entry(it, manager));
    own.flat_map(leaves).collect()
}

/// The leaf fields of an entry.
fn leaves(entry: &Value) -> BTreeSet<Path> {
    let mut found = BTreeSet::new();
    let mut path = Vec::new();
    if let Some(fields) = entry.get("fieldsV1") {
        walk(fields, &mut path, &mut found);
    }
    found
}

fn walk(fields: &Value, path: &mut Path, found: &mut BTreeSet<Path>) {
    let below = fields.as_object().filter(|below| below.keys().any(|step| step != "."));
    let Some(below) = below else {
        if !path.is_empty() {
            found.insert(path.clone());
        }
        return;
    };
    for (step, deeper) in below.iter().filter(|(step, _)| *step != ".") {
        path.push(step.clone());
        walk(deeper, path, found);
        path.pop();
    }
}

/// `.spec.containers[name=web].image`
fn readable(path: &Path) -> String {
    let mut out = String::new();
    for step in path {
        match step.split_once(':') {
            Some(("f", name)) => {
                out.push('.');
                out.push_str(name);
            }
            Some(("k", keys)) => {
                let keys = serde_json::from_str::<Value>(keys).unwrap_or_default();
                let pairs = keys.as_object().into_iter().flatten().map(|(key, value)| {
                    let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    format!("{key}={value}")
                });
                let _ = write!(out, "[{}]", pairs.collect::<Vec<_>>().join(","));
            }
            Some((_, rest)) => {
                let _ = write!(out, "[{rest}]");
            }
            None => out.push_str(step),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Contest;
    use crate::metadata::Owner;

    #[test]
    fn managers_of_lost_fields_are_named() {
        let label = |name: &str| json!({"kustomize.toolkit.fluxcd.io/name": name, "kustomize.toolkit.fluxcd.io/namespace": "n"});
        let image =
            json!({"f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {".": {}, "f:image": {}}}}});
        let both = json!({"f:data": {"f:a": {}}, "f:spec": image["f:spec"]});
        let ours = |fields| json!({"manager": "kustomize-controller", "operation": "Apply", "fieldsV1": fields});
        let live = json!({"metadata": {"labels": label("a"), "managedFields": [
            ours(json!({"f:data": {"f:a": {}}})),
            {"manager": "edit", "operation": "Update", "fieldsV1": image},
            {"manager": "bystander", "operation": "Update", "fieldsV1": {"f:data": {"f:z": {}}}},
        ]}});
        let merged = json!({"metadata": {"labels": label("a"), "managedFields": [ours(both)]}});
        let owner = Owner::kustomize();
        let contest = Contest::between(&live, &merged, &owner).unwrap();
        assert_eq!(contest.managers, ["edit"]);
        assert_eq!(contest.fields, [".spec.containers[name=web].image"]);
        assert_eq!(contest.owner, None);
        assert_eq!(Contest::between(&merged, &merged, &owner), None);
        let mut foreign = merged.clone();
        foreign["metadata"]["labels"] = label("b");
        let contest = Contest::between(&foreign, &merged, &owner).unwrap();
        assert_eq!(contest.owner, Some(("n".to_owned(), "b".to_owned())));
    }
}
