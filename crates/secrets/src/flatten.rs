//! Metadata in formats without nesting: `age__list_0__map_enc` is `enc` of the first item of `age`.

use std::collections::BTreeMap;

use crate::tree::{Branch, Item, Value};

const MAP: &str = "__map_";
const LIST: &str = "__list_";

/// The maximum nesting of a name; real ones have five at most.
const MAX_LEVELS: usize = 32;

#[derive(Default)]
struct Node {
    value: Option<Value>,
    fields: BTreeMap<String, Self>,
    items: BTreeMap<usize, Self>,
}

enum Step<'t> {
    Field(&'t str),
    Index(usize),
}

/// Converts flat names to nested fields.
pub(crate) fn unflatten(flat: Branch) -> Result<Branch, String> {
    let mut root = Node::default();
    for item in flat {
        let Item::Field(name, value) = item else { continue };
        let wrong = |problem: &str| format!("Error while unflattening {name:?}: {problem}");
        let steps = steps(&name);
        if steps.len() > MAX_LEVELS {
            return Err(wrong("too many levels"));
        }
        let mut node = &mut root;
        for step in steps {
            node = match step {
                Step::Field(name) => node.fields.entry(name.to_owned()).or_default(),
                Step::Index(index) => node.items.entry(index).or_default(),
            };
        }
        if node.value.replace(value).is_some() {
            return Err(wrong("Duplicate value"));
        }
    }
    match nested(root)? {
        Value::Branch(branch) => Ok(branch),
        _ => Err("Internal error: cannot find root".to_owned()),
    }
}

fn steps(name: &str) -> Vec<Step<'_>> {
    let mut out = Vec::new();
    // The start of the part, whether it is an index, and where to look for the next mark.
    let (mut start, mut is_index, mut from) = (0, false, 0);
    let mut push = |start: usize, end: usize, is_index: bool| {
        let part = name.get(start..end).unwrap_or_default();
        out.push(if is_index { Step::Index(part.parse().unwrap_or(0)) } else { Step::Field(part) });
    };
    while let Some(found) = name.get(from..).and_then(|rest| rest.find("__")) {
        let at = from + found;
        let rest = name.get(at..).unwrap_or_default();
        let mark = [MAP, LIST].into_iter().find(|mark| rest.starts_with(mark));
        let Some(mark) = mark else {
            from = at + 1;
            continue;
        };
        push(start, at, is_index);
        start = at + mark.len();
        (is_index, from) = (mark == LIST, start);
    }
    push(start, name.len(), is_index);
    out
}

fn nested(node: Node) -> Result<Value, String> {
    let wrong = |problem: &str| Err(format!("Error while unflattening: {problem}"));
    match (node.value, node.fields.is_empty(), node.items.is_empty()) {
        (None, true, true) => Ok(Value::Branch(Branch::new())),
        (Some(value), true, true) => Ok(value),
        (None, false, true) => {
            let fields = node.fields.into_iter();
            let fields = fields.map(|(name, node)| Ok(Item::Field(name, nested(node)?)));
            Ok(Value::Branch(fields.collect::<Result<_, String>>()?))
        }
        (None, true, false) => {
            if node.items.keys().enumerate().any(|(at, index)| at != *index) {
                return wrong("Incomplete list");
            }
            Ok(Value::List(node.items.into_values().map(nested).collect::<Result<_, _>>()?))
        }
        _ => wrong("Type mismatch"),
    }
}

#[cfg(test)]
mod tests {
    use super::unflatten;
    use crate::tree::{Item, Value};

    fn flat(names: &[&str]) -> Vec<Item> {
        names.iter().map(|name| Item::Field((*name).to_owned(), Value::text("x"))).collect()
    }

    #[test]
    fn names_become_lists_and_maps() {
        let tree = unflatten(flat(&[
            "mac",
            "age__list_1__map_enc",
            "age__list_0__map_enc",
            "kg__list_0__map_a__list_0",
        ]));
        let shown = format!("{:?}", tree.expect("it nests"));
        assert_eq!(
            shown,
            "[age: [[enc: [redacted string]], [enc: [redacted string]]], \
             kg: [[a: [[redacted string]]]], mac: [redacted string]]"
        );
    }

    #[test]
    fn names_that_contradict_are_refused() {
        for (names, problem) in [
            (&["a__list_1"][..], "Incomplete list"),
            (&["a", "a__map_b"], "Type mismatch"),
            (&["a", "a"], "Duplicate value"),
            (&["a__list_x", "a__list_0"], "Duplicate value"),
            (&["a__list_99999999999999999999999"], ""),
        ] {
            match unflatten(flat(names)) {
                Err(error) => assert!(error.contains(problem), "{error}"),
                Ok(_) => assert!(problem.is_empty(), "{names:?}"),
            }
        }
        unflatten(flat(&[&"a__map_".repeat(100_000)])).expect_err("it is too deep");
    }
}
