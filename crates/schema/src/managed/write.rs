//! Printing objects: `fieldsV1` comes out in the order of its field set.

use serde_json::Value;
use sluice_base::gojson;

use crate::smd::write_fields_v1_value;

/// `value` as one line of JSON as the API server writes it.
///
/// Keys are in order, except inside the `fieldsV1` of entries of `managedFields`, which keep the order
/// of the set. Works on objects, lists and watch events alike.
pub fn object_json(value: &Value) -> String {
    let mut out = String::new();
    write_object_json(&mut out, value);
    out
}

/// Appends `value` like [`object_json`] does.
pub fn write_object_json(out: &mut String, value: &Value) {
    match value {
        Value::Object(fields) => {
            let entry = fields.get("fieldsType").is_some_and(|kind| kind == "FieldsV1");
            out.push('{');
            for (index, (name, field)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                gojson::write_text(out, name);
                out.push(':');
                if entry && name == "fieldsV1" {
                    write_fields_v1_value(out, field);
                } else {
                    write_object_json(out, field);
                }
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_object_json(out, item);
            }
            out.push(']');
        }
        scalar => gojson::write(out, scalar),
    }
}
