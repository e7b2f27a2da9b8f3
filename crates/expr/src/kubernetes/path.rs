//! Paths to values, and the `fieldPath` of rules.

use crate::schema::Schema;

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// A field, or the `fieldPath` of a rule.
    Field(String),
    /// A map's key.
    Key(String),
    /// A list's index.
    Index(usize),
}

/// A path as messages print it.
pub fn display_path(segments: &[Segment]) -> String {
    let mut out = String::new();
    for segment in segments {
        match segment {
            Segment::Field(name) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(name);
            }
            Segment::Key(key) => out.extend(["[", key, "]"]),
            Segment::Index(index) => out.extend(["[", &index.to_string(), "]"]),
        }
    }
    out
}

/// Reads a `fieldPath` and checks that the schema has what it names.
pub(super) fn parse(text: &str, schema: &Schema) -> Result<Vec<Segment>, String> {
    let mut schema = schema;
    let mut segments = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let token = next(&mut rest);
        let name = match token.as_str() {
            "." => {
                if rest.is_empty() {
                    return Err("unexpected end of JSON path".to_owned());
                }
                next(&mut rest)
            }
            "[" => {
                if rest.is_empty() {
                    return Err("unexpected end of JSON path".to_owned());
                }
                let quoted = next(&mut rest);
                let inner = quoted.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
                let Some(inner) = inner.filter(|_| quoted.len() >= 2) else {
                    return Err(format!("expected single quoted string but got {quoted}"));
                };
                let name = unquote(inner)?;
                if rest.is_empty() {
                    return Err("unexpected end of JSON path".to_owned());
                }
                let close = next(&mut rest);
                if close != "]" {
                    return Err(format!("expected ] but got {close}"));
                }
                name
            }
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        let missing = || "does not refer to a valid field".to_owned();
        if let Some(properties) = &schema.properties {
            schema = properties.get(&name).ok_or_else(missing)?;
            segments.push(Segment::Field(name));
        } else if let Some(additional) = schema.additional.as_deref() {
            schema = additional;
            segments.push(Segment::Key(name));
        } else {
            return Err(missing());
        }
    }
    Ok(segments)
}

/// A delimiter, a quoted string, or what stands before the next delimiter.
fn next(rest: &mut &str) -> String {
    let bytes = rest.as_bytes();
    let end = if bytes[0] == b'\'' {
        (1..bytes.len())
            .find(|&at| bytes[at] == b'\'' && bytes[at - 1] != b'\\')
            .map_or(bytes.len(), |at| at + 1)
    } else {
        rest.find(['.', '[', ']']).unwrap_or(rest.len()).max(1)
    };
    let (token, after) = rest.split_at(end);
    *rest = after;
    token.to_owned()
}

fn unquote(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        match characters.next() {
            Some('a') => out.push('\u{7}'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('v') => out.push('\u{b}'),
            Some(same @ ('\'' | '\\')) => out.push(same),
            other => {
                let shown = other.map_or(String::new(), String::from);
                return Err(format!("invalid string literal: invalid escape char \\{shown}"));
            }
        }
    }
    Ok(out)
}
