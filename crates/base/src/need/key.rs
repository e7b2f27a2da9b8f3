//! Master keys of SOPS documents: what has to be known to ask a key service for a data key.

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
}
