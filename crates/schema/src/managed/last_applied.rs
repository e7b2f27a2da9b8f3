//! Migration from client-side to server-side apply: kubectl's last-applied annotation excuses conflicts, and is kept up
//! to date.

use serde_json::{Map, Value};
use sluice_base::gojson;

use crate::smd::{Conflict, Duplicates, FieldSet, TypeRef};

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The only manager this is done for.
pub(crate) const MANAGER: &str = "kubectl";

/// What all annotations of an object may take together.
const MOST_BYTES: usize = 256 * 1024;

/// The conflicts that the live object's last configuration does not excuse; nothing where the
/// annotation is of no use.
pub(crate) fn unexcused(
    live: &Value,
    api_version: &str,
    types: &TypeRef,
    conflicts: &[Conflict],
) -> Option<Vec<Conflict>> {
    let excused = excused_fields(live, api_version, types)?;
    Some(conflicts.iter().filter(|conflict| !excused.has(&conflict.path)).cloned().collect())
}

/// The fields of the last configuration that still have the values it gave them.
fn excused_fields(live: &Value, api_version: &str, types: &TypeRef) -> Option<FieldSet> {
    let last = annotation(live)?;
    types.validate(live, Duplicates::Refused).ok()?;
    let last: Value = serde_json::from_str(last).ok()?;
    if last.get("apiVersion")?.as_str()? != api_version {
        return None;
    }
    types.validate(&last, Duplicates::Refused).ok()?;
    let comparison = types.compare(&last, live).ok()?;
    let fields = types.field_set(&last);
    Some(
        fields
            .difference(&comparison.modified)
            .difference(&comparison.added)
            .difference(&comparison.removed),
    )
}

fn annotation(object: &Value) -> Option<&str> {
    let value = object.get("metadata")?.get("annotations")?.get(ANNOTATION)?.as_str()?;
    (!value.is_empty()).then_some(value)
}

/// Writes the applied configuration into the annotation, where the object has one.
pub(crate) fn refresh(object: &mut Value, config: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let mut config = config.clone();
    if let Some(Value::Object(metadata)) = config.get_mut("metadata")
        && let Some(Value::Object(annotations)) = metadata.get_mut("annotations")
    {
        annotations.remove(ANNOTATION);
    }
    let mut text = gojson::to_string(&config);
    text.push('\n');
    if let Some(Value::Object(annotations)) =
        object.get_mut("metadata").and_then(|metadata| metadata.get_mut("annotations"))
    {
        annotations.insert(ANNOTATION.to_owned(), Value::String(text));
        if size(annotations) > MOST_BYTES {
            annotations.remove(ANNOTATION);
        }
    }
}

fn size(annotations: &Map<String, Value>) -> usize {
    annotations.iter().map(|(name, value)| name.len() + value.as_str().map_or(0, str::len)).sum()
}
