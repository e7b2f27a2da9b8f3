//! Where two objects differ.

use serde_json::{Map, Value};

/// A place, and what is different there.
#[derive(Debug, PartialEq)]
pub(super) struct Difference {
    pub(super) path: String,
    pub(super) details: Vec<Detail>,
}

/// One thing that is different.
#[derive(Debug, PartialEq)]
pub(super) enum Detail {
    /// Fields, or items, that are gone.
    Removed(Value),
    /// Fields, or items, that are new.
    Added(Value),
    /// A value that is another.
    Changed(Value, Value),
    /// Items that stand in another order.
    Reordered(Vec<String>, Vec<String>),
}

/// Fields that tell the items of a list apart, in the order they are tried.
const IDENTIFIERS: [&str; 3] = ["name", "key", "id"];

/// The differences, those of an object before those inside it.
pub(super) fn differences(from: &Value, to: &Value) -> Vec<Difference> {
    let mut out = Vec::new();
    values(&mut out, "", from, to);
    out
}

fn values(out: &mut Vec<Difference>, path: &str, from: &Value, to: &Value) {
    match (from, to) {
        _ if from == to => {}
        (Value::Object(from), Value::Object(to)) => maps(out, path, from, to),
        (Value::Array(from), Value::Array(to)) => lists(out, path, from, to),
        _ => out.push(Difference {
            path: shown(path),
            details: vec![Detail::Changed(from.clone(), to.clone())],
        }),
    }
}

fn shown(path: &str) -> String {
    if path.is_empty() { "(root level)".to_owned() } else { path.to_owned() }
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn maps(out: &mut Vec<Difference>, path: &str, from: &Map<String, Value>, to: &Map<String, Value>) {
    let only = |these: &Map<String, Value>, others: &Map<String, Value>| -> Map<String, Value> {
        let only = these.iter().filter(|(name, _)| !others.contains_key(*name));
        only.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let mut details = Vec::new();
    let (removed, added) = (only(from, to), only(to, from));
    if !removed.is_empty() {
        details.push(Detail::Removed(Value::Object(removed)));
    }
    if !added.is_empty() {
        details.push(Detail::Added(Value::Object(added)));
    }
    if !details.is_empty() {
        out.push(Difference { path: shown(path), details });
    }
    for (name, before) in from {
        if let Some(after) = to.get(name) {
            values(out, &joined(path, name), before, after);
        }
    }
}

fn lists(out: &mut Vec<Difference>, path: &str, from: &[Value], to: &[Value]) {
    let named = IDENTIFIERS.iter().find(|field| is_named(from, field) && is_named(to, field));
    if let Some(field) = named {
        return named_items(out, path, field, from, to);
    }
    if let ([before], [after]) = (from, to) {
        return values(out, &joined(path, "0"), before, after);
    }
    let only = |these: &[Value], others: &[Value]| -> Vec<Value> {
        these.iter().filter(|one| !others.contains(one)).cloned().collect()
    };
    let common = |these: &[Value], others: &[Value]| -> Vec<String> {
        these.iter().filter(|one| others.contains(one)).map(brief).collect()
    };
    changes(out, path, (common(from, to), common(to, from)), only(from, to), only(to, from));
}

fn named_items(out: &mut Vec<Difference>, path: &str, field: &str, from: &[Value], to: &[Value]) {
    let name = |item: &Value| item.get(field).map(brief).unwrap_or_default();
    let find =
        |items: &[Value], wanted: &str| items.iter().find(|item| name(item) == wanted).cloned();
    let (mut removed, mut from_names) = (Vec::new(), Vec::new());
    for item in from {
        let name = name(item);
        match find(to, &name) {
            Some(other) => {
                values(out, &joined(path, &name), item, &other);
                from_names.push(name);
            }
            None => removed.push(item.clone()),
        }
    }
    let (mut added, mut to_names) = (Vec::new(), Vec::new());
    for item in to {
        match find(from, &name(item)) {
            Some(_) => to_names.push(name(item)),
            None => added.push(item.clone()),
        }
    }
    changes(out, path, (from_names, to_names), removed, added);
}

fn changes(
    out: &mut Vec<Difference>,
    path: &str,
    order: (Vec<String>, Vec<String>),
    removed: Vec<Value>,
    added: Vec<Value>,
) {
    let mut details = Vec::new();
    if order.0 != order.1 {
        details.push(Detail::Reordered(order.0, order.1));
    }
    if !removed.is_empty() {
        details.push(Detail::Removed(Value::Array(removed)));
    }
    if !added.is_empty() {
        details.push(Detail::Added(Value::Array(added)));
    }
    if !details.is_empty() {
        out.push(Difference { path: shown(path), details });
    }
}

/// Whether all items have a field, each with a value of its own.
fn is_named(items: &[Value], field: &str) -> bool {
    let names: Option<Vec<String>> =
        items.iter().map(|item| item.as_object()?.get(field).map(brief)).collect();
    names.is_some_and(|mut names| {
        let count = names.len();
        names.sort();
        names.dedup();
        names.len() == count
    })
}

fn brief(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Detail, differences};

    #[test]
    fn fields_come_and_go_before_what_changes_inside() {
        let from = json!({"a": {"x": 1, "y": 2}, "b": [{"name": "p", "v": 1}]});
        let to = json!({"a": {"y": 3, "z": 4}, "b": [{"name": "p", "v": 2}, {"name": "q"}]});
        let found = differences(&from, &to);
        let paths: Vec<&str> = found.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(paths, ["a", "a.y", "b.p.v", "b"]);
        assert_eq!(
            found[0].details,
            [Detail::Removed(json!({"x": 1})), Detail::Added(json!({"z": 4}))]
        );
        assert_eq!(found[3].details, [Detail::Added(json!([{"name": "q"}]))]);
    }

    #[test]
    fn plain_lists_are_compared_as_sets_with_an_order() {
        let found = differences(&json!({"a": ["x", "y"]}), &json!({"a": ["y", "x"]}));
        let order = |texts: [&str; 2]| texts.map(str::to_owned).to_vec();
        assert_eq!(found[0].details, [Detail::Reordered(order(["x", "y"]), order(["y", "x"]))]);
    }
}
