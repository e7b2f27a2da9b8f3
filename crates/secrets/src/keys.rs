//! Master keys, and the decryption of a document's data key.
//!
//! A document's data key is encrypted once for each master key. With several key groups it is split by
//! Shamir's scheme, one share for each group, and any key of a group decrypts its share.

mod age;
mod aws;
mod azure;
mod failure;
mod gcp;
mod pgp;
mod shamir;
mod vault;

pub use age::AgeIdentities;
pub use failure::DataKeyError;
pub use pgp::PgpKeys;
pub use vault::vault_token;

pub(crate) use aws::{AwsKmsKey, aws_keys};
pub(crate) use azure::{AzureKey, azure_credentials};
pub(crate) use gcp::{GcpKey, SCOPES as GCP_SCOPES};
pub(crate) use vault::VaultKey;

use failure::{GroupFailure, KeyFailure};

use crate::cipher::DataKey;
pub use sluice_base::need::MasterKey;
use sluice_base::redacted::Redacted;

/// Master keys for the same share of the data key.
pub(crate) type KeyGroup = Vec<MasterKey>;

/// The order of attempts: keys that need no network first.
const fn rank(key: &MasterKey) -> u8 {
    match key {
        MasterKey::Age { .. } => 0,
        MasterKey::Pgp { .. } => 1,
        _ => 2,
    }
}

/// Why a master key did not decrypt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoKey {
    /// It failed; the message contains no secrets.
    Failed(String),
    /// It is remote and has not been asked yet; decryption can be repeated after asking it.
    Unasked,
}

impl From<String> for NoKey {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
    }
}

/// Decrypts with master keys.
pub trait KeyService: Sync {
    /// Decrypts the data key, or the share of it, of a master key.
    fn decrypt(&self, key: &MasterKey) -> Result<DataKey, NoKey>;
}

/// The data key of a document.
pub(crate) fn data_key(
    groups: &[KeyGroup],
    threshold: usize,
    keys: &dyn KeyService,
) -> Result<DataKey, DataKeyError> {
    let mut parts = Vec::new();
    let mut results = Vec::new();
    for group in groups {
        match part(group, keys) {
            Ok(part) => {
                parts.push(part);
                results.push(None);
            }
            Err(Some(failure)) => results.push(Some(failure)),
            Err(None) => return Err(DataKeyError::Unasked),
        }
    }
    let failed = |results| DataKeyError::Keys { threshold, groups: results };
    if groups.len() > 1 {
        if parts.len() < threshold {
            return Err(failed(results));
        }
        let parts: Vec<&[u8]> = parts.iter().map(|part| part.expose().as_slice()).collect();
        return shamir::combine(&parts).map(Redacted::new).map_err(DataKeyError::Shamir);
    }
    parts.pop().ok_or_else(|| failed(results))
}

/// The result of the first key of a group that decrypts. Keys that need no network come first. No key is tried after
/// one that has yet to be asked; that is not a failure.
fn part(group: &[MasterKey], keys: &dyn KeyService) -> Result<DataKey, Option<GroupFailure>> {
    let mut ordered: Vec<&MasterKey> = group.iter().collect();
    ordered.sort_by_key(|key| rank(key));
    let mut failures = Vec::new();
    for key in ordered {
        match keys.decrypt(key) {
            Ok(part) => return Ok(part),
            Err(NoKey::Failed(reason)) => failures.push(KeyFailure { name: key.name(), reason }),
            Err(NoKey::Unasked) => return Err(None),
        }
    }
    Err(Some(GroupFailure(failures)))
}
