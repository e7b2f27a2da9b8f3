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
use sluice_base::redacted::Redacted;

/// Master keys for the same share of the data key.
pub(crate) type KeyGroup = Vec<MasterKey>;

/// A master key with the encrypted data key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum MasterKey {
    /// An age recipient.
    Age {
        /// The recipient.
        recipient: String,
        /// The encrypted data key, armored.
        enc: String,
    },
    /// An OpenPGP key.
    Pgp {
        /// The key's fingerprint.
        fingerprint: String,
        /// The encrypted data key, armored.
        enc: String,
    },
    /// A key of AWS KMS.
    AwsKms {
        /// The key's ARN.
        arn: String,
        /// The role to assume, if any.
        role: String,
        /// The encryption context.
        context: Vec<(String, String)>,
        /// The encrypted data key in base64.
        enc: String,
    },
    /// A key of Google Cloud KMS.
    GcpKms {
        /// The key's resource id.
        resource_id: String,
        /// The encrypted data key in base64.
        enc: String,
    },
    /// A key of Azure Key Vault.
    AzureKeyVault {
        /// The vault.
        vault_url: String,
        /// The key's name.
        name: String,
        /// The key's version.
        version: String,
        /// The encrypted data key in base64.
        enc: String,
    },
    /// A key of the transit engine of HashiCorp Vault or OpenBao.
    Vault {
        /// The server.
        address: String,
        /// The mount path of the engine.
        engine_path: String,
        /// The key's name.
        key_name: String,
        /// The encrypted data key in Vault's format.
        enc: String,
    },
    /// A key of Huawei Cloud KMS, which is not supported.
    HuaweiKms {
        /// The key's id.
        key_id: String,
    },
}

impl MasterKey {
    /// The key's name in messages.
    pub fn name(&self) -> String {
        match self {
            Self::Age { recipient, .. } => recipient.clone(),
            Self::Pgp { fingerprint, .. } => fingerprint.clone(),
            Self::AwsKms { arn, role, context, .. } => {
                let pairs: Vec<String> =
                    context.iter().map(|(name, value)| format!("{name}:{value}")).collect();
                let role = if role.is_empty() { String::new() } else { format!("+{role}") };
                let context =
                    if pairs.is_empty() { String::new() } else { format!("|{}", pairs.join(",")) };
                format!("{arn}{role}{context}")
            }
            Self::GcpKms { resource_id, .. } => resource_id.clone(),
            Self::AzureKeyVault { vault_url, name, version, .. } => {
                format!("{vault_url}/keys/{name}/{version}")
            }
            Self::Vault { address, engine_path, key_name, .. } => {
                format!("{address}/v1/{engine_path}/keys/{key_name}")
            }
            Self::HuaweiKms { key_id } => key_id.clone(),
        }
    }

    /// The order of attempts: keys that need no network first.
    const fn rank(&self) -> u8 {
        match self {
            Self::Age { .. } => 0,
            Self::Pgp { .. } => 1,
            _ => 2,
        }
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
    ordered.sort_by_key(|key| key.rank());
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
