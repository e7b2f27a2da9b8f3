//! `spec.commonMetadata`: labels and annotations for every object, on top of its own.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use sluice_api::shared::kustomize::CommonMetadata;

/// Adds labels and annotations to an object's own metadata; templates inside it stay as they are.
pub fn set_common_metadata(object: &mut Value, common: &CommonMetadata) {
    for (part, added) in [("labels", &common.labels), ("annotations", &common.annotations)] {
        if let Some(added) = added {
            add(object, part, added);
        }
    }
}

fn add(object: &mut Value, part: &str, added: &BTreeMap<String, String>) {
    let Value::Object(fields) = object else { return };
    let metadata = fields.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    let Value::Object(metadata) = metadata else { return };
    // Go cannot read a map of texts that has anything else in it, and starts from nothing.
    let mut all = match metadata.get(part) {
        Some(Value::Object(own)) if own.values().all(Value::is_string) => own.clone(),
        _ => Map::new(),
    };
    all.extend(added.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))));
    if !all.is_empty() {
        metadata.insert(part.to_owned(), Value::Object(all));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use sluice_api::shared::kustomize::CommonMetadata;

    use super::set_common_metadata;

    #[test]
    fn what_is_common_wins_over_what_is_there() {
        let common: CommonMetadata = serde_json::from_value(
            json!({"labels": {"team": "a", "env": "x"}, "annotations": {"note": "n"}}),
        )
        .expect("a field of a spec");
        let template = json!({"metadata": {"labels": {"team": "own"}}});
        let mut object = json!({
            "metadata": {"name": "web", "labels": {"team": "own", "app": "web"}},
            "spec": {"template": template},
        });
        set_common_metadata(&mut object, &common);
        assert_eq!(
            object["metadata"],
            json!({"name": "web", "labels": {"team": "a", "env": "x", "app": "web"}, "annotations": {"note": "n"}})
        );
        assert_eq!(object["spec"]["template"], template);
    }
}
