//! Signatures by SSH keys.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use russh::keys::ssh_key::{Algorithm, Error, HashAlg, PublicKey, SshSig};

/// The namespace of git's signatures.
const NAMESPACE: &str = "git";

/// The fingerprint of the signing key, if it is trusted.
pub(super) fn verify(
    signature: &str,
    payload: &[u8],
    trusted: &[String],
    now: Timestamp,
) -> Result<String, String> {
    let signature = SshSig::from_pem(signature)
        .map_err(|error| format!("unable to unarmor SSH signature: {error}"))?;
    // The library accepts both; OpenSSH and Flux do not.
    if matches!(signature.signature().algorithm(), Algorithm::Rsa { hash: None } | Algorithm::Dsa) {
        return Err("unsupported signature algorithm: SHA-1".to_owned());
    }
    let mut unread = None;
    let mut is_read = false;
    let mut problems: Vec<String> = Vec::new();
    for text in trusted {
        let keys = match parse(text, now) {
            Ok(keys) => keys,
            Err(error) => {
                unread.get_or_insert(error);
                continue;
            }
        };
        is_read = true;
        for key in keys {
            let problem = match key.verify(NAMESPACE, payload, &signature) {
                Ok(()) => return Ok(key.fingerprint(HashAlg::Sha256).to_string()),
                Err(Error::PublicKey) => "public key does not match".to_owned(),
                Err(Error::Namespace) => "namespace does not match".to_owned(),
                Err(_) => "ssh: signature did not verify".to_owned(),
            };
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
    }
    match unread {
        Some(error) if !is_read => Err(error),
        _ => {
            problems.insert(0, "no matching key".to_owned());
            let problems = problems.join("\n");
            Err(format!(
                "unable to verify payload with any of the given authorized keys: {problems}"
            ))
        }
    }
}

/// The keys of a text in the format of `authorized_keys`, without those that may not sign: certificate authorities
/// and expired ones. As in Flux, one invalid line invalidates the whole text: it is more likely a mistake than
/// intended.
fn parse(text: &str, now: Timestamp) -> Result<Vec<PublicKey>, String> {
    let mut keys = Vec::new();
    let lines = text.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (options, key) = read(line).ok_or_else(|| {
            "unable to parse authorized keys: unable to parse authorized key: ssh: no key found"
                .to_owned()
        })?;
        if options.iter().all(|option| permits(option, now)) {
            keys.push(key);
        }
    }
    Ok(keys)
}

/// Parses a line: options, if there are some, and the key.
fn read(line: &str) -> Option<(Vec<&str>, PublicKey)> {
    if let Ok(key) = PublicKey::from_openssh(line) {
        return Some((Vec::new(), key));
    }
    let mut options = Vec::new();
    let mut is_quoted = false;
    let mut start = 0;
    let mut before = ' ';
    for (at, sign) in line.char_indices() {
        match sign {
            '"' if before != '\\' => is_quoted = !is_quoted,
            ',' | ' ' | '\t' if !is_quoted => {
                options.push(line.get(start..at)?);
                start = at + 1;
                if sign != ',' {
                    let key = PublicKey::from_openssh(line.get(start..)?.trim_start()).ok()?;
                    return Some((options, key));
                }
            }
            _ => {}
        }
        before = sign;
    }
    None
}

/// Whether an option allows the key to sign.
fn permits(option: &str, now: Timestamp) -> bool {
    let (name, value) = option.split_once('=').unwrap_or((option, ""));
    if name.eq_ignore_ascii_case("expiry-time") {
        return expiry(value.trim_matches('"')).is_some_and(|end| now < end);
    }
    !name.eq_ignore_ascii_case("cert-authority")
}

/// Parses `YYYYMMDD[HHMM[SS]]`, in UTC with or without a `Z`.
fn expiry(text: &str) -> Option<Timestamp> {
    let text = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    if !matches!(text.len(), 8 | 12 | 14) {
        return None;
    }
    let time = DateTime::strptime("%Y%m%d%H%M%S", format!("{text:0<14}")).ok()?;
    time.to_zoned(TimeZone::UTC).ok().map(|time| time.timestamp())
}
