//! Functions on regular expressions in Go's syntax.

use regex::Regex;
use sluice_base::go::regexp;

use super::{Call, Implementation};
use crate::value::{EvalError, Outcome, Value};

/// The most memory a compiled pattern may take.
const SIZE_LIMIT: usize = 4 << 20;
/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Pattern(Regex);

impl Pattern {
    /// Compiles a pattern; the error is worded as Go's.
    pub(crate) fn new(pattern: &str) -> Result<Pattern, String> {
        regexp::compile_within(pattern, SIZE_LIMIT).map(Pattern).map_err(|error| error.to_string())
    }
}

pub(super) fn find(name: &str) -> Option<Implementation> {
    Some(match name {
        "matches" => matches,
        "find" => find_first,
        "findAll" => find_all,
        _ => return None,
    })
}

/// Runs `with` on the constant pattern, or on the one given.
fn run<'v>(
    call: &Call,
    pattern: &str,
    error: fn(&str) -> String,
    with: impl FnOnce(&Regex) -> Value<'v>,
) -> Outcome<'v> {
    if let Some(Pattern(regex)) = call.pattern {
        return Ok(with(regex));
    }
    let Pattern(regex) = Pattern::new(pattern).map_err(|why| EvalError::new(error(&why)))?;
    Ok(with(&regex))
}

fn matches<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    match (&args[0], &args[1]) {
        (Value::String(text), Value::String(pattern)) => {
            run(call, pattern, str::to_owned, |regex| Value::Bool(regex.is_match(text)))
        }
        (_, Value::String(pattern)) if call.pattern.is_some() => {
            let text = searched(call, args)?;
            run(call, pattern, str::to_owned, |regex| Value::Bool(regex.is_match(text)))
        }
        (Value::String(_) | Value::Timestamp(_) | Value::Duration(_), _) => {
            Err(EvalError::no_such_overload())
        }
        _ => Err(EvalError::new("no such overload: matches")),
    }
}

fn illegal(why: &str) -> String {
    format!("Illegal regex: {why}")
}

/// The text to search: with a constant pattern also a type's name, and what is none is refused in
/// fewer words.
fn searched<'a>(call: &Call, args: &'a [Value]) -> Result<&'a str, EvalError> {
    match &args[0] {
        Value::String(text) => Ok(text),
        Value::Type(name) if call.pattern.is_some() => Ok(name),
        _ if call.pattern.is_some() => Err(EvalError::no_such_overload()),
        _ => Err(call.mismatch(args)),
    }
}

fn find_first<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let [_, Value::String(pattern)] = args else { return Err(call.mismatch(args)) };
    let text = searched(call, args)?;
    run(call, pattern, illegal, |regex| {
        Value::from(regex.find(text).map_or(String::new(), |found| found.as_str().to_owned()))
    })
}

fn find_all<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let (pattern, count) = match args {
        [_, Value::String(pattern)] => (pattern, -1),
        [_, Value::String(pattern), Value::Int(count)] => (pattern, *count),
        [_, Value::String(pattern), other] if call.pattern.is_some() => match other {
            Value::Optional(Some(inner)) if matches!(**inner, Value::Int(_)) => {
                let Value::Int(count) = **inner else { return Err(call.mismatch(args)) };
                (pattern, count)
            }
            _ => return Err(EvalError::no_such_overload()),
        },
        _ => return Err(call.mismatch(args)),
    };
    let text = searched(call, args)?;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    run(call, pattern, illegal, |regex| {
        let found = regex.find_iter(text).take(count);
        Value::from(found.map(|part| Value::from(part.as_str().to_owned())).collect::<Vec<_>>())
    })
}
