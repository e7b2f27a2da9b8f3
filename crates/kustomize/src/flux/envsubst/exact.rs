//! The operators of [`Dialect::Exact`](super::Dialect) that count or match: in characters, so that no
//! letter is cut.

use std::borrow::Cow;

use super::functions::{self, Budget};
use super::parse::{Call, Node, Operator};
use super::{Envsubst, pattern};

type Result<T> = std::result::Result<T, Envsubst>;

/// The result of an operator.
pub(super) fn apply<'v>(
    call: &Call<'_>,
    value: &'v [u8],
    arguments: &[Vec<u8>],
    budget: &mut Budget,
) -> Result<Cow<'v, [u8]>> {
    let Ok(text) = std::str::from_utf8(value) else {
        // What is no text has no characters; the caller refuses the result.
        return Ok(Cow::Borrowed(value));
    };
    let first = arguments.first().map(Vec::as_slice).unwrap_or_default();
    let result = match call.operator {
        Operator::Length => Cow::Owned(text.chars().count().to_string().into_bytes()),
        Operator::Substring => {
            let number = |argument: &[u8]| {
                let text = std::str::from_utf8(argument).ok().map(str::trim);
                let number = text.and_then(|text| text.parse().ok());
                number.ok_or_else(|| Envsubst::NotANumber(call.name.to_string()))
            };
            let length = arguments.get(1).map(|it| number(it)).transpose()?;
            Cow::Borrowed(substring(text, number(first)?, length).as_bytes())
        }
        Operator::TrimShortestPrefix | Operator::TrimLongestPrefix => {
            let longest = call.operator == Operator::TrimLongestPrefix;
            let ends = places(text).skip(1).map(|end| (end, text.get(..end).unwrap_or_default()));
            let end = found(ends.collect(), first, longest, budget)?.unwrap_or(0);
            Cow::Borrowed(text.get(end..).unwrap_or_default().as_bytes())
        }
        Operator::TrimShortestSuffix | Operator::TrimLongestSuffix => {
            let longest = call.operator == Operator::TrimLongestSuffix;
            let mut starts: Vec<_> =
                places(text).map(|start| (start, text.get(start..).unwrap_or_default())).collect();
            starts.pop();
            starts.reverse();
            let start = found(starts, first, longest, budget)?.unwrap_or(text.len());
            Cow::Borrowed(text.get(..start).unwrap_or_default().as_bytes())
        }
        _ => return functions::apply(call.operator, value, arguments, budget),
    };
    budget.bytes(result.len())?;
    Ok(result)
}

/// Where letters begin, and the end.
fn places(text: &str) -> impl Iterator<Item = usize> {
    text.char_indices().map(|(at, _)| at).chain([text.len()])
}

/// The place of the first part that a pattern matches, of those from the shortest to the longest.
fn found(
    mut parts: Vec<(usize, &str)>,
    pattern: &[u8],
    longest: bool,
    budget: &mut Budget,
) -> Result<Option<usize>> {
    if longest {
        parts.reverse();
    }
    for (at, part) in parts {
        if pattern::matches(pattern, part.as_bytes(), budget)? == Some(true) {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Characters from a position; negative numbers count from the end.
fn substring(text: &str, position: i64, length: Option<i64>) -> &str {
    let size = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let from_end = |number: i64| size.saturating_add(number).max(0);
    let start = if position < 0 { from_end(position) } else { position.min(size) };
    let end = match length {
        None => size,
        Some(length) if length < 0 => from_end(length),
        Some(length) => start.saturating_add(length).min(size),
    };
    let at = |number: i64| {
        let number = usize::try_from(number).unwrap_or_default();
        text.char_indices().nth(number).map_or(text.len(), |(at, _)| at)
    };
    text.get(at(start)..at(end.max(start))).unwrap_or_default()
}

/// What is written behind `:?`, unless a variable is in it: values are not shown.
pub(super) fn said(call: &Call<'_>) -> String {
    let parts: Option<Vec<_>> = call
        .arguments
        .iter()
        .map(|part| match part {
            Node::Text(text) => Some(String::from_utf8_lossy(text)),
            Node::Call(_) => None,
        })
        .collect();
    match parts {
        Some(parts) if !parts.is_empty() => format!(": {}", parts.concat()),
        _ => String::new(),
    }
}
