//! Expansion of `$(NAME)`: `$$` is a dollar sign, and anything else is unchanged.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The value of a var.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
    /// A list or a map, which cannot be part of a string; references to it stay.
    Other,
}

impl Value {
    /// The value inside a string.
    fn printed(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Integer(number) => number.to_string(),
            Self::Bool(truth) => truth.to_string(),
            Self::Float(number) => general(*number),
            Self::Other => String::new(),
        }
    }
}

/// A float as Go's `%v` prints it.
fn general(number: f64) -> String {
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        return number.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// Replaces references. A single reference keeps the type of its value.
pub(super) fn expand(
    text: &str,
    values: &BTreeMap<String, Value>,
    used: &mut BTreeSet<String>,
) -> Value {
    let mut out: Vec<u8> = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.extend(before.as_bytes());
        let mut letters = after.chars();
        rest = match letters.next() {
            None => {
                out.push(b'$');
                after
            }
            Some('$') => {
                out.push(b'$');
                letters.as_str()
            }
            Some('(') => {
                let inner = letters.as_str();
                let Some((name, behind)) = inner.split_once(')') else {
                    out.extend(b"$(");
                    rest = inner;
                    continue;
                };
                let value = values.get(name).filter(|value| **value != Value::Other);
                if let Some(value) = value {
                    used.insert(name.to_owned());
                    if text.len() == name.len() + 3 {
                        return value.clone();
                    }
                    out.extend(value.printed().as_bytes());
                } else {
                    out.extend(format!("$({name})").as_bytes());
                }
                behind
            }
            Some(letter) => {
                // Go treats the first byte as a character, which splits multi-byte characters.
                let mut bytes = [0; 4];
                let bytes = letter.encode_utf8(&mut bytes).as_bytes();
                let (first, others) = bytes.split_first().unwrap_or((&0, &[]));
                out.push(b'$');
                out.extend(char::from(*first).to_string().as_bytes());
                out.extend(others);
                letters.as_str()
            }
        };
    }
    out.extend(rest.as_bytes());
    Value::Text(String::from_utf8(out).unwrap_or_else(|torn| encoded(torn.as_bytes())))
}

/// Binary data is written as base64, in lines as go-yaml breaks them.
fn encoded(bytes: &[u8]) -> String {
    const LINE: usize = 70;
    let all = STANDARD.encode(bytes);
    if all.len() < LINE {
        return all;
    }
    let mut out = String::new();
    let mut rest = all.as_str();
    while !rest.is_empty() {
        let (line, behind) = rest.split_at(rest.len().min(LINE));
        out.push_str(line);
        out.push('\n');
        rest = behind;
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::{Value, expand};

    #[test]
    fn references_are_replaced_and_everything_else_stays() {
        let text = |text: &str| Value::Text(text.to_owned());
        let values: BTreeMap<String, Value> = [
            ("A", text("a")),
            ("REF", text("$(A)")),
            ("EMPTY", text("")),
            ("N", Value::Integer(8)),
            ("F", Value::Float(1_000_000.0)),
            ("T", Value::Bool(true)),
            ("MAP", Value::Other),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let cases = [
            ("$(A)", text("a"), "A"),
            ("x$(A)-$(A)", text("xa-a"), "A"),
            ("$(N)", Value::Integer(8), "N"),
            ("$(N)$(T)", text("8true"), "N T"),
            ("f$(F)", text("f1e+06"), "F"),
            ("$$(A)", text("$(A)"), ""),
            ("$$$(A)", text("$a"), "A"),
            ("$(REF)", text("$(A)"), "REF"),
            ("a$(EMPTY)b", text("ab"), "EMPTY"),
            ("$(NONE)", text("$(NONE)"), ""),
            ("$(MAP)", text("$(MAP)"), ""),
            ("$(A", text("$(A"), ""),
            ("$($(A)", text("$($(A)"), ""),
            ("$A $? ${A} $", text("$A $? ${A} $"), ""),
            ("$é", text("JMODqQ=="), ""),
        ];
        for (input, expected, names) in cases {
            let mut used = BTreeSet::new();
            assert_eq!(expand(input, &values, &mut used), expected, "{input}");
            let used: Vec<String> = used.into_iter().collect();
            assert_eq!(used.join(" "), names, "{input}");
        }
    }
}
