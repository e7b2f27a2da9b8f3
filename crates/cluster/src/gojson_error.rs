//! What Go's JSON parser says about a text that is no JSON.

/// The message of `encoding/json` for the error that `serde_json` found at the same place.
pub(crate) fn describe(body: &[u8], error: &serde_json::Error) -> String {
    if error.is_eof() || body.iter().all(u8::is_ascii_whitespace) {
        return "unexpected end of JSON input".to_owned();
    }
    let offset = offset(body, error.line(), error.column());
    let found = body.get(offset).copied().unwrap_or_default();
    let shown = match found {
        b'\'' => "'\\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        byte if byte.is_ascii_graphic() || byte == b' ' => format!("'{}'", char::from(byte)),
        b'\n' => "'\\n'".to_owned(),
        byte => format!("'\\x{byte:02x}'"),
    };
    let before = body[..offset].iter().rev().find(|byte| !byte.is_ascii_whitespace()).copied();
    let place = match before {
        None => "looking for beginning of value",
        Some(b'{') => "looking for beginning of object key string",
        Some(b',') if in_object(&body[..offset]) => "looking for beginning of object key string",
        Some(b',' | b'[' | b':') => "looking for beginning of value",
        Some(_) if in_object(&body[..offset]) && after_key(&body[..offset]) => "after object key",
        Some(_) if in_object(&body[..offset]) => "after object key:value pair",
        Some(_) if depth(&body[..offset]).is_empty() => "after top-level value",
        Some(_) => "after array element",
    };
    format!("invalid character {shown} {place}")
}

fn offset(body: &[u8], line: usize, column: usize) -> usize {
    let start: usize = body
        .split_inclusive(|byte| *byte == b'\n')
        .take(line.saturating_sub(1))
        .map(<[u8]>::len)
        .sum();
    (start + column.saturating_sub(1)).min(body.len().saturating_sub(1))
}

/// The brackets that are open at the end of `text`.
fn depth(text: &[u8]) -> Vec<u8> {
    let mut open = Vec::new();
    let (mut quoted, mut escaped) = (false, false);
    for byte in text {
        match (quoted, *byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (true, b'"') => quoted = false,
            (true, _) => {}
            (false, b'"') => quoted = true,
            (false, b'{' | b'[') => open.push(*byte),
            (false, b'}' | b']') => {
                open.pop();
            }
            (false, _) => {}
        }
    }
    open
}

fn in_object(text: &[u8]) -> bool {
    depth(text).last() == Some(&b'{')
}

/// Whether the last thing in an object was a key without its colon.
fn after_key(text: &[u8]) -> bool {
    let trimmed = text.trim_ascii_end();
    let Some(body) = trimmed.strip_suffix(b"\"") else { return false };
    let Some(start) = body.iter().rposition(|byte| *byte == b'"') else { return false };
    matches!(body[..start].trim_ascii_end().last(), Some(b'{' | b','))
}

#[cfg(test)]
mod tests {
    #[test]
    fn messages_are_gos() {
        let cases = [
            ("", "unexpected end of JSON input"),
            ("{\"a\":", "unexpected end of JSON input"),
            ("x", "invalid character 'x' looking for beginning of value"),
            ("{a}", "invalid character 'a' looking for beginning of object key string"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("{\"a\":1 2}", "invalid character '2' after object key:value pair"),
            ("[1 2]", "invalid character '2' after array element"),
            ("{} x", "invalid character 'x' after top-level value"),
        ];
        for (text, expected) in cases {
            let error = serde_json::from_str::<serde_json::Value>(text).unwrap_err();
            assert_eq!(super::describe(text.as_bytes(), &error), expected, "{text}");
        }
    }
}
