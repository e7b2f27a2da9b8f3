//! Regular expressions: RE2's language as Go reads it, run by a linear-time engine.

use regex::{Regex, RegexBuilder};

use super::{Call, Implementation};
use crate::value::{EvalError, Outcome, Value};

/// The most memory a compiled pattern may take.
const SIZE_LIMIT: usize = 4 << 20;
/// The highest count a repetition may have.
const REPEAT_LIMIT: u32 = 1000;

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Pattern(Regex);

impl Pattern {
    /// Compiles a pattern; the error is worded as Go's.
    pub(crate) fn new(pattern: &str) -> Result<Pattern, String> {
        let translated = translate(pattern)?;
        RegexBuilder::new(&translated)
            .size_limit(SIZE_LIMIT)
            .dfa_size_limit(SIZE_LIMIT)
            .build()
            .map(Pattern)
            .map_err(|error| wording(pattern, &error))
    }
}

fn go_error(what: &str, part: &str) -> String {
    format!("error parsing regexp: {what}: `{part}`")
}

fn wording(pattern: &str, error: &regex::Error) -> String {
    let text = error.to_string();
    let has = |part: &str| text.contains(part);
    if has("unclosed group") {
        go_error("missing closing )", pattern)
    } else if has("unopened group") {
        go_error("unexpected )", pattern)
    } else if has("unclosed character class") {
        let start = pattern.rfind('[').unwrap_or(0);
        go_error("missing closing ]", &pattern[start..])
    } else if has("repetition operator missing expression") {
        let operator = pattern.find(['*', '+', '?']).map_or("", |at| &pattern[at..=at]);
        go_error("missing argument to repetition operator", operator)
    } else if has("look-around") {
        let start = pattern.find("(?").unwrap_or(0);
        let end =
            pattern[start..].char_indices().nth(3).map_or(pattern.len(), |(at, _)| start + at);
        go_error("invalid or unsupported Perl syntax", &pattern[start..end])
    } else {
        go_error("invalid pattern", pattern)
    }
}

/// Rewrites what Go and this engine read differently: the classes of letters, digits and spaces
/// are ASCII, a class knows no operators and no nested classes, and `\Q..\E` quotes.
fn translate(pattern: &str) -> Result<String, String> {
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern.chars().peekable();
    let mut class = false;
    // What stands before a repetition operator decides whether there may be one.
    let mut before = Before::Nothing;
    while let Some(character) = rest.next() {
        if class {
            match character {
                '\\' => escape(next_escaped(&mut rest)?, true, &mut out)?,
                '[' if rest.peek() == Some(&':') => {
                    out.push('[');
                    // A named class ends in its own bracket.
                    for next in rest.by_ref() {
                        out.push(next);
                        if next == ']' {
                            break;
                        }
                    }
                }
                '[' | '&' | '~' => out.extend(['\\', character]),
                '-' if rest.peek() == Some(&'-') => out.push_str("\\-"),
                ']' => {
                    class = false;
                    out.push(']');
                }
                _ => out.push(character),
            }
            continue;
        }
        let was = std::mem::replace(&mut before, Before::Item);
        match character {
            '\\' => {
                let escaped = next_escaped(&mut rest)?;
                if escaped == 'Q' {
                    let mut quoted = String::new();
                    while let Some(next) = rest.next() {
                        if next == '\\' && rest.peek() == Some(&'E') {
                            rest.next();
                            break;
                        }
                        quoted.push(next);
                    }
                    out.push_str(&regex::escape(&quoted));
                } else {
                    escape(escaped, false, &mut out)?;
                    if matches!(escaped, 'p' | 'P' | 'x') && rest.peek() == Some(&'{') {
                        for next in rest.by_ref() {
                            out.push(next);
                            if next == '}' {
                                break;
                            }
                        }
                    }
                }
            }
            '[' => {
                class = true;
                out.push('[');
                if rest.peek() == Some(&'^') {
                    rest.next();
                    out.push('^');
                }
                if rest.peek() == Some(&']') {
                    rest.next();
                    out.push_str("\\]");
                }
            }
            '*' | '+' | '?' => {
                before = repeated(was, character)?;
                out.push(character);
            }
            '(' => {
                before = Before::Nothing;
                out.push('(');
                if rest.peek() == Some(&'?') {
                    rest.next();
                    out.push('?');
                }
            }
            '|' => {
                before = Before::Nothing;
                out.push('|');
            }
            '{' => {
                let ahead: String = rest.clone().take_while(|next| *next != '}').collect();
                let closed = rest.clone().any(|next| next == '}');
                match repetition(&ahead).filter(|_| closed) {
                    Some(most) if most > REPEAT_LIMIT => {
                        let part = format!("{{{ahead}}}");
                        return Err(go_error("invalid repeat count", &part));
                    }
                    Some(_) => {
                        before = repeated(was, '{')?;
                        out.push('{');
                        out.push_str(&ahead);
                        out.push('}');
                        rest.nth(ahead.chars().count());
                    }
                    None => out.push_str("\\{"),
                }
            }
            '}' => out.push_str("\\}"),
            _ => out.push(character),
        }
    }
    Ok(out)
}

/// What stands before a repetition operator.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    Nothing,
    Item,
    Repetition,
    Lazy,
}

fn repeated(before: Before, operator: char) -> Result<Before, String> {
    match (before, operator) {
        (Before::Nothing, _) => {
            Err(go_error("missing argument to repetition operator", &operator.to_string()))
        }
        (Before::Item, _) => Ok(Before::Repetition),
        (Before::Repetition, '?') => Ok(Before::Lazy),
        _ => {
            let part = format!("{operator}{operator}");
            Err(go_error("invalid nested repetition operator", &part))
        }
    }
}

fn next_escaped(rest: &mut impl Iterator<Item = char>) -> Result<char, String> {
    rest.next().ok_or_else(|| {
        "error parsing regexp: trailing backslash at end of expression: ``".to_owned()
    })
}

/// The highest count of `n`, `n,` or `n,m`.
fn repetition(text: &str) -> Option<u32> {
    let (least, most) = text.split_once(',').unwrap_or((text, text));
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().unwrap_or(u32::MAX))
    };
    let least = number(least)?;
    if most.is_empty() { Some(least) } else { number(most).map(|most| most.max(least)) }
}

fn escape(escaped: char, class: bool, out: &mut String) -> Result<(), String> {
    let (inside, negated) = match escaped {
        'd' => ("0-9", false),
        'D' => ("0-9", true),
        'w' => ("0-9A-Za-z_", false),
        'W' => ("0-9A-Za-z_", true),
        's' => (r"\t\n\x0C\r ", false),
        'S' => (r"\t\n\x0C\r ", true),
        'b' if !class => {
            out.push_str(r"(?-u:\b)");
            return Ok(());
        }
        'A' | 'z' | 'B' if !class => {
            out.push('\\');
            out.push(escaped);
            return Ok(());
        }
        'a' | 'f' | 't' | 'n' | 'r' | 'v' | 'x' | 'p' | 'P' => {
            out.push('\\');
            out.push(escaped);
            return Ok(());
        }
        '0'..='7' => return octal(escaped, out),
        other if other.is_ascii_alphanumeric() => {
            return Err(go_error("invalid escape sequence", &format!("\\{other}")));
        }
        other => {
            out.push_str(&regex::escape(&other.to_string()));
            return Ok(());
        }
    };
    match (class, negated) {
        (true, false) => out.push_str(inside),
        (_, true) => out.extend(["[^", inside, "]"]),
        (false, false) => out.extend(["[", inside, "]"]),
    }
    Ok(())
}

fn octal(first: char, out: &mut String) -> Result<(), String> {
    if first == '0' {
        out.push_str("\\x00");
        return Ok(());
    }
    Err(go_error("invalid escape sequence", &format!("\\{first}"))).inspect_err(|_| out.clear())
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
