//! The keys of a decryption Secret.

use std::sync::Arc;

use crate::cipher::DataKey;
use crate::keys::{AgeIdentities, Http, KeyService, MasterKey, PgpKeys, VaultKey};
use crate::redacted::Redacted;

/// Why an entry of a decryption Secret could not be taken in. The caller knows the Secret's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to import '{entry}' data from sops decryption Secret: {reason}")]
pub struct ImportError {
    /// The entry.
    pub entry: String,
    /// Why not.
    pub reason: String,
}

/// The keys that a Kustomization decrypts with.
#[derive(Clone, Default)]
pub struct KeyRing {
    age: AgeIdentities,
    pgp: PgpKeys,
    vault_token: Option<Redacted<String>>,
    http: Option<Arc<dyn Http>>,
    remote: Option<Arc<dyn KeyService + Send + Sync>>,
}

impl std::fmt::Debug for KeyRing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("KeyRing").finish_non_exhaustive()
    }
}

impl KeyRing {
    /// Takes in an entry of the Secret that a Kustomization names: `*.agekey`, `*.asc` and
    /// `sops.vault-token`. All other entries are passed over.
    pub fn import(&mut self, entry: &str, value: &[u8]) -> Result<(), ImportError> {
        let result = match extension(entry) {
            "asc" => self.pgp.import(value),
            _ if entry == "sops.vault-token" => {
                let token = String::from_utf8_lossy(value).trim().to_owned();
                self.vault_token = (!token.is_empty()).then_some(Redacted::new(token));
                Ok(())
            }
            _ => return self.import_age(entry, value),
        };
        result.map_err(|reason| ImportError { entry: entry.to_owned(), reason })
    }

    /// Takes in an entry of the Secret that serves every Kustomization without one: `*.agekey` only.
    pub fn import_age(&mut self, entry: &str, value: &[u8]) -> Result<(), ImportError> {
        if extension(entry) != "agekey" {
            return Ok(());
        }
        let result = self.age.import(&String::from_utf8_lossy(value));
        result.map_err(|reason| ImportError { entry: entry.to_owned(), reason })
    }

    /// Asks Vault over this, where a token for it was taken in.
    #[must_use]
    pub fn with_http(mut self, http: Arc<dyn Http>) -> Self {
        self.http = Some(http);
        self
    }

    /// Hands keys that the ring itself cannot use to a service.
    #[must_use]
    pub fn with_remote(mut self, remote: Arc<dyn KeyService + Send + Sync>) -> Self {
        self.remote = Some(remote);
        self
    }
}

/// What stands behind the last dot of a name.
fn extension(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

impl KeyService for KeyRing {
    fn decrypt(&self, key: &MasterKey) -> Result<DataKey, String> {
        if let MasterKey::Vault { address, engine_path, key_name, enc } = key
            && let (Some(token), Some(http)) = (&self.vault_token, &self.http)
        {
            return VaultKey { address, engine_path, key_name, enc }.decrypt(token, http.as_ref());
        }
        match (key, &self.remote) {
            (MasterKey::Age { enc, .. }, _) => self.age.decrypt(enc),
            (MasterKey::Pgp { enc, .. }, _) => self.pgp.decrypt(enc),
            (key, Some(remote)) => remote.decrypt(key),
            (_, None) => Err("no credentials for this kind of key".to_owned()),
        }
    }
}
