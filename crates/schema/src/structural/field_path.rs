//! Paths into objects as `selectableFields` and the `fieldPath` of CEL rules write them:
//! `.spec.color`, `.spec['with.dot']`.

use super::{Additional, Schema};
use crate::field::Path;

/// A path that exists in a schema.
#[derive(Debug, Clone)]
pub struct FieldPath<'a> {
    /// The path in the notation of field errors.
    pub path: Path,
    /// Its first step.
    pub root: String,
    /// The schema of the field it leads to.
    pub schema: &'a Schema,
}

/// Follows `text` through `schema`. The error says what is wrong with the path.
pub fn resolve<'a>(
    text: &str,
    schema: &'a Schema,
    allow_brackets: bool,
) -> Result<FieldPath<'a>, String> {
    let mut found = FieldPath { path: Path::default(), root: String::new(), schema };
    let tokens = tokenize(text);
    let mut tokens = tokens.iter().map(String::as_str);
    let end = || "unexpected end of JSON path".to_owned();
    while let Some(token) = tokens.next() {
        match token {
            "[" if !allow_brackets => return Err("array notation is not allowed".to_owned()),
            "[" => {
                let token = tokens.next().ok_or_else(end)?;
                let inner = token
                    .strip_prefix('\'')
                    .and_then(|token| token.strip_suffix('\''))
                    .ok_or_else(|| format!("expected single quoted string but got {token}"))?;
                step(&mut found, &inner.replace("\\'", "'").replace("\\\\", "\\"))?;
                let token = tokens.next().ok_or_else(end)?;
                if token != "]" {
                    return Err(format!("expected ] but got {token}"));
                }
            }
            "." => {
                let name = tokens.next().ok_or_else(end)?;
                step(&mut found, name)?;
            }
            other => return Err(format!("expected [ or . but got: {other}")),
        }
    }
    Ok(found)
}

fn step(found: &mut FieldPath<'_>, name: &str) -> Result<(), String> {
    let invalid = || "does not refer to a valid field".to_owned();
    let schema = found.schema;
    if !schema.properties.is_empty() {
        found.path = found.path.child(name);
        found.schema = schema.properties.get(name).ok_or_else(invalid)?;
    } else if let Some(additional) = &schema.additional_properties {
        found.path = found.path.key(name);
        found.schema = Additional::schema(additional).ok_or_else(invalid)?;
    } else {
        return Err(invalid());
    }
    if found.root.is_empty() {
        name.clone_into(&mut found.root);
    }
    Ok(())
}

/// Dots, brackets and what is between them; a quoted text is one token.
fn tokenize(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '.' | '[' | ']' => 1,
            '\'' => {
                let bytes = rest.as_bytes();
                let close = (1..bytes.len())
                    .find(|&index| bytes[index] == b'\'' && bytes[index - 1] != b'\\');
                match close {
                    Some(index) => index + 1,
                    None => rest.len(),
                }
            }
            _ => rest.find(['.', '[', ']']).unwrap_or(rest.len()),
        };
        tokens.push(rest[..length].to_owned());
        rest = &rest[length..];
    }
    tokens
}
