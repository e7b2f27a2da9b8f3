//! Entries of `metadata.managedFields`: read into sets by manager, and written back sorted.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use sluice_base::{go, gojson};

use crate::smd::{FieldSet, Managers, VersionedSet, from_fields_v1, to_fields_v1};

use super::time::Time;

/// What everybody owns, and when each manager last changed it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Managed {
    pub(crate) fields: Managers,
    pub(crate) times: BTreeMap<String, Time>,
}

/// How a manager wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Apply,
    Update,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// The entries of an object, or nothing where it has none or they are no entries.
pub(crate) fn entries_of(object: &Value) -> Option<&[Value]> {
    let entries = object.get("metadata")?.get("managedFields")?.as_array()?;
    entries.iter().all(Value::is_object).then_some(entries.as_slice())
}

/// Whether the entries ask for a new start: an empty list, or one empty entry.
pub(crate) fn is_reset(entries: &[Value]) -> bool {
    match entries {
        [] => true,
        [entry] => entry.as_object().is_some_and(|entry| {
            entry.values().all(|field| matches!(field, Value::Null) || field == "")
        }),
        _ => false,
    }
}

/// Reads the entries of an object.
pub(crate) fn decode(entries: &[Value]) -> Result<Managed, String> {
    let mut managed = Managed::default();
    for (index, entry) in entries.iter().enumerate() {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let operation = match text("operation") {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err("operation must be `Apply` or `Update`".to_owned()),
        };
        let api_version = text("apiVersion");
        if api_version.is_empty() {
            return Err("apiVersion must not be empty".to_owned());
        }
        match text("fieldsType") {
            "FieldsV1" => {}
            "" => return Err(format!("missing fieldsType in managed fields entry {index}")),
            other => {
                let other = go::quote(other);
                return Err(format!("invalid fieldsType {other} in managed fields entry {index}"));
            }
        }
        let manager = identity(text("manager"), operation, api_version, text("subresource"));
        let set = match entry.get("fieldsV1") {
            None | Some(Value::Null) => FieldSet::default(),
            Some(fields) => from_fields_v1(fields).map_err(|why| {
                format!("error decoding versioned set from {manager}: error decoding set: {why}")
            })?,
        };
        if let Some(time) = Time::parse(text("time")) {
            managed.times.insert(manager.clone(), time);
        } else {
            managed.times.remove(&manager);
        }
        let applied = operation == Operation::Apply;
        let owned = VersionedSet { set, api_version: api_version.to_owned(), applied };
        managed.fields.insert(manager, owned);
    }
    Ok(managed)
}

/// The identity of a manager: its entry as JSON without fields and time. An applier is the same in
/// every version.
pub(crate) fn identity(
    manager: &str,
    operation: Operation,
    api_version: &str,
    subresource: &str,
) -> String {
    let api_version = if operation == Operation::Apply { "" } else { api_version };
    let mut out = String::from("{");
    for (name, value) in [
        ("manager", manager),
        ("operation", operation.name()),
        ("apiVersion", api_version),
        ("subresource", subresource),
    ] {
        if value.is_empty() {
            continue;
        }
        if out.len() > 1 {
            out.push(',');
        }
        out.push('"');
        out.push_str(name);
        out.push_str("\":");
        gojson::write_text(&mut out, value);
    }
    out.push('}');
    out
}

/// The parts of an identity.
pub(crate) struct Identity {
    pub(crate) manager: String,
    pub(crate) operation: String,
    pub(crate) api_version: String,
    pub(crate) subresource: String,
}

impl Identity {
    /// Reads an identity back.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let parts: Map<String, Value> = serde_json::from_str(text).ok()?;
        let part =
            |name: &str| parts.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        Some(Self {
            manager: part("manager"),
            operation: part("operation"),
            api_version: part("apiVersion"),
            subresource: part("subresource"),
        })
    }
}

/// The entries, sorted by operation, time, manager, version and subresource.
pub(crate) fn encode(managed: &Managed) -> Vec<Value> {
    let mut sorted: Vec<_> = managed
        .fields
        .iter()
        .filter_map(|(manager, owned)| {
            let mut parts = Identity::parse(manager)?;
            parts.api_version.clone_from(&owned.api_version);
            if owned.applied {
                "Apply".clone_into(&mut parts.operation);
            }
            Some((parts, managed.times.get(manager), owned))
        })
        .collect();
    sorted.sort_by(|(left, left_time, _), (right, right_time, _)| {
        let seconds = |time: Option<&Time>| time.map_or(0, |time| time.seconds);
        left.operation
            .cmp(&right.operation)
            .then_with(|| seconds(*left_time).cmp(&seconds(*right_time)))
            .then_with(|| left.manager.cmp(&right.manager))
            .then_with(|| left.api_version.cmp(&right.api_version))
            .then_with(|| left.subresource.cmp(&right.subresource))
    });
    sorted.into_iter().map(|(parts, time, owned)| entry(parts, time, &owned.set)).collect()
}

fn entry(parts: Identity, time: Option<&Time>, set: &FieldSet) -> Value {
    let mut entry = Map::new();
    for (name, value) in [
        ("manager", parts.manager),
        ("operation", parts.operation),
        ("apiVersion", parts.api_version),
        ("subresource", parts.subresource),
    ] {
        if !value.is_empty() {
            entry.insert(name.to_owned(), Value::String(value));
        }
    }
    if let Some(time) = time {
        entry.insert("time".to_owned(), Value::String(time.text.clone()));
    }
    entry.insert("fieldsType".to_owned(), json!("FieldsV1"));
    entry.insert("fieldsV1".to_owned(), to_fields_v1(set));
    Value::Object(entry)
}

/// Puts the entries into the object; no entries are no field.
pub(crate) fn set_entries(object: &mut Value, entries: Vec<Value>) {
    let Value::Object(fields) = object else { return };
    if entries.is_empty() {
        remove_entries(object);
        return;
    }
    let metadata = fields.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(metadata) = metadata {
        metadata.insert("managedFields".to_owned(), Value::Array(entries));
    }
}

/// Takes the entries out of the object.
pub(crate) fn remove_entries(object: &mut Value) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
    }
}

/// A copy of the object without its entries, which are often the larger half of it.
pub(crate) fn without_entries(object: &Value) -> Value {
    let Value::Object(fields) = object else { return object.clone() };
    let copied = fields.iter().map(|(name, field)| {
        let field = match (name.as_str(), field) {
            ("metadata", Value::Object(metadata)) => Value::Object(
                metadata
                    .iter()
                    .filter(|(name, _)| *name != "managedFields")
                    .map(|(name, field)| (name.clone(), field.clone()))
                    .collect(),
            ),
            _ => field.clone(),
        };
        (name.clone(), field)
    });
    Value::Object(copied.collect())
}
