//! Literals: numbers, strings with their escapes, bytes.

use std::sync::Arc;

use crate::lexer::Token;
use crate::value::Value;

/// The value of a literal's text, or what is wrong with it.
pub(crate) fn value(token: Token, text: &str) -> Result<Value<'static>, String> {
    match token {
        Token::True => Ok(Value::Bool(true)),
        Token::False => Ok(Value::Bool(false)),
        Token::Null => Ok(Value::Null),
        Token::Int => int(text).map(Value::Int).ok_or_else(|| "invalid int literal".to_owned()),
        Token::Uint => uint(text).map(Value::Uint).ok_or_else(|| "invalid uint literal".to_owned()),
        Token::Float => {
            let value: f64 = text.parse().map_err(|_| "invalid double literal".to_owned())?;
            if value.is_finite() {
                Ok(Value::Double(value))
            } else {
                Err("invalid double literal".to_owned())
            }
        }
        Token::Bytes => {
            let bytes = unescape(&text[1..], true)?;
            Ok(Value::Bytes(Arc::from(bytes)))
        }
        _ => {
            let bytes = unescape(text, false)?;
            let text = String::from_utf8(bytes).map_err(|_| "unable to unescape string")?;
            Ok(Value::from(text))
        }
    }
}

fn int(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    match digits.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(&format!("{sign}{digits}"), 16).ok(),
        None => text.parse().ok(),
    }
}

fn uint(text: &str) -> Option<u64> {
    let digits = &text[..text.len() - 1];
    match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => digits.parse().ok(),
    }
}

/// The characters between the quotes, with escapes resolved unless the literal is raw.
fn unescape(text: &str, bytes: bool) -> Result<Vec<u8>, String> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let (text, raw) = match text.strip_prefix(['r', 'R']) {
        Some(rest) => (rest, true),
        None => (text.as_str(), false),
    };
    let quotes = if text.len() >= 6 && (text.starts_with("'''") || text.starts_with("\"\"\"")) {
        3
    } else {
        1
    };
    let inside = &text[quotes..text.len() - quotes];
    if raw || !inside.contains('\\') {
        return Ok(inside.as_bytes().to_vec());
    }
    let mut out = Vec::with_capacity(inside.len());
    let mut rest = inside;
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        if character == '\\' {
            rest = escape(rest, bytes, &mut out)?;
        } else {
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    Ok(out)
}

/// Resolves one escape after its backslash; returns the rest.
fn escape<'t>(rest: &'t str, bytes: bool, out: &mut Vec<u8>) -> Result<&'t str, String> {
    let wrong = || "unable to unescape string".to_owned();
    let kind = rest.chars().next().ok_or_else(wrong)?;
    let after = &rest[kind.len_utf8()..];
    let simple = match kind {
        'a' => Some(7),
        'b' => Some(8),
        'f' => Some(12),
        'n' => Some(b'\n'),
        'r' => Some(b'\r'),
        't' => Some(b'\t'),
        'v' => Some(11),
        '\\' => Some(b'\\'),
        '\'' => Some(b'\''),
        '"' => Some(b'"'),
        '`' => Some(b'`'),
        '?' => Some(b'?'),
        _ => None,
    };
    if let Some(byte) = simple {
        out.push(byte);
        return Ok(after);
    }
    let (code, rest) = match kind {
        'x' | 'X' => number(after, 2, 16)?,
        'u' if !bytes => number(after, 4, 16)?,
        'U' if !bytes => number(after, 8, 16)?,
        '0'..='3' => number(rest, 3, 8)?,
        _ => return Err(wrong()),
    };
    if bytes {
        out.push(u8::try_from(code).map_err(|_| wrong())?);
    } else {
        let character = char::from_u32(code).ok_or("invalid unicode code point")?;
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    }
    Ok(rest)
}

fn number(text: &str, digits: usize, radix: u32) -> Result<(u32, &str), String> {
    let wrong = || "unable to unescape string".to_owned();
    let (number, rest) = text.split_at_checked(digits).ok_or_else(wrong)?;
    Ok((u32::from_str_radix(number, radix).map_err(|_| wrong())?, rest))
}
