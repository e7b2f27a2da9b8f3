//! What the operators make of a value.

use std::borrow::Cow;

use super::parse::Operator;
use super::{Envsubst, MAX_OUTPUT, letters, pattern};

type Result<T> = std::result::Result<T, Envsubst>;

/// What one evaluation may still make, and how long it may still match patterns.
#[derive(Debug)]
pub(crate) struct Budget {
    pub(super) bytes: usize,
    pub(super) steps: usize,
}

/// Some seconds' worth; real patterns take a few steps for each byte of a value.
const MAX_STEPS: usize = 200_000_000;

impl Default for Budget {
    fn default() -> Self {
        Self { bytes: MAX_OUTPUT, steps: MAX_STEPS }
    }
}

impl Budget {
    pub(super) fn bytes(&mut self, count: usize) -> Result<()> {
        self.bytes = self.bytes.checked_sub(count).ok_or(Envsubst::TooLarge)?;
        Ok(())
    }

    /// Pays for one comparison of a pattern.
    pub(super) fn steps(&mut self, count: usize) -> Result<()> {
        self.steps = self.steps.checked_sub(count).ok_or(Envsubst::TooLong)?;
        Ok(())
    }
}

/// The result of an operator.
pub(super) fn apply<'v>(
    operator: Operator,
    value: &'v [u8],
    arguments: &[Vec<u8>],
    budget: &mut Budget,
) -> Result<Cow<'v, [u8]>> {
    let first = arguments.first().map(Vec::as_slice);
    let second = arguments.get(1).map(Vec::as_slice);
    let result = match operator {
        Operator::Length => Cow::Owned(value.len().to_string().into_bytes()),
        Operator::LowerFirst => Cow::Owned(letters::map_first(value, letters::to_lower)),
        Operator::Lower => Cow::Owned(letters::map(value, letters::to_lower)),
        Operator::UpperFirst => Cow::Owned(letters::map_first(value, letters::to_upper)),
        Operator::Upper => Cow::Owned(letters::map(value, letters::to_upper)),
        Operator::Substring => Cow::Borrowed(substring(value, first.unwrap_or_default(), second)),
        Operator::TrimShortestPrefix | Operator::TrimLongestPrefix => {
            let is_longest = operator == Operator::TrimLongestPrefix;
            Cow::Borrowed(trim(value, first.unwrap_or_default(), is_longest, budget)?)
        }
        Operator::TrimShortestSuffix | Operator::TrimLongestSuffix => {
            let is_longest = operator == Operator::TrimLongestSuffix;
            let pattern = letters::reverse(first.unwrap_or_default());
            let reversed = letters::reverse(value);
            Cow::Owned(letters::reverse(trim(&reversed, &pattern, is_longest, budget)?))
        }
        Operator::ReplaceFirst => {
            replace(value, first.unwrap_or_default(), second.unwrap_or_default(), 1, budget)?
        }
        Operator::ReplaceAll => {
            let (old, new) = (first.unwrap_or_default(), second.unwrap_or_default());
            replace(value, old, new, usize::MAX, budget)?
        }
        Operator::ReplacePrefix => match (first, second) {
            (Some(old), Some(new)) if value.starts_with(old) => {
                replace(value, old, new, 1, budget)?
            }
            _ => Cow::Borrowed(value),
        },
        Operator::ReplaceSuffix => match (first.and_then(|old| value.strip_suffix(old)), second) {
            (Some(rest), Some(new)) => Cow::Owned([rest, new].concat()),
            _ => Cow::Borrowed(value),
        },
        Operator::Default if value.is_empty() => Cow::Owned(arguments.concat()),
        Operator::Default
        | Operator::DefaultIfUnset
        | Operator::Required
        | Operator::Alternative
        | Operator::Plain => Cow::Borrowed(value),
    };
    budget.bytes(result.len())?;
    Ok(result)
}

/// Bytes from a position; a position or length that is no number gives the whole value.
fn substring<'v>(value: &'v [u8], position: &[u8], length: Option<&[u8]>) -> &'v [u8] {
    let Some(position) = integer(position) else { return value };
    let size = i64::try_from(value.len()).unwrap_or(i64::MAX);
    let start = if position < 0 { size.saturating_add(position).max(0) } else { position };
    let end = match length.map(integer) {
        None => size,
        Some(None) => return value,
        Some(Some(length)) if length < 0 => size.saturating_add(length),
        Some(Some(length)) => start.saturating_add(length).min(size),
    };
    let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
    range.and_then(|(start, end)| value.get(start..end)).unwrap_or_default()
}

/// `strconv.Atoi`: a sign and digits, nothing else.
fn integer(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The value without the start that a pattern matches. A pattern that is found to be malformed on the
/// way from the longest start to the shortest leaves the value as it is.
fn trim<'v>(
    value: &'v [u8],
    pattern: &[u8],
    is_longest: bool,
    budget: &mut Budget,
) -> Result<&'v [u8]> {
    let mut found = 0;
    for length in (1..=value.len()).rev() {
        let start = value.get(..length).unwrap_or_default();
        match pattern::matches(pattern, start, budget)? {
            None => return Ok(value),
            Some(false) => {}
            Some(true) => {
                found = length;
                if is_longest {
                    break;
                }
            }
        }
    }
    Ok(value.get(found..).unwrap_or_default())
}

/// `strings.Replace`: an empty text is found in front of every letter and at the end.
fn replace<'v>(
    value: &'v [u8],
    old: &[u8],
    new: &[u8],
    count: usize,
    budget: &mut Budget,
) -> Result<Cow<'v, [u8]>> {
    if old == new {
        return Ok(Cow::Borrowed(value));
    }
    let mut out = Vec::new();
    let mut rest = value;
    let mut left = count;
    while left > 0 {
        let width = letters::letters(rest).next().map_or(0, |(_, width)| width);
        let (before, after) = match find(rest, old, budget)? {
            // The first one stands in front of everything, later ones after one more letter.
            Some(0) if old.is_empty() && left < count => {
                if width == 0 {
                    break;
                }
                (width, width)
            }
            Some(at) => (at, at + old.len()),
            None => break,
        };
        budget.bytes(new.len())?;
        out.extend_from_slice(rest.get(..before).unwrap_or_default());
        out.extend_from_slice(new);
        rest = rest.get(after..).unwrap_or_default();
        left -= 1;
    }
    out.extend_from_slice(rest);
    Ok(Cow::Owned(out))
}

fn find(text: &[u8], part: &[u8], budget: &mut Budget) -> Result<Option<usize>> {
    let Some(&first) = part.first() else { return Ok(Some(0)) };
    let mut from = 0;
    while let Some(rest) = text.get(from..) {
        let Some(at) = rest.iter().position(|byte| *byte == first) else { return Ok(None) };
        budget.steps(part.len())?;
        if rest.get(at..).is_some_and(|rest| rest.starts_with(part)) {
            return Ok(Some(from + at));
        }
        from += at + 1;
    }
    Ok(None)
}
