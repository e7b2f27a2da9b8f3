//! Master keys, and how they give the key of a document.
//!
//! A document's data key is encrypted once for each master key. With several groups of keys it is
//! split by Shamir's scheme, one part for each group, and any key of a group gives its part.

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

/// Keys that all give the same part of the data key.
pub(crate) type KeyGroup = Vec<MasterKey>;

/// A master key with the data key that it encrypts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum MasterKey {
    /// An age recipient.
    Age {
        /// Who can decrypt it.
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
        /// The key's name.
        arn: String,
        /// The role to take on, if any.
        role: String,
        /// What the encryption is bound to.
        context: Vec<(String, String)>,
        /// The encrypted data key in base64.
        enc: String,
    },
    /// A key of Google Cloud KMS.
    GcpKms {
        /// The key's name.
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
        /// Where the engine is mounted.
        engine_path: String,
        /// The key's name.
        key_name: String,
        /// The encrypted data key in Vault's form.
        enc: String,
    },
    /// A key of Huawei Cloud KMS, which is known by name only.
    HuaweiKms {
        /// The key's name.
        key_id: String,
    },
}

impl MasterKey {
    /// What the key is called in messages.
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

    /// Keys that need no network are tried first.
    const fn rank(&self) -> u8 {
        match self {
            Self::Age { .. } => 0,
            Self::Pgp { .. } => 1,
            _ => 2,
        }
    }
}

/// Why a master key gave nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoKey {
    /// It cannot be used; why, without secrets.
    Failed(String),
    /// It is far away and has not been asked yet: whoever asks it can come again.
    Unasked,
}

impl From<String> for NoKey {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
    }
}

/// Whoever can decrypt with master keys.
pub trait KeyService: Sync {
    /// The data key, or the part of it, that a master key encrypts.
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

/// What the first key of a group gives that gives anything. Keys that need no network come first, and
/// behind one that has yet to be asked none is tried; then there is no failure to tell.
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
