//! Signatures by SSH keys.

use russh::keys::ssh_key::authorized_keys::Entry;
use russh::keys::ssh_key::{Error, HashAlg, PublicKey, SshSig};

/// What git signs for.
const NAMESPACE: &str = "git";

/// The fingerprint of the key that signed, if it is one of the given.
pub(super) fn verify(
    signature: &str,
    payload: &[u8],
    trusted: &[String],
) -> Result<String, String> {
    let signature = SshSig::from_pem(signature)
        .map_err(|error| format!("unable to unarmor SSH signature: {error}"))?;
    let mut unread = None;
    let mut is_read = false;
    let mut problems: Vec<String> = Vec::new();
    for text in trusted {
        let keys = match parse(text) {
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

/// One line that cannot be read spoils the text it is in, as in Flux: it is rather a mistake than a wish.
fn parse(text: &str) -> Result<Vec<PublicKey>, String> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.parse::<Entry>().map(|entry| entry.public_key().clone()))
        .collect::<Result<_, _>>()
        .map_err(|_| {
            "unable to parse authorized keys: unable to parse authorized key: ssh: no key found"
                .to_owned()
        })
}
