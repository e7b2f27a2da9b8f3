//! `known_hosts`: patterns, hashed names, ports and revoked keys, as in OpenSSH and Go.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ring::hmac;
use russh::keys::ssh_key::public::KeyData;
use russh::keys::ssh_key::{Algorithm, PublicKey};

/// The lines of one host.
#[derive(Debug, Clone, Default)]
pub(in crate::git) struct KnownHosts {
    keys: Vec<KeyData>,
    revoked: Vec<KeyData>,
}

/// The result of checking a host key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HostKey {
    /// It is a key of the host.
    Known,
    /// No key of the host is known.
    Unknown,
    /// Another key of the host is known.
    Mismatch,
    /// The key is revoked.
    Revoked,
}

impl KnownHosts {
    /// Parses the lines of a host and a port. Invalid lines are skipped, unless they revoke a key: then
    /// nothing is trusted. A key is revoked for every host, as in Go's library.
    pub(in crate::git) fn parse(text: &str, host: &str, port: u16) -> Result<Self, String> {
        let name = if port == super::PORT { host.to_owned() } else { format!("[{host}]:{port}") };
        let mut known = Self::default();
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (marker, rest) = match line.strip_prefix('@') {
                Some(rest) => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
                None => ("", line),
            };
            let mut words = rest.split_whitespace();
            let (Some(hosts), Some(kind), Some(data)) = (words.next(), words.next(), words.next())
            else {
                if marker == "revoked" {
                    return Err(unread(line));
                }
                continue;
            };
            let key = PublicKey::from_openssh(&format!("{kind} {data}"));
            match (marker, key) {
                ("revoked", Ok(key)) => known.revoked.push(key.key_data().clone()),
                ("revoked", Err(_)) => return Err(unread(line)),
                ("", Ok(key)) if names(hosts, &name) => known.keys.push(key.key_data().clone()),
                // `@cert-authority` lines are skipped, because certificates are not supported; so are unknown markers.
                _ => {}
            }
        }
        Ok(known)
    }

    /// Checks a key.
    pub(super) fn judge(&self, key: &KeyData) -> HostKey {
        if self.revoked.contains(key) {
            HostKey::Revoked
        } else if self.keys.contains(key) {
            HostKey::Known
        } else if self.keys.is_empty() {
            HostKey::Unknown
        } else {
            HostKey::Mismatch
        }
    }

    /// The types of the known keys.
    pub(in crate::git) fn algorithms(&self) -> Vec<Algorithm> {
        self.keys.iter().map(KeyData::algorithm).collect()
    }
}

fn unread(line: &str) -> String {
    format!("knownhosts: a revoked key cannot be read: {:?}", crate::git::error::shown(line))
}

/// Whether the first field of a line matches a host: a hash of its name, or patterns of which one
/// matches and no negated one does.
fn names(field: &str, name: &str) -> bool {
    if let Some(hashed) = field.strip_prefix("|1|") {
        let Some((salt, hash)) = hashed.split_once('|') else { return false };
        let (Ok(salt), Ok(hash)) = (BASE64_STANDARD.decode(salt), BASE64_STANDARD.decode(hash))
        else {
            return false;
        };
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &salt);
        return hmac::verify(&key, name.as_bytes(), &hash).is_ok();
    }
    let mut found = false;
    for pattern in field.split(',') {
        match pattern.strip_prefix('!') {
            Some(negated) if fits(negated.as_bytes(), name.as_bytes()) => return false,
            Some(_) => {}
            None => found |= fits(pattern.as_bytes(), name.as_bytes()),
        }
    }
    found
}

/// Matches `*` and `?`, ignoring case, in linear time: it backtracks to the last star only.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut of) = (0, 0);
    let mut star = None;
    while let Some(byte) = name.get(at) {
        match pattern.get(of) {
            Some(b'*') => {
                star = Some((of, at));
                of += 1;
            }
            Some(sign) if *sign == b'?' || sign.eq_ignore_ascii_case(byte) => {
                at += 1;
                of += 1;
            }
            _ => match star {
                Some((from, taken)) => {
                    star = Some((from, taken + 1));
                    at = taken + 1;
                    of = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern.get(of..).is_some_and(|rest| rest.iter().all(|sign| *sign == b'*'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl";
    const TWO: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAfuCHKVTjquxvt6CM6tdG4SLp1Btn/nOeHHE5UOzRdf";

    fn key(text: &str) -> KeyData {
        PublicKey::from_openssh(text).expect("a key").key_data().clone()
    }

    #[test]
    fn lines_are_found_by_name_pattern_port_and_hash() {
        let key_of_salt = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, b"salt");
        let hash = hmac::sign(&key_of_salt, b"hidden.test");
        let hashed =
            format!("|1|{}|{}", BASE64_STANDARD.encode("salt"), BASE64_STANDARD.encode(hash));
        let text = format!(
            "# comment\n\na.test,b.test {ONE}\n*.wild.test,!bad.wild.test {ONE}\n\
             [ported.test]:2222 {ONE}\n{hashed} {ONE}\n@cert-authority c.test {ONE}\n"
        );
        let cases = [
            ("a.test", 22, HostKey::Known),
            ("B.test", 22, HostKey::Known),
            ("x.wild.test", 22, HostKey::Known),
            ("bad.wild.test", 22, HostKey::Unknown),
            ("ported.test", 2222, HostKey::Known),
            ("ported.test", 22, HostKey::Unknown),
            ("a.test", 2222, HostKey::Unknown),
            ("hidden.test", 22, HostKey::Known),
            ("other.test", 22, HostKey::Unknown),
            ("c.test", 22, HostKey::Unknown),
        ];
        let known = |host: &str, port: u16| KnownHosts::parse(&text, host, port).expect("read");
        for (host, port, expected) in cases {
            assert_eq!(known(host, port).judge(&key(ONE)), expected, "{host}:{port}");
        }
        assert_eq!(known("a.test", 22).judge(&key(TWO)), HostKey::Mismatch);
    }

    #[test]
    fn a_marker_never_makes_a_key_trusted() {
        let cases = [
            (format!("a.test {ONE}\n@revoked a.test {ONE}\n"), Some(HostKey::Revoked)),
            // A revoked key is revoked, whichever host the line names, in any order.
            (format!("@revoked other.test {ONE}\na.test {ONE}\n"), Some(HostKey::Revoked)),
            (format!("@revokd a.test {ONE}\n"), Some(HostKey::Unknown)),
            (format!("@cert-authority *.test {ONE}\n"), Some(HostKey::Unknown)),
            (format!("a.test {ONE}\n@revoked a.test ssh-ed25519 AAAA\n"), None),
            (format!("a.test {ONE}\n@revoked a.test\n"), None),
        ];
        for (text, expected) in cases {
            let found = KnownHosts::parse(&text, "a.test", 22).map(|known| known.judge(&key(ONE)));
            assert_eq!(found.ok(), expected, "{text}");
        }
    }
}
