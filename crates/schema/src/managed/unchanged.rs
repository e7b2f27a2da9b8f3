//! Writes that change nothing but the times of entries, which are not writes.

use serde_json::Value;

use super::entries::entries_of;

/// Gives the new object the old entries' times if nothing else differs, so that it is the old object.
pub fn revert_times(old: &Value, new: &mut Value) {
    let (Some(old_entries), Some(new_entries)) = (entries_of(old), entries_of(new)) else { return };
    if old_entries.len() != new_entries.len()
        || !old_entries.iter().zip(new_entries).all(|(old, new)| same_but_time(old, new))
        || !same_but_entries(old, new)
    {
        return;
    }
    let entries = old_entries.to_vec();
    super::entries::set_entries(new, entries);
}

fn same_but_time(old: &Value, new: &Value) -> bool {
    same_but(old, new, "time", |_, _| true)
}

fn same_but_entries(old: &Value, new: &Value) -> bool {
    same_but(old, new, "metadata", |old, new| same_but(old, new, "managedFields", |_, _| true))
}

/// Whether two maps are equal, with `compare` for the field `name`.
fn same_but(
    old: &Value,
    new: &Value,
    name: &str,
    compare: impl Fn(&Value, &Value) -> bool,
) -> bool {
    let (Value::Object(old), Value::Object(new)) = (old, new) else { return old == new };
    let others = |fields: &serde_json::Map<String, Value>| {
        fields.len() - usize::from(fields.contains_key(name))
    };
    others(old) == others(new)
        && old
            .iter()
            .filter(|(key, _)| *key != name)
            .all(|(key, value)| new.get(key) == Some(value))
        && match (old.get(name), new.get(name)) {
            (Some(old), Some(new)) => compare(old, new),
            _ => true,
        }
}
