//! age: X25519 identities, and files encrypted to them.

mod bech32;
mod file;

use x25519_dalek::{X25519_BASEPOINT_BYTES, x25519};

use crate::cipher::DataKey;
use sluice_base::redacted::Redacted;

/// An X25519 identity.
#[derive(Debug, Clone)]
struct Identity {
    secret: Redacted<[u8; 32]>,
    public: [u8; 32],
}

/// The age identities.
#[derive(Debug, Clone, Default)]
pub struct AgeIdentities(Vec<Identity>);

impl AgeIdentities {
    /// Imports the identities of a key file: one per line, with comments and empty lines.
    pub fn import(&mut self, text: &str) -> Result<(), String> {
        let wrong = |problem: &str| format!("failed to parse and add to age identities: {problem}");
        for line in text.lines() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            self.0.push(Identity::parse(line).map_err(wrong)?);
        }
        Ok(())
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn decrypt(&self, armored: &str) -> Result<DataKey, String> {
        if self.0.is_empty() {
            return Err("failed to load age identities".to_owned());
        }
        let wrong = |problem: String| {
            format!("failed to create reader for decrypting sops data key with age: {problem}")
        };
        let file = file::dearmor(armored).map_err(|problem| wrong(problem.to_owned()))?;
        let header = file::Header::read(&file)
            .map_err(|problem| wrong(format!("failed to read header: {problem}")))?;
        let file_key = self.0.iter().find_map(|identity| header.file_key(identity));
        let Some(file_key) = file_key else {
            return Err(wrong(if self.0.len() == 1 {
                "identity did not match any of the recipients: incorrect identity for recipient \
                 block"
                    .to_owned()
            } else {
                "no identity matched any of the recipients".to_owned()
            }));
        };
        header.check(&file_key).map_err(|problem| wrong(problem.to_owned()))?;
        file::open_payload(header.payload, &file_key).map(Redacted::new).map_err(|problem| {
            format!("failed to copy age decrypted data into bytes.Buffer: {problem}")
        })
    }
}

impl Identity {
    fn parse(line: &str) -> Result<Self, &'static str> {
        if line.starts_with("AGE-PLUGIN-") {
            return Err("identities of age plugins are not supported");
        }
        if line.starts_with("AGE-SECRET-KEY-PQ-1") {
            return Err("post-quantum age identities are not supported");
        }
        if !line.starts_with("AGE-SECRET-KEY-1") {
            return Err("unknown identity type");
        }
        let decoded = bech32::decode(line, "age-secret-key-").map(Redacted::new);
        let secret = decoded
            .and_then(|bytes| <[u8; 32]>::try_from(bytes.expose().as_slice()).ok())
            .map(Redacted::new)
            .ok_or("malformed secret key")?;
        Ok(Self { public: x25519(*secret.expose(), X25519_BASEPOINT_BYTES), secret })
    }

    /// The shared secret with an ephemeral key; `None` for a degenerate one.
    fn shared(&self, ephemeral: [u8; 32]) -> Option<Redacted<[u8; 32]>> {
        let shared = Redacted::new(x25519(*self.secret.expose(), ephemeral));
        (*shared.expose() != [0; 32]).then_some(shared)
    }
}

#[cfg(test)]
mod tests {
    use super::AgeIdentities;

    #[test]
    fn identities_that_cannot_be_read_are_refused_without_showing_them() {
        for line in [
            "AGE-SECRET-KEY-1",
            "AGE-SECRET-KEY-1QQQQ",
            "AGE-PLUGIN-X-1AA",
            "AGE-SECRET-KEY-PQ-1A",
            "ssh-ed25519 AAAA",
            " AGE-SECRET-KEY-1",
            "ä",
        ] {
            let error = AgeIdentities::default().import(line).expect_err(line);
            assert!(!error.contains("QQQQ"), "{error}");
        }
        let mut none = AgeIdentities::default();
        none.import("# a comment\n\n").expect("it holds nothing");
        assert!(none.is_empty());
        none.decrypt("x").expect_err("there is no identity");
    }
}
