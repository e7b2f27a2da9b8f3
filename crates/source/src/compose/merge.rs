//! Merges YAML: maps key by key, everything else is replaced.

use serde_json::{Map, Value};

use super::ComposeError;

/// Merges `overlay` into `base`; returns YAML.
pub(super) fn merge_yaml(base: &[u8], overlay: &[u8]) -> Result<String, ComposeError> {
    let overlay = load(overlay)?;
    let mut merged = load(base)?;
    merge(&mut merged, overlay);
    Ok(sluice_yaml::from_json(&Value::Object(merged)))
}

/// All documents of a file, merged in order.
fn load(text: &[u8]) -> Result<Map<String, Value>, ComposeError> {
    let unreadable = |error: &dyn std::fmt::Display| {
        ComposeError(format!("cannot unmarshal YAML document: {error}"))
    };
    let text = String::from_utf8_lossy(text);
    let documents = sluice_yaml::split_for_kubernetes(&text)
        .map_err(|error| ComposeError(format!("error reading YAML document: {error}")))?;
    let mut all = Map::new();
    for document in documents {
        let read = sluice_yaml::to_json(document.as_bytes(), sluice_yaml::Duplicates::LastWins);
        match read.map_err(|error| unreadable(&error))? {
            Some(Value::Object(map)) => merge(&mut all, map),
            None | Some(Value::Null) => {}
            Some(_) => return Err(unreadable(&"it is not a map")),
        }
    }
    Ok(all)
}

fn merge(into: &mut Map<String, Value>, overlay: Map<String, Value>) {
    for (key, value) in overlay {
        match (into.get_mut(&key), value) {
            (Some(Value::Object(below)), Value::Object(over)) => merge(below, over),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}
