//! Functions on strings. Positions count characters.

use sluice_base::go::quote::quote_named;

use super::{Call, Implementation, format};
use crate::value::{EvalError, List, Outcome, TEXT_LIMIT, Value};

pub(super) fn find(name: &str) -> Option<Implementation> {
    Some(match name {
        "contains" | "startsWith" | "endsWith" => tests,
        "charAt" => char_at,
        "lowerAscii" | "upperAscii" | "trim" | "strings.quote" => simple,
        "replace" => replace,
        "split" => split,
        "substring" => substring,
        "join" => join,
        "format" => format::format,
        _ => return None,
    })
}

fn out_of_range(index: i64) -> EvalError {
    EvalError::new(format!("index out of range: {index}"))
}

fn tests<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let (Some(text), Some(part)) = (args[0].as_str(), args[1].as_str()) else {
        return Err(EvalError::no_such_overload());
    };
    Ok(Value::Bool(match call.function {
        "contains" => text.contains(part),
        "startsWith" => text.starts_with(part),
        _ => text.ends_with(part),
    }))
}

fn char_at<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let [Value::String(text), Value::Int(index)] = args else { return Err(call.mismatch(args)) };
    let at = usize::try_from(*index).map_err(|_| out_of_range(*index))?;
    match text.chars().nth(at) {
        Some(character) => Ok(Value::from(character.to_string())),
        None if at == text.chars().count() => Ok(Value::from(String::new())),
        None => Err(out_of_range(*index)),
    }
}

/// `indexOf` and `lastIndexOf` of a string; lists have their own.
pub(super) fn index_of<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let last = call.function == "lastIndexOf";
    let (text, part, offset) = match args {
        [Value::String(text), Value::String(part)] => (text, part, None),
        [Value::String(text), Value::String(part), Value::Int(offset)] => {
            (text, part, Some(*offset))
        }
        _ => return Err(call.mismatch(args)),
    };
    let length = text.chars().count();
    let count = i64::try_from(length).unwrap_or(i64::MAX);
    if part.is_empty() {
        return Ok(Value::Int(offset.unwrap_or(if last { count } else { 0 })));
    }
    if last && offset.is_none() && text.len() < part.len() {
        return Ok(Value::Int(-1));
    }
    let offset = offset.unwrap_or(if last { count - 1 } else { 0 });
    let at = usize::try_from(offset).map_err(|_| out_of_range(offset))?;
    if at >= length {
        return Ok(Value::Int(-1));
    }
    // Where each character up to the offset begins; from there on the text is searched.
    let mut starts = text.char_indices().map(|(byte, _)| byte);
    let found = if last {
        let starts: Vec<usize> = starts.take(at + 1).collect();
        starts.into_iter().rev().find(|start| text[*start..].starts_with(&**part))
    } else {
        let start = starts.nth(at).unwrap_or(text.len());
        text[start..].find(&**part).map(|found| start + found)
    };
    let position =
        found.map_or(-1, |byte| i64::try_from(text[..byte].chars().count()).unwrap_or(i64::MAX));
    Ok(Value::Int(position))
}

fn simple<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let [Value::String(text)] = args else { return Err(call.mismatch(args)) };
    Ok(Value::from(match call.function {
        "lowerAscii" => text.to_ascii_lowercase(),
        "upperAscii" => text.to_ascii_uppercase(),
        "trim" => text.trim_matches(is_space).to_owned(),
        _ => quote_named(text),
    }))
}

/// What Go takes for a space.
fn is_space(character: char) -> bool {
    character.is_whitespace()
}

/// How often at most: a negative number means always.
fn times(count: i64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn replace<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let (text, old, new, count) = match args {
        [Value::String(text), Value::String(old), Value::String(new)] => (text, old, new, -1),
        [Value::String(text), Value::String(old), Value::String(new), Value::Int(count)] => {
            (text, old, new, *count)
        }
        _ => return Err(call.mismatch(args)),
    };
    let places = text.matches(&**old).take(times(count)).count();
    if places.saturating_mul(new.len()).saturating_add(text.len()) > TEXT_LIMIT {
        return Err(EvalError::cost_limit());
    }
    Ok(Value::from(text.replacen(&**old, new, times(count))))
}

fn split<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let (text, separator, count) = match args {
        [Value::String(text), Value::String(separator)] => (text, separator, -1),
        [Value::String(text), Value::String(separator), Value::Int(count)] => {
            (text, separator, *count)
        }
        _ => return Err(call.mismatch(args)),
    };
    let count = times(count);
    if count == 0 {
        return Ok(Value::List(List::from(Vec::new())));
    }
    let owned = |part: &str| Value::from(part.to_owned());
    let parts = if separator.is_empty() {
        let mut parts = Vec::new();
        let mut rest: &str = text;
        while let Some(character) = rest.chars().next() {
            if parts.len() + 1 == count {
                parts.push(owned(rest));
                break;
            }
            let (first, after) = rest.split_at(character.len_utf8());
            parts.push(owned(first));
            rest = after;
        }
        parts
    } else {
        text.splitn(count, &**separator).map(owned).collect()
    };
    Ok(Value::from(parts))
}

fn substring<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let (text, start, end) = match args {
        [Value::String(text), Value::Int(start)] => (text, *start, None),
        [Value::String(text), Value::Int(start), Value::Int(end)] => (text, *start, Some(*end)),
        _ => return Err(call.mismatch(args)),
    };
    if let Some(end) = end
        && start > end
    {
        return Err(EvalError::new(format!("invalid substring range. start: {start}, end: {end}")));
    }
    let length = text.chars().count();
    let within = |index: i64| {
        usize::try_from(index).ok().filter(|at| *at <= length).ok_or_else(|| out_of_range(index))
    };
    let first = within(start)?;
    let last = end.map_or(Ok(length), within)?;
    let taken: String = text.chars().skip(first).take(last - first).collect();
    Ok(Value::from(taken))
}

fn join<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let (list, separator) = match args {
        [Value::List(list)] => (list, ""),
        [Value::List(list), Value::String(separator)] => (list, &**separator),
        _ => return Err(call.mismatch(args)),
    };
    let mut out = String::new();
    for (index, element) in list.iter().enumerate() {
        if index > 0 {
            out.push_str(separator);
        }
        if out.len() > TEXT_LIMIT {
            return Err(EvalError::cost_limit());
        }
        let element = element?;
        match element.as_str() {
            Some(text) => out.push_str(text),
            None if index == 0 => return Err(call.mismatch(args)),
            None => {
                let shown = super::convert::display(&element);
                return Err(EvalError::new(format!("join: invalid input: {shown}")));
            }
        }
    }
    Ok(Value::from(out))
}

/// `reverse` of a string; lists have their own.
pub(super) fn reverse<'v>(text: &str) -> Value<'v> {
    Value::from(text.chars().rev().collect::<String>())
}
