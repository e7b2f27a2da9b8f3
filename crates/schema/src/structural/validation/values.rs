//! Checks of one value alone: texts, formats, enumerations, duplicates.

use serde_json::{Number, Value};
use sluice_base::{go, gojson};

use super::outcome::{Failure, Outcome};
use super::{invalid_type, numbers};
use crate::field::ErrorType;
use crate::structural::{Schema, formats};

pub(super) fn check_text(text: &str, schema: &Schema, name: &str) -> Outcome {
    let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    if let Some(limit) = schema.max_length
        && length > limit
    {
        let message = format!("{name} in body should be at most {limit} chars long");
        let mut failure = Failure::new(name, ErrorType::TooLong, None, message);
        let unit = if limit == 1 { "byte" } else { "bytes" };
        failure.detail = Some(format!("may not be more than {limit} {unit}"));
        return Outcome::of(failure);
    }
    if let Some(limit) = schema.min_length
        && length < limit
    {
        let message = format!("{name} in body should be at least {limit} chars long");
        return Outcome::of(Failure::invalid(name, text.into(), message));
    }
    let Some(pattern) = &schema.pattern else { return Outcome::default() };
    let shown = match pattern.regex() {
        Ok(regex) if regex.is_match(text) => return Outcome::default(),
        Ok(_) => pattern.as_str().to_owned(),
        Err(why) => format!("{}, but pattern is invalid: {why}", pattern.as_str()),
    };
    let message = format!("{name} in body should match '{shown}'");
    Outcome::of(Failure::invalid(name, text.into(), message))
}

pub(super) fn check_format(text: &str, format: &str, name: &str) -> Outcome {
    if formats::matches(format, text) {
        Outcome::default()
    } else {
        Outcome::of(invalid_type(name, format, text))
    }
}

pub(super) fn has_duplicates(items: &[Value]) -> bool {
    items.iter().enumerate().any(|(index, item)| items[..index].contains(item))
}

pub(super) fn check_allowed(value: &Value, schema: &Schema, name: &str) -> Outcome {
    if schema.allowed.is_empty() || schema.allowed.iter().any(|allowed| converts(value, allowed)) {
        return Outcome::default();
    }
    let list: Vec<String> = schema
        .allowed
        .iter()
        .map(|allowed| match allowed {
            Value::String(text) => text.clone(),
            other => gojson::to_string(other),
        })
        .collect();
    let message = format!("{name} in body should be one of [{}]", list.join(" "));
    let mut failure = Failure::new(name, ErrorType::NotSupported, Some(value.clone()), message);
    let quoted: Vec<String> = list.iter().map(|text| go::quote(text)).collect();
    failure.detail = Some(format!("supported values: {}", quoted.join(", ")));
    Outcome::of(failure)
}

/// Whether `value`, converted to the Go type of `allowed`, equals it: an integer can be a float, a
/// float loses its fraction, an integer is even the text of its code point.
fn converts(value: &Value, allowed: &Value) -> bool {
    let float = |number: &Number| number.as_f64().unwrap_or_default();
    match (value, allowed) {
        (_, Value::Null) => false,
        (Value::Number(have), Value::Number(want)) => match (have.as_i64(), want.as_i64()) {
            (Some(have), Some(want)) => have == want,
            (None, Some(want)) => numbers::truncate(float(have)) == want,
            (_, None) => float(have).to_bits() == float(want).to_bits(),
        },
        (Value::Number(have), Value::String(want)) => have.as_i64().is_some_and(|code| {
            let character = u32::try_from(code).ok().and_then(char::from_u32);
            *want == character.unwrap_or(char::REPLACEMENT_CHARACTER).to_string()
        }),
        _ => value == allowed,
    }
}
