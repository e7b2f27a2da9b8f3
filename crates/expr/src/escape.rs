//! Field names as identifiers: characters that identifiers lack are escaped with underscores.

/// Words that would not parse as a field.
const RESERVED: &[&str] = &[
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The escaped form of a keyword.
pub(crate) fn keyword(name: &str) -> Option<String> {
    RESERVED.contains(&name).then(|| format!("__{name}__"))
}

/// The identifier for a field, if there is one.
pub(crate) fn escape(name: &str) -> Option<String> {
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if let Some(escaped) = keyword(name) {
        return Some(escaped);
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(character) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("__") {
            out.push_str("__underscores__");
            rest = after;
            continue;
        }
        match character {
            '.' => out.push_str("__dot__"),
            '-' => out.push_str("__dash__"),
            '/' => out.push_str("__slash__"),
            c if c.is_ascii_alphanumeric() || c == '_' => out.push(c),
            _ => return None,
        }
        rest = &rest[1..];
    }
    Some(out)
}

/// The field an identifier stands for, if the identifier is well formed.
pub(crate) fn unescape(name: &str) -> Option<String> {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("__")
            && let Some(end) = after.find('_')
            && end > 0
            && after[end..].starts_with("__")
        {
            match &after[..end] {
                "underscores" => out.push_str("__"),
                "dot" => out.push('.'),
                "dash" => out.push('-'),
                "slash" => out.push('/'),
                word if RESERVED.contains(&word) && after.len() == end + 2 && out.is_empty() => {
                    out.push_str(word);
                }
                _ => return None,
            }
            rest = &after[end + 2..];
        } else {
            let character = rest.chars().next()?;
            out.push(character);
            rest = &rest[character.len_utf8()..];
        }
    }
    Some(out)
}
