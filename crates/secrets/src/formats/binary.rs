//! Any file: the string under `data`.

use crate::tree::{Branch, Item, Value};

pub(super) fn emit(branches: &[Branch]) -> Result<Vec<u8>, String> {
    let wrong = |problem: &str| Err(format!("error emitting binary store: {problem}"));
    let [branch] = branches else { return wrong("there must be exactly one tree branch") };
    let data = branch.iter().find_map(|item| match item {
        Item::Field(name, value) if name == "data" => Some(value),
        _ => None,
    });
    match data {
        Some(Value::Text(text)) => Ok(text.clone()),
        Some(_) => wrong("'data' key in tree does not have a string value"),
        None => wrong("no binary data found in tree"),
    }
}
