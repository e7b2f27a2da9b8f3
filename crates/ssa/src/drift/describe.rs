//! The differences of two objects, field by field, for people.

use std::fmt::Write as _;

use serde_json::Value;

/// A difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Names joined by dots; list items by their `name`, or by index.
    pub path: String,
    /// The live value.
    pub before: Option<Value>,
    /// The desired value.
    pub after: Option<Value>,
}

/// The differences, sorted by path.
pub fn differences(before: &Value, after: &Value) -> Vec<Difference> {
    let mut out = Vec::new();
    compare(&mut out, "", Some(before), Some(after));
    out
}

fn compare(out: &mut Vec<Difference>, path: &str, before: Option<&Value>, after: Option<&Value>) {
    match (before, after) {
        (before, after) if before == after => {}
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let names: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for name in names {
                compare(out, &joined(path, name), old.get(name), new.get(name));
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) => compare_lists(out, path, old, new),
        (before, after) => out.push(Difference {
            path: path.to_owned(),
            before: before.cloned(),
            after: after.cloned(),
        }),
    }
}

/// Items that all have names are matched by name, others by index.
fn compare_lists(out: &mut Vec<Difference>, path: &str, old: &[Value], new: &[Value]) {
    let name = |item: &Value| item.get("name").and_then(Value::as_str).map(str::to_owned);
    let all_named = old.iter().chain(new).all(|item| name(item).is_some());
    if all_named {
        let find = |items: &[Value], wanted: &str| {
            items.iter().find(|item| name(item).as_deref() == Some(wanted)).cloned()
        };
        let mut names: Vec<String> = old.iter().filter_map(name).collect();
        for added in new.iter().filter_map(name) {
            if !names.contains(&added) {
                names.push(added);
            }
        }
        for wanted in names {
            let (before, after) = (find(old, &wanted), find(new, &wanted));
            compare(out, &joined(path, &wanted), before.as_ref(), after.as_ref());
        }
    } else {
        for index in 0..old.len().max(new.len()) {
            compare(out, &joined(path, &index.to_string()), old.get(index), new.get(index));
        }
    }
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// The differences as text: path, kind of change, old and new value.
pub fn render(differences: &[Difference]) -> String {
    let mut out = String::new();
    for difference in differences {
        let _ = writeln!(out, "{}", difference.path);
        match (&difference.before, &difference.after) {
            (Some(before), Some(after)) => {
                let _ = writeln!(out, "  ± value change");
                lines(&mut out, '-', before);
                lines(&mut out, '+', after);
            }
            (None, Some(after)) => {
                let _ = writeln!(out, "  + added");
                lines(&mut out, '+', after);
            }
            (Some(before), None) => {
                let _ = writeln!(out, "  - removed");
                lines(&mut out, '-', before);
            }
            (None, None) => {}
        }
        out.push('\n');
    }
    out
}

fn lines(out: &mut String, sign: char, value: &Value) {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Object(_) | Value::Array(_) => {
            serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
        }
        other => other.to_string(),
    };
    for line in text.lines() {
        let _ = writeln!(out, "    {sign} {line}");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_name_the_field() {
        let before = json!({"spec": {"replicas": 3, "c": [{"name": "a", "image": "i:1"}], "x": 1}});
        let after =
            json!({"spec": {"replicas": 2, "c": [{"name": "a", "image": "i:2"}], "y": [1]}});
        let found = differences(&before, &after);
        let paths: Vec<&str> = found.iter().map(|found| found.path.as_str()).collect();
        assert_eq!(paths, ["spec.c.a.image", "spec.replicas", "spec.x", "spec.y"]);
        let text = render(&found);
        assert!(text.contains("spec.replicas\n  ± value change\n    - 3\n    + 2\n"), "{text}");
        assert!(text.contains("spec.x\n  - removed\n    - 1\n"), "{text}");
    }
}
