//! Values in Go syntax, which some of go-yaml's errors contain, and the bytes of `!!binary`.

use std::collections::BTreeMap;

use super::{Key, meaning};
use crate::gofmt;
use crate::resolve::Meaning;
use crate::tree::{EntryKind, Tree};

/// `text` in Go's double quotes.
fn quoted(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::from('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{B}' => out.push_str("\\v"),
            '\u{C}' => out.push_str("\\f"),
            control if u32::from(control) < 0x20 || u32::from(control) == 0x7F => {
                let _ = write!(out, "\\x{:02x}", u32::from(control));
            }
            hidden @ ('\u{80}'..='\u{A0}' | '\u{AD}' | '\u{2028}' | '\u{2029}' | '\u{FEFF}') => {
                let _ = write!(out, "\\u{:04x}", u32::from(hidden));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

fn float(value: f64) -> String {
    match gofmt::general(value).as_str() {
        ".inf" => "+Inf".to_owned(),
        "-.inf" => "-Inf".to_owned(),
        ".nan" => "NaN".to_owned(),
        text => text.to_owned(),
    }
}

/// A key as `%#v` prints it.
pub(super) fn key(key: &Key) -> String {
    match key {
        Key::Null => "<nil>".to_owned(),
        Key::Bool(truth) => truth.to_string(),
        Key::Integer(value) => value.to_string(),
        Key::Unsigned(value) => format!("{value:#x}"),
        Key::Float(bits) => float(f64::from_bits(*bits)),
        Key::Text(text) => quoted(text),
    }
}

/// The Go type of a key.
pub(super) fn key_type(key: &Key) -> &'static str {
    match key {
        Key::Null => "%!s(<nil>)",
        Key::Bool(_) => "bool",
        Key::Integer(_) => "int",
        Key::Unsigned(_) => "uint64",
        Key::Float(_) => "float64",
        Key::Text(_) => "string",
    }
}

/// The node at `index` as `%#v` prints its value. Merge keys are printed as they are written.
pub(super) fn value(tree: &Tree<'_>, index: usize) -> String {
    let Some(entry) = tree.entries.get(index) else { return "interface {}(nil)".to_owned() };
    match &entry.kind {
        EntryKind::Alias(_, target) => value(tree, *target),
        EntryKind::Scalar { value, tag, plain } => match meaning(value, tag.as_deref(), *plain) {
            Ok(Meaning::Null) => "interface {}(nil)".to_owned(),
            Ok(Meaning::Bool(truth)) => truth.to_string(),
            Ok(Meaning::Integer(number)) => number.to_string(),
            Ok(Meaning::Unsigned(number)) => format!("{number:#x}"),
            Ok(Meaning::Float(number)) => float(number),
            _ => quoted(value),
        },
        EntryKind::Sequence => {
            let items: Vec<String> = tree.children(index).map(|child| value(tree, child)).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        EntryKind::Mapping => {
            let mut fields = BTreeMap::new();
            let mut children = tree.children(index);
            while let (Some(name), Some(field)) = (children.next(), children.next()) {
                fields.insert(value(tree, name), value(tree, field));
            }
            let fields: Vec<String> =
                fields.into_iter().map(|(name, field)| format!("{name}:{field}")).collect();
            format!("map[interface {{}}]interface {{}}{{{}}}", fields.join(", "))
        }
    }
}

/// `bytes` as text; like Go's JSON encoder, every byte that is not UTF-8 becomes U+FFFD.
pub(super) fn lossy(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for _ in chunk.invalid() {
            out.push('\u{FFFD}');
        }
    }
    out
}

/// Standard base64 with padding; line breaks between the digits are skipped.
pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
    if !digits.len().is_multiple_of(4) {
        return None;
    }
    let mut out = Vec::with_capacity(digits.len() / 4 * 3);
    let groups = digits.len() / 4;
    for (number, group) in digits.chunks_exact(4).enumerate() {
        let padding = group.iter().rev().take_while(|byte| **byte == b'=').count();
        if padding > 2 || (padding > 0 && number + 1 != groups) {
            return None;
        }
        let mut bits = 0_u32;
        for &byte in &group[..4 - padding] {
            let value = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            bits = (bits << 6) | u32::from(value);
        }
        bits <<= 6 * padding;
        let bytes = bits.to_be_bytes();
        out.extend_from_slice(&bytes[1..4 - padding]);
    }
    Some(out)
}
