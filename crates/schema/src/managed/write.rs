//! Printing objects: `fieldsV1` of built-in kinds comes out in the order of its field set.

use serde_json::{Map, Value};
use sluice_base::gojson;

use crate::recorded;
use crate::smd::write_fields_v1_value;

/// `value` as one line of JSON as the API server writes it.
///
/// Keys are in order, except inside the `fieldsV1` of entries of `managedFields`: a server keeps those
/// of built-in kinds as text, in the order of the set, and those of custom resources as maps. Works on
/// objects, lists and watch events alike.
pub fn object_json(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value, Order::OfSets);
    out
}

/// A list like [`object_json`] would write it, with `items` in the place of that field, so that
/// nobody has to copy them into it. Where the list `names` them, they do not say their kind themselves.
pub fn list_json<'a>(
    list: &Map<String, Value>,
    items: impl IntoIterator<Item = &'a Value>,
    names: bool,
) -> String {
    let mut out = String::new();
    let order = Order::OfSets.within(list);
    let mut items = Some(items);
    out.push('{');
    for (index, (name, field)) in list.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        gojson::write_text(&mut out, name);
        out.push(':');
        match items.take_if(|_| name == "items") {
            Some(items) => write_items(&mut out, items, order, names),
            None => write(&mut out, field, order),
        }
    }
    out.push('}');
    out
}

fn write_items<'a>(
    out: &mut String,
    items: impl IntoIterator<Item = &'a Value>,
    order: Order,
    names: bool,
) {
    out.push('[');
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        match item {
            Value::Object(fields) if names => {
                let rest =
                    fields.iter().filter(|(name, _)| *name != "kind" && *name != "apiVersion");
                write_fields(out, rest, order, false);
            }
            item => write(out, item, order),
        }
    }
    out.push(']');
}

/// The order of keys inside `fieldsV1`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    OfSets,
    OfKeys,
}

impl Order {
    /// The order in an object, which its kind decides, or what it is part of.
    fn within(self, fields: &Map<String, Value>) -> Self {
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        let (Some(api_version), Some(kind)) = (text("apiVersion"), text("kind")) else {
            return self;
        };
        let built_in = !api_version.contains('/')
            || api_version.starts_with("meta.k8s.io/")
            || recorded::openapi().schema_name(api_version, kind).is_some();
        if built_in { self } else { Self::OfKeys }
    }
}

fn write(out: &mut String, value: &Value, order: Order) {
    match value {
        Value::Object(fields) => {
            let order = order.within(fields);
            let entry = fields.get("fieldsType").is_some_and(|kind| kind == "FieldsV1");
            write_fields(out, fields.iter(), order, entry);
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(out, item, order);
            }
            out.push(']');
        }
        scalar => gojson::write(out, scalar),
    }
}

/// The fields of an object; those of an `entry` of `managedFields` hold a set.
fn write_fields<'a>(
    out: &mut String,
    fields: impl Iterator<Item = (&'a String, &'a Value)>,
    order: Order,
    entry: bool,
) {
    out.push('{');
    for (index, (name, field)) in fields.enumerate() {
        if index > 0 {
            out.push(',');
        }
        gojson::write_text(out, name);
        out.push(':');
        if entry && order == Order::OfSets && name == "fieldsV1" {
            write_fields_v1_value(out, field);
        } else {
            write(out, field, order);
        }
    }
    out.push('}');
}
