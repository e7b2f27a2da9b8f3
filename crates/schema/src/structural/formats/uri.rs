//! What Go's `url.ParseRequestURI` accepts.

/// Whether `text` is an absolute URI or an absolute path.
pub fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
        return false;
    }
    if text == "*" {
        return true;
    }
    let Some((scheme, rest)) = split_scheme(text) else { return false };
    let rest = rest.split_once('?').map_or(rest, |(before, _)| before);
    if !rest.starts_with('/') {
        return !scheme.is_empty();
    }
    let path = match rest.strip_prefix("//") {
        Some(after) if !scheme.is_empty() => {
            let end = after.find('/').unwrap_or(after.len());
            if !is_authority(&after[..end]) {
                return false;
            }
            &after[end..]
        }
        _ => rest,
    };
    has_valid_escapes(path)
}

/// The scheme (empty if there is none) and what follows; `None` if the text starts with a colon.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    for (index, character) in text.char_indices() {
        match character {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if index > 0 => {}
            ':' if index == 0 => return None,
            ':' => return Some((&text[..index], &text[index + 1..])),
            _ => break,
        }
    }
    Some(("", text))
}

fn has_valid_escapes(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'%').all(|(index, _)| {
        let digits = bytes.get(index + 1..index + 3);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

fn is_authority(text: &str) -> bool {
    let (user, host) = match text.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, text),
    };
    if let Some(user) = user {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
        if !user.chars().all(allowed) || !has_valid_escapes(user) {
            return false;
        }
    }
    is_host(host)
}

fn is_host(text: &str) -> bool {
    let port_ok = |text: &str| {
        text.is_empty()
            || text
                .strip_prefix(':')
                .is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if let Some(inner) = text.strip_prefix('[') {
        let Some((address, port)) = inner.rsplit_once(']') else { return false };
        let address = address.split_once("%25").map_or(address, |(address, _)| address);
        return port_ok(port) && address.parse::<std::net::Ipv6Addr>().is_ok();
    }
    if let Some(colon) = text.rfind(':')
        && !port_ok(&text[colon..])
    {
        return false;
    }
    let allowed = |c: char| {
        !c.is_ascii() || c.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:[]<>\"%".contains(c)
    };
    text.chars().all(allowed) && has_host_escapes(text)
}

/// In hosts only bytes that are not ASCII, and the percent sign itself, may be escaped.
fn has_host_escapes(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'%').all(|(index, _)| {
        let digits = bytes.get(index + 1..index + 3);
        digits.is_some_and(|digits| {
            digits.iter().all(u8::is_ascii_hexdigit)
                && (digits == b"25" || !matches!(digits[0], b'0'..=b'7'))
        })
    })
}
