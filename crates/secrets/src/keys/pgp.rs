//! OpenPGP secret keys, and messages encrypted to them.

use std::io::Read as _;

use pgp::composed::{
    DecryptionOptions, Deserializable as _, Message, SignedPublicKey, SignedSecretKey, TheRing,
};
use pgp::types::Password;

use crate::cipher::DataKey;
use sluice_base::redacted::Redacted;

/// The maximum plaintext, larger than any data key or share.
const MAX_PLAIN: u64 = 64 * 1024;

/// The OpenPGP secret keys.
#[derive(Clone, Default)]
pub struct PgpKeys(Vec<SignedSecretKey>);

impl std::fmt::Debug for PgpKeys {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "PgpKeys({})", self.0.len())
    }
}

impl PgpKeys {
    /// Imports the keys of an armored export. Public keys are skipped.
    pub fn import(&mut self, armored: &[u8]) -> Result<(), String> {
        let wrong = |error: pgp::errors::Error| {
            format!("failed to import armored key data into GnuPG keyring: {error}")
        };
        let before = self.0.len();
        let secret = SignedSecretKey::from_armor_many(armored).and_then(|(keys, _)| {
            for key in keys {
                self.0.push(key?);
            }
            Ok(())
        });
        match secret {
            Ok(()) => Ok(()),
            Err(error) => {
                self.0.truncate(before);
                let is_public = SignedPublicKey::from_armor_single(armored).is_ok();
                if is_public { Ok(()) } else { Err(wrong(error)) }
            }
        }
    }

    pub(crate) fn decrypt(&self, armored: &str) -> Result<DataKey, String> {
        let wrong = |problem: String| {
            format!(
                "could not decrypt data key with PGP key: GnuPG binary error: failed to decrypt \
                 sops data key with pgp: {problem}"
            )
        };
        let plain = self.open(armored).map_err(|error| wrong(error.to_string()))?;
        if plain.is_empty() {
            return Err(wrong("zero bytes returned".to_owned()));
        }
        Ok(Redacted::new(plain))
    }

    fn open(&self, armored: &str) -> pgp::errors::Result<Vec<u8>> {
        let (message, _) = Message::from_string(armored)?;
        let no_password = Password::empty();
        let ring = TheRing {
            secret_keys: self.0.iter().collect(),
            key_passwords: vec![&no_password],
            decrypt_options: DecryptionOptions::new().enable_gnupg_aead(),
            ..TheRing::default()
        };
        let (mut message, _) = message.decrypt_the_ring(ring, true)?;
        if message.is_compressed() {
            message = message.decompress()?;
        }
        let mut plain = Vec::new();
        message.take(MAX_PLAIN).read_to_end(&mut plain)?;
        Ok(plain)
    }
}
