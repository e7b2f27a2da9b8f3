//! What Go's `net/mail.ParseAddress` accepts: `user@host` or `Some Name <user@host>`.

/// Whether `text` is one mail address, with or without a display name.
pub(super) fn is_email(text: &str) -> bool {
    let text = trim(text);
    if let Some(rest) = skip_address(text) {
        return skip_comments(rest) == Some("");
    }
    let Some(rest) = skip_phrase(text) else { return false };
    let Some(inner) = trim(rest).strip_prefix('<') else { return false };
    let Some(rest) = skip_address(trim(inner)) else { return false };
    let Some(rest) = trim(rest).strip_prefix('>') else { return false };
    skip_comments(rest) == Some("")
}

fn trim(text: &str) -> &str {
    text.trim_start_matches([' ', '\t'])
}

fn is_atom(character: char) -> bool {
    character.is_ascii_alphanumeric()
        || !character.is_ascii()
        || "!#$%&'*+-/=?^_`{|}~".contains(character)
}

/// `user@host` at the start; returns what follows.
fn skip_address(text: &str) -> Option<&str> {
    let rest = match text.strip_prefix('"') {
        Some(quoted) => skip_quoted(quoted)?,
        None => skip_dot_atom(text)?,
    };
    let rest = trim(rest).strip_prefix('@')?;
    let rest = trim(rest);
    match rest.strip_prefix('[') {
        Some(literal) => {
            let (address, after) = literal.split_once(']')?;
            let address = address.strip_prefix("IPv6:").unwrap_or(address);
            address.parse::<std::net::IpAddr>().ok().map(|_| after)
        }
        None => skip_dot_atom(rest),
    }
}

fn skip_dot_atom(text: &str) -> Option<&str> {
    let end = text.find(|c| !is_atom(c) && c != '.').unwrap_or(text.len());
    let atom = &text[..end];
    let wellformed = !atom.is_empty() && atom.split('.').all(|part| !part.is_empty());
    wellformed.then_some(&text[end..])
}

fn skip_quoted(text: &str) -> Option<&str> {
    let mut escaped = false;
    for (index, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(&text[index + 1..]).filter(|_| index > 0),
            '\r' | '\n' => return None,
            _ => {}
        }
    }
    None
}

/// The words of a display name, possibly none.
fn skip_phrase(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        rest = trim(rest);
        if rest.starts_with('<') {
            return Some(rest);
        }
        rest = if let Some(quoted) = rest.strip_prefix('"') {
            skip_quoted(quoted)?
        } else {
            let end = rest.find(|c| !is_atom(c) && c != '.').unwrap_or(rest.len());
            if end == 0 {
                return None;
            }
            &rest[end..]
        };
    }
}

fn skip_comments(text: &str) -> Option<&str> {
    let mut rest = trim(text);
    while let Some(comment) = rest.strip_prefix('(') {
        rest = trim(comment.split_once(')')?.1);
    }
    Some(rest)
}
