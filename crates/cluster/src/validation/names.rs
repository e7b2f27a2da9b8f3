//! Rules for names: DNS labels and subdomains, qualified names, ports, environment variables.
//!
//! Each function returns the messages of the violated rules, none for a valid name.

pub(crate) use sluice_base::names::{
    dns1035_label as dns_1035_label, dns1123_label as dns_label,
    dns1123_subdomain as dns_subdomain, label_key as qualified_name, label_value,
    mismatch as pattern_message,
};

use crate::kind::NameRule;

const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";

fn too_long(text: &str, limit: usize, unit: &str, messages: &mut Vec<String>) {
    if text.len() > limit {
        messages.push(format!("must be no more than {limit} {unit}"));
    }
}

fn is_lower(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn label_matches(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().copied().is_some_and(is_lower)
        && bytes.last().copied().is_some_and(is_lower)
        && bytes.iter().all(|&byte| is_lower(byte) || byte == b'-')
}

fn subdomain_matches(text: &str) -> bool {
    text.split('.').all(label_matches)
}

/// RFC 1123 subdomain with underscores in labels (DNS search paths).
pub(crate) fn dns_subdomain_with_underscore(text: &str) -> Vec<String> {
    let inner = |byte: u8| is_lower(byte) || byte == b'-' || byte == b'_';
    let matches = text.split('.').all(|label| {
        let label = label.strip_prefix('_').unwrap_or(label).as_bytes();
        label.first().copied().is_some_and(is_lower)
            && label.last().copied().is_some_and(is_lower)
            && label.iter().all(|&byte| inner(byte))
    });
    let mut messages = Vec::new();
    too_long(text, 253, "characters", &mut messages);
    if !matches {
        messages.push(pattern_message(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
            r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*",
            &["example.com"],
        ));
    }
    messages
}

/// `*.` and an RFC 1123 subdomain.
pub(crate) fn wildcard_subdomain(text: &str) -> Vec<String> {
    let mut messages = Vec::new();
    too_long(text, 253, "characters", &mut messages);
    if !text.strip_prefix("*.").is_some_and(subdomain_matches) {
        messages.push(pattern_message(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
            &format!(r"\*\.{SUBDOMAIN}"),
            &["*.example.com"],
        ));
    }
    messages
}

/// A C identifier.
pub(crate) fn c_identifier(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let matches = bytes.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    if matches {
        return Vec::new();
    }
    vec![pattern_message(
        "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
        "[A-Za-z_][A-Za-z0-9_]*",
        &["my_name", "MY_NAME", "MyName"],
    )]
}

/// The name of a port.
pub(crate) fn port_name(text: &str) -> Vec<String> {
    let mut messages = Vec::new();
    too_long(text, 15, "characters", &mut messages);
    let bytes = text.as_bytes();
    if bytes.is_empty() || !bytes.iter().all(|&byte| is_lower(byte) || byte == b'-') {
        messages.push(
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned(),
        );
    }
    if !bytes.iter().any(u8::is_ascii_lowercase) {
        messages.push("must contain at least one letter (a-z)".to_owned());
    }
    if text.contains("--") {
        messages.push("must not contain consecutive hyphens".to_owned());
    }
    if text.starts_with('-') || text.ends_with('-') {
        messages.push("must not begin or end with a hyphen".to_owned());
    }
    messages
}

/// `25%`.
pub(crate) fn percent(text: &str) -> Vec<String> {
    let digits = text.strip_suffix('%').unwrap_or_default();
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Vec::new();
    }
    vec![pattern_message(
        "a valid percent string must be a numeric string followed by an ending '%'",
        "[0-9]+%",
        &["1%", "93%"],
    )]
}

/// An HTTP header name.
pub(crate) fn http_header_name(text: &str) -> Vec<String> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return Vec::new();
    }
    vec![pattern_message(
        "a valid HTTP header must consist of alphanumeric characters or '-'",
        "[-A-Za-z0-9]+",
        &["X-Header-Name"],
    )]
}

/// The name of an environment variable; since 1.32 anything printable but `=`.
pub(crate) fn environment_name(text: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if text.is_empty() {
        messages.push("environment variable name must be non-empty".to_owned());
    }
    if text.bytes().any(|byte| !(b' '..=b'~').contains(&byte) || byte == b'=') {
        messages.push("a valid environment variable name must consist only of printable ASCII characters other than '='".to_owned());
    }
    messages
}

/// A key of a ConfigMap or Secret.
pub(crate) fn config_key(text: &str) -> Vec<String> {
    let mut messages = Vec::new();
    too_long(text, 253, "characters", &mut messages);
    let bytes = text.as_bytes();
    let good = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._".contains(byte);
    if bytes.is_empty() || !bytes.iter().all(good) {
        messages.push(pattern_message(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            "[-._a-zA-Z0-9]+",
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }
    match text {
        "." | ".." => messages.push(format!("must not be '{text}'")),
        _ if text.starts_with("..") => messages.push("must not start with '..'".to_owned()),
        _ => {}
    }
    messages
}

/// A name that is one segment of a URL path.
pub(crate) fn path_segment(text: &str) -> Vec<String> {
    if text == "." || text == ".." {
        return vec![format!("may not be '{text}'")];
    }
    path_segment_prefix(text)
}

fn path_segment_prefix(text: &str) -> Vec<String> {
    ["/", "%"]
        .iter()
        .filter(|part| text.contains(**part))
        .map(|part| format!("may not contain '{part}'"))
        .collect()
}

/// The messages of `rule` for a whole name or, with `prefix`, for a `generateName`.
pub(crate) fn by_rule(rule: NameRule, name: &str, prefix: bool) -> Vec<String> {
    if rule == NameRule::PathSegment {
        return if prefix { path_segment_prefix(name) } else { path_segment(name) };
    }
    // Upstream replaces the last *two* bytes by an `a`, so "a-" is validated as "a".
    let masked = (prefix && name.len() > 1 && name.ends_with('-'))
        .then(|| name.get(..name.len() - 2))
        .flatten()
        .map(|kept| format!("{kept}a"));
    let name = masked.as_deref().unwrap_or(name);
    match rule {
        NameRule::Subdomain | NameRule::PathSegment => dns_subdomain(name),
        NameRule::Label => dns_label(name),
        NameRule::Label1035 => dns_1035_label(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_names_pass_and_bad_ones_say_why() {
        type Rule = fn(&str) -> Vec<String>;
        let cases: &[(Rule, &str, &[&str])] = &[
            (dns_label, "a-1", &[]),
            (dns_label, "a.b", &["must not contain dots"]),
            (dns_subdomain, "a.b-c.d", &[]),
            (
                dns_subdomain,
                "-a",
                &[
                    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
                ],
            ),
            (dns_1035_label, "abc", &[]),
            (
                dns_1035_label,
                "1abc",
                &[
                    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
                ],
            ),
            (qualified_name, "example.com/Name_1", &[]),
            (qualified_name, "/x", &["prefix part must be non-empty"]),
            (port_name, "http", &[]),
            (
                port_name,
                "-80",
                &["must contain at least one letter (a-z)", "must not begin or end with a hyphen"],
            ),
            (config_key, "..", &["must not be '..'"]),
            (path_segment, "system:a", &[]),
            (path_segment, "a/b%", &["may not contain '/'", "may not contain '%'"]),
            (environment_name, "A B.c", &[]),
            (percent, "25%", &[]),
        ];
        for (rule, text, expected) in cases {
            assert_eq!(&rule(text), expected, "{text}");
        }
    }

    #[test]
    fn a_name_prefix_may_end_in_a_dash() {
        assert!(by_rule(NameRule::Subdomain, "abc-", true).is_empty());
        assert!(by_rule(NameRule::Label1035, "a-", true).is_empty());
        assert!(!by_rule(NameRule::Subdomain, "abc-", false).is_empty());
    }
}
