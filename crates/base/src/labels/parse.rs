//! The text form: a lexer over bytes, and a parser that knows one requirement at a time.

use super::{Operator, Requirement};
use crate::go::quote;
use crate::names::LabelTexts;

type Parsed<T> = Result<T, String>;

/// The releases of apimachinery that are in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Release {
    /// 0.35: the API server, kubectl and Flux.
    Current,
    /// 0.19, copied into kyaml: kustomize.
    Kyaml,
}

impl Release {
    fn texts(self) -> LabelTexts {
        match self {
            Self::Current => LabelTexts::CURRENT,
            Self::Kyaml => LabelTexts::KYAML,
        }
    }
}

/// A symbol, a word, or nothing at the end.
type Token<'t> = &'t str;

const SYMBOLS: &[u8] = b"=!(),><";

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn is_word(token: Token<'_>) -> bool {
    token.bytes().next().is_some_and(|first| !SYMBOLS.contains(&first))
}

/// Cuts a text into tokens. A zero byte ends a word, and the whole text where a token would start.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    loop {
        while bytes.get(at).copied().is_some_and(is_space) {
            at += 1;
        }
        let end = match bytes.get(at).copied() {
            None | Some(0) => return out,
            Some(first) if SYMBOLS.contains(&first) => {
                let is_double = matches!(bytes.get(at..at + 2), Some(b"==" | b"!="));
                at + 1 + usize::from(is_double)
            }
            Some(_) => {
                let ends = |byte: &u8| *byte == 0 || is_space(*byte) || SYMBOLS.contains(byte);
                bytes[at..].iter().position(ends).map_or(bytes.len(), |length| at + length)
            }
        };
        out.push(text.get(at..end).unwrap_or_default());
        let is_zero = bytes.get(end) == Some(&0);
        at = end + usize::from(is_zero);
    }
}

struct Parser<'t> {
    tokens: std::vec::IntoIter<Token<'t>>,
    release: Release,
}

/// Reads the requirements in the order of the text.
pub(super) fn parse(text: &str, release: Release) -> Parsed<Vec<Requirement>> {
    let mut parser = Parser { tokens: tokens(text).into_iter(), release };
    let mut out = Vec::new();
    match parser.peek() {
        "" => return Ok(out),
        token if is_word(token) || token == "!" => {}
        token => {
            return Err(format!("found '{token}', expected: !, identifier, or 'end of string'"));
        }
    }
    loop {
        let requirement = parser.requirement();
        out.push(requirement.map_err(|why| format!("unable to parse requirement: {why}"))?);
        match parser.take() {
            "" => return Ok(out),
            "," => match parser.peek() {
                token if is_word(token) || token == "!" => {}
                token => return Err(format!("found '{token}', expected: identifier after ','")),
            },
            token => return Err(format!("found '{token}', expected: ',' or 'end of string'")),
        }
    }
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Token<'t> {
        self.tokens.as_slice().first().copied().unwrap_or_default()
    }

    fn take(&mut self) -> Token<'t> {
        self.tokens.next().unwrap_or_default()
    }

    fn requirement(&mut self) -> Parsed<Requirement> {
        let mut key = self.take();
        let is_absent = key == "!";
        if is_absent {
            key = self.take();
        }
        if !is_word(key) {
            return Err(format!("found '{key}', expected: identifier"));
        }
        let problems = self.release.texts().key(key);
        if !problems.is_empty() {
            let (key, problems) = (quote(key), problems.join("; "));
            return Err(match self.release {
                // The key is checked with a path that is nil, and again with one that is not.
                Release::Current => format!("<nil>: Invalid value: {key}: {problems}"),
                Release::Kyaml => format!("invalid label key {key}: {problems}"),
            });
        }
        let (operator, values) = if is_absent {
            (Operator::DoesNotExist, Vec::new())
        } else if matches!(self.peek(), "" | ",") {
            (Operator::Exists, Vec::new())
        } else {
            let operator = self.operator()?;
            let values = match operator {
                Operator::In | Operator::NotIn => self.values()?,
                _ => vec![self.value()?],
            };
            (operator, values)
        };
        new(key, operator, values, self.release)
    }

    fn operator(&mut self) -> Parsed<Operator> {
        Ok(match self.take() {
            "in" => Operator::In,
            "notin" => Operator::NotIn,
            "=" => Operator::Equals,
            "==" => Operator::DoubleEquals,
            "!=" => Operator::NotEquals,
            ">" => Operator::GreaterThan,
            "<" => Operator::LessThan,
            token => {
                let expected = match self.release {
                    Release::Current => "in, notin, =, ==, !=, gt, lt",
                    Release::Kyaml => "'=', '!=', '==', 'in', notin'",
                };
                return Err(format!("found '{token}', expected: {expected}"));
            }
        })
    }

    /// The value behind `=`; nothing is the empty one.
    fn value(&mut self) -> Parsed<String> {
        match self.peek() {
            "" | "," => Ok(String::new()),
            token if is_word(token) => Ok(self.take().to_owned()),
            token => Err(format!("found '{token}', expected: identifier")),
        }
    }

    /// The values in parentheses, in order and each once.
    fn values(&mut self) -> Parsed<Vec<String>> {
        match self.take() {
            "(" => {}
            token => return Err(format!("found '{token}' expected: '('")),
        }
        let mut values = Vec::new();
        match self.peek() {
            ")" => values.push(String::new()),
            "," => self.list(&mut values)?,
            token if is_word(token) => self.list(&mut values)?,
            token => return Err(format!("found '{token}', expected: ',', ')' or identifier")),
        }
        self.take();
        values.sort_unstable();
        values.dedup();
        Ok(values)
    }

    /// Values up to the closing parenthesis, of which each may be empty.
    fn list(&mut self, values: &mut Vec<String>) -> Parsed<()> {
        loop {
            match self.take() {
                "," => {
                    if values.is_empty() {
                        values.push(String::new());
                    }
                    match self.peek() {
                        ")" => {
                            values.push(String::new());
                            return Ok(());
                        }
                        "," => {
                            values.push(String::new());
                            if self.release == Release::Kyaml {
                                self.take();
                            }
                        }
                        _ => {}
                    }
                }
                token if is_word(token) => {
                    values.push(token.to_owned());
                    match self.peek() {
                        "," => {}
                        ")" => return Ok(()),
                        token => return Err(format!("found '{token}', expected: ',' or ')'")),
                    }
                }
                token => return Err(format!("found '{token}', expected: ',', or identifier")),
            }
        }
    }
}

/// A requirement, if its key and values are valid.
pub(super) fn new(
    key: &str,
    operator: Operator,
    values: Vec<String>,
    release: Release,
) -> Parsed<Requirement> {
    let problems = match release {
        Release::Current => current_problems(key, operator, &values),
        Release::Kyaml => kyaml_problem(key, operator, &values).into_iter().collect(),
    };
    match problems.as_slice() {
        [] => Ok(Requirement { key: key.to_owned(), operator, values }),
        [one] => Err(one.clone()),
        several => Err(format!("[{}]", several.join(", "))),
    }
}

fn no_integer(operator: Operator, value: &str) -> bool {
    matches!(operator, Operator::GreaterThan | Operator::LessThan) && value.parse::<i64>().is_err()
}

const INTEGER: &str = "for 'Gt', 'Lt' operators, the value must be an integer";

/// What is wrong with the values, all of it. The key has been looked at.
fn current_problems(key: &str, operator: Operator, values: &[String]) -> Vec<String> {
    let texts = Release::Current.texts();
    let mut out = Vec::new();
    let problems = texts.key(key);
    if !problems.is_empty() {
        out.push(format!("key: Invalid value: {}: {}", quote(key), problems.join("; ")));
    }
    let shown = || {
        if values.is_empty() { "null".to_owned() } else { crate::gojson::to_string(&values.into()) }
    };
    match operator {
        Operator::In | Operator::NotIn if values.is_empty() => out.push(format!(
            "values: Invalid value: {}: for 'in', 'notin' operators, values set can't be empty",
            shown()
        )),
        Operator::Exists | Operator::DoesNotExist if !values.is_empty() => out.push(format!(
            "values: Invalid value: {}: values set must be empty for exists and does not exist",
            shown()
        )),
        _ => {}
    }
    for (index, value) in values.iter().enumerate() {
        if no_integer(operator, value) {
            out.push(format!("values[{index}]: Invalid value: {}: {INTEGER}", quote(value)));
        }
    }
    for (index, value) in values.iter().enumerate() {
        let problems = texts.value(value);
        if !problems.is_empty() {
            let (value, problems) = (quote(value), problems.join("; "));
            out.push(format!("values[{index}][{key}]: Invalid value: {value}: {problems}"));
        }
    }
    out
}

/// What is wrong with the values first.
fn kyaml_problem(key: &str, operator: Operator, values: &[String]) -> Option<String> {
    if values.iter().any(|value| no_integer(operator, value)) {
        return Some(INTEGER.to_owned());
    }
    values.iter().find_map(|value| {
        let problems = Release::Kyaml.texts().value(value);
        let (value, key) = (quote(value), quote(key));
        let why = format!("invalid label value: {value}: at key: {key}: {}", problems.join("; "));
        (!problems.is_empty()).then_some(why)
    })
}
