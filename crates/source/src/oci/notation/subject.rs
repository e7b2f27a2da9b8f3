//! Distinguished names, of policies and of signers.

use std::collections::BTreeMap;

/// A name by its parts, each of them once.
pub(super) type Subject = BTreeMap<String, String>;

/// The required parts of a name.
const MANDATORY: [&str; 3] = ["C", "ST", "O"];

/// Parses a name such as `C=US, ST=WA, O=acme`, in the format of RFC 4514.
pub(super) fn parse(name: &str) -> Result<Subject, String> {
    let bad = || {
        format!(
            "distinguished name (DN) {name:?} is not valid, it must contain 'C', 'ST' or 'S', and 'O' RDN attributes at a minimum, and follow RFC 4514 standard"
        )
    };
    let mut parts = Vec::new();
    let mut rest = name;
    loop {
        let (kind, after) = rest.split_once('=').ok_or_else(bad)?;
        let kind = kind.trim();
        let is_kind = |sign: char| sign.is_ascii_alphanumeric() || ".-".contains(sign);
        if kind.is_empty() || !kind.chars().all(is_kind) {
            return Err(bad());
        }
        let (value, end, after) = value(after).ok_or_else(bad)?;
        parts.push((kind.to_owned(), value));
        match end {
            None => break,
            Some('+') => {
                return Err(format!(
                    "distinguished name (DN) {name:?} has multi-valued RDN attributes, remove multi-valued RDN attributes as they are not supported"
                ));
            }
            Some(_) => rest = after,
        }
    }
    of(name, &parts)
}

/// A value up to its delimiter, without surrounding spaces unless they are escaped.
fn value(text: &str) -> Option<(String, Option<char>, &str)> {
    let mut bytes = Vec::new();
    // Escaped characters stay, even spaces at the end.
    let mut kept = 0;
    let mut signs = text.chars();
    let mut end = None;
    while let Some(sign) = signs.next() {
        match sign {
            ',' | ';' | '+' => {
                end = Some(sign);
                break;
            }
            '\\' => {
                let next = signs.next()?;
                if let Some(high) = next.to_digit(16) {
                    let low = signs.next()?.to_digit(16)?;
                    bytes.push(u8::try_from(high << 4 | low).ok()?);
                } else if " #=,+\";<>\\".contains(next) {
                    bytes.push(u8::try_from(next).ok()?);
                } else {
                    return None;
                }
                kept = bytes.len();
            }
            ' ' if bytes.is_empty() => {}
            // Encoded values and the quotes of older standards are not supported.
            '#' if bytes.is_empty() => return None,
            '"' | '<' | '>' => return None,
            sign => bytes.extend(sign.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    while bytes.len() > kept && bytes.last() == Some(&b' ') {
        bytes.pop();
    }
    Some((String::from_utf8(bytes).ok()?, end, signs.as_str()))
}

/// A name from its parts. Duplicate parts are ambiguous.
pub(super) fn of(name: &str, parts: &[(String, String)]) -> Result<Subject, String> {
    let mut subject = Subject::new();
    for (kind, value) in parts {
        let kind = match kind.to_uppercase().as_str() {
            "S" => "ST".to_owned(),
            other => other.to_owned(),
        };
        if subject.insert(kind.clone(), value.clone()).is_some() {
            return Err(format!(
                "distinguished name (DN) {name:?} has duplicate RDN attribute for {kind:?}, DN can only have unique RDN attributes"
            ));
        }
    }
    let is_missing = |kind: &&&str| subject.get(**kind).is_none_or(String::is_empty);
    match MANDATORY.iter().find(is_missing) {
        None => Ok(subject),
        Some(kind) => Err(format!(
            "distinguished name (DN) {name:?} has no mandatory RDN attribute for {kind:?}, it must contain 'C', 'ST' or 'S', and 'O' RDN attributes at a minimum"
        )),
    }
}

/// Whether all parts of a trusted name are in another.
pub(super) fn is_within(trusted: &Subject, other: &Subject) -> bool {
    trusted.iter().all(|(kind, value)| other.get(kind) == Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_what_is_ambiguous_is_not() {
        let read = |text: &str| {
            let parts = parse(text).ok()?;
            let parts: Vec<String> =
                parts.iter().map(|(kind, value)| format!("{kind}={value}|")).collect();
            Some(parts.concat())
        };
        let base = "C=US|O=acme|ST=WA|";
        for (text, expected) in [
            ("C=US, ST=WA, O=acme", Some(base.to_owned())),
            ("c=US,s=WA,o=acme", Some(base.to_owned())),
            (" C = US ; ST= WA ;O=acme ", Some(base.to_owned())),
            ("C=US,ST=WA,O=acme\\, inc", Some("C=US|O=acme, inc|ST=WA|".to_owned())),
            ("C=US,ST=WA,O=acme\\2C inc", Some("C=US|O=acme, inc|ST=WA|".to_owned())),
            ("C=US,ST=WA,O=a\\=b\\ ", Some("C=US|O=a=b |ST=WA|".to_owned())),
            ("C=US,ST=WA,O=caf\\C3\\A9", Some("C=US|O=café|ST=WA|".to_owned())),
            ("C=US,ST=WA,O=acme,O=evil", None),
            ("C=US,ST=WA,S=CA,O=acme", None),
            ("C=US,ST=WA,O=acme+CN=x", None),
            ("C=US,ST=WA,O=#0401", None),
            ("C=US,ST=WA,O=\"acme\"", None),
            ("C=US,ST=WA,O=acme\\", None),
            ("C=US,ST=WA,O=acme\\C3", None),
            ("C=US,ST=WA,O=acme,", None),
            ("C=US,ST=WA,O=", None),
            ("CN=x", None),
            ("", None),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
