//! The keys of a decryption Secret, and of identities that need no Secret.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

use sluice_base::redacted::Redacted;
use sluice_cloud::Asking;
use sluice_cloud::aws::AwsKeys;
use sluice_cloud::azure::AzureCredentials;
use sluice_cloud::gcp::GcpCredentials;

use crate::cipher::DataKey;
use crate::keys::{
    AgeIdentities, AwsKmsKey, AzureKey, GCP_SCOPES, GcpKey, KeyService, MasterKey, NoKey, PgpKeys,
    VaultKey, aws_keys, azure_credentials,
};

/// Why an entry of a decryption Secret was rejected. The caller knows the Secret's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to import '{entry}' data from sops decryption Secret: {reason}")]
pub struct ImportError {
    /// The entry.
    pub entry: String,
    /// The cause.
    pub reason: String,
}

/// Credentials that an identity provides if a Secret has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted<'w> {
    /// An Azure token for a vault.
    Azure(AzureVault<'w>),
    /// The same for a managed identity of the machine, which a Secret names.
    AzureMachine(&'w str, AzureVault<'w>),
    /// A Google Cloud token.
    Gcp,
    /// A token of the Vault at this address.
    Vault(&'w str),
}

/// An Azure vault that a document names: an identity checks its host before it sends a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AzureVault<'w> {
    /// The scope of its tokens.
    pub scope: &'w str,
    /// Its host, which is reached by https.
    pub host: &'w str,
    /// Its port, if it has one.
    pub port: Option<u16>,
}

/// Pending credentials of an identity.
pub type Given<'a, T> = Pin<Box<dyn Future<Output = Result<T, String>> + Send + 'a>>;

/// The identity of an object's service account, or of the controller, at clouds and vaults.
pub trait Identity: Send + Sync {
    /// AWS keys for a region.
    fn aws_keys<'a>(&'a self, region: &'a str) -> Given<'a, AwsKeys>;

    /// A token.
    fn token<'a>(&'a self, wanted: Wanted<'a>) -> Given<'a, Redacted<String>>;
}

/// The keys of a Kustomization.
#[derive(Default)]
pub struct KeyRing {
    age: AgeIdentities,
    pgp: PgpKeys,
    vault_token: Option<Redacted<String>>,
    aws: Option<AwsKeys>,
    gcp: Option<GcpCredentials>,
    azure: Option<AzureCredentials>,
    /// Cached results of local keys: a document is both checked and decrypted, and others have the same key.
    near: Mutex<BTreeMap<MasterKey, Result<DataKey, String>>>,
}

impl std::fmt::Debug for KeyRing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("KeyRing").finish_non_exhaustive()
    }
}

impl KeyRing {
    /// Imports an entry of a Kustomization's decryption Secret: `*.agekey`, `*.asc`, `sops.vault-token`,
    /// `sops.aws-kms`, `sops.gcp-kms` and `sops.azure-kv`. Others are skipped.
    pub fn import(&mut self, entry: &str, value: &[u8]) -> Result<(), ImportError> {
        let result = match entry {
            "sops.vault-token" => {
                let token = String::from_utf8_lossy(value).trim().to_owned();
                self.vault_token = (!token.is_empty()).then_some(Redacted::new(token));
                Ok(())
            }
            "sops.aws-kms" => aws_keys(value).map(|keys| self.aws = Some(keys)),
            "sops.gcp-kms" => GcpCredentials::read(value)
                .map(|found| self.gcp = Some(found))
                .map_err(String::from),
            "sops.azure-kv" => azure_credentials(value).map(|found| self.azure = Some(found)),
            _ if extension(entry) == "asc" => {
                self.near = Mutex::default();
                self.pgp.import(value)
            }
            _ => return self.import_age(entry, value),
        };
        result.map_err(|reason| ImportError { entry: entry.to_owned(), reason })
    }

    /// Imports an entry of the default decryption Secret: `*.agekey` only.
    pub fn import_age(&mut self, entry: &str, value: &[u8]) -> Result<(), ImportError> {
        if extension(entry) != "agekey" {
            return Ok(());
        }
        self.near = Mutex::default();
        let result = self.age.import(&String::from_utf8_lossy(value));
        result.map_err(|reason| ImportError { entry: entry.to_owned(), reason })
    }

    /// Asks the key service of a master key for the data key, with the credentials of the Secret or else with
    /// those of an identity.
    pub async fn ask(
        &self,
        key: &MasterKey,
        asking: &Asking<'_>,
        identity: &dyn Identity,
    ) -> Result<DataKey, String> {
        let http = asking.http;
        match key {
            MasterKey::AwsKms { arn, role, context, enc } => {
                let key = AwsKmsKey { arn, role, context, enc };
                let region = key.region()?;
                match &self.aws {
                    Some(keys) => key.decrypt(keys, asking).await,
                    None => key.decrypt(&identity.aws_keys(region).await?, asking).await,
                }
            }
            MasterKey::GcpKms { resource_id, enc } => {
                let token = match &self.gcp {
                    Some(credentials) => credentials.token(asking, &GCP_SCOPES).await?.value,
                    None => identity.token(Wanted::Gcp).await?,
                };
                GcpKey { resource_id, enc }.decrypt(&token, http).await
            }
            MasterKey::AzureKeyVault { vault_url, name, version, enc } => {
                let key = AzureKey { vault_url, name, version, enc };
                let scope = key.scope()?;
                let (host, port) = key.host();
                let vault = AzureVault { scope: &scope, host: &host, port };
                let token = match &self.azure {
                    Some(credentials) => match credentials.machine_identity() {
                        Some(client) => identity.token(Wanted::AzureMachine(client, vault)).await?,
                        None => credentials.token(asking, &scope).await?.value,
                    },
                    None => identity.token(Wanted::Azure(vault)).await?,
                };
                key.decrypt(&token, http).await
            }
            MasterKey::Vault { address, engine_path, key_name, enc } => {
                let key = VaultKey { address, engine_path, key_name, enc };
                match &self.vault_token {
                    Some(token) => key.decrypt(token, http).await,
                    None => key.decrypt(&identity.token(Wanted::Vault(address)).await?, http).await,
                }
            }
            MasterKey::Age { enc, .. } => self.age.decrypt(enc),
            MasterKey::Pgp { enc, .. } => self.pgp.decrypt(enc),
            MasterKey::HuaweiKms { .. } => Err("no credentials for this kind of key".to_owned()),
        }
    }
}

/// The extension of a name.
fn extension(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

impl KeyService for KeyRing {
    fn decrypt(&self, key: &MasterKey) -> Result<DataKey, NoKey> {
        if matches!(key, MasterKey::Age { .. } | MasterKey::Pgp { .. }) {
            let mut near = self.near.lock().unwrap_or_else(PoisonError::into_inner);
            let answer = near.entry(key.clone()).or_insert_with(|| match key {
                MasterKey::Age { enc, .. } => self.age.decrypt(enc),
                MasterKey::Pgp { enc, .. } => self.pgp.decrypt(enc),
                _ => Err("no key at hand".to_owned()),
            });
            return Ok(answer.clone()?);
        }
        Err(NoKey::Unasked)
    }
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};
    use serde_json::json;
    use sluice_base::redacted::Redacted;
    use sluice_cloud::aws::AwsKeys;
    use sluice_cloud::{Answer, Asking, Environment, Http};

    use sluice_base::need::Need;
    use sluice_kustomize::Answers;
    use sluice_kustomize::flux::{Decryption as _, Undecrypted};

    use super::{Given, Identity, KeyRing, Wanted};
    use crate::flux::{BuildDecryption, OnBrokenMac};
    use crate::testing::{at_once, seal};

    /// A Vault with the same key for everything.
    struct Vault;

    impl Http for Vault {
        fn send(&self, request: Request<Vec<u8>>) -> Answer<'_> {
            let is_right = request.headers()["x-vault-token"] == "right";
            let body = if is_right {
                r#"{"data":{"plaintext":"BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="}}"#
            } else {
                "{}"
            };
            let response = Response::builder()
                .status(if is_right { 200 } else { 403 })
                .body(body.as_bytes().to_vec());
            Box::pin(std::future::ready(Ok(response.expect("the status is one"))))
        }
    }

    /// An identity with a token for one Vault.
    struct Known;

    impl Identity for Known {
        fn aws_keys<'a>(&'a self, region: &'a str) -> Given<'a, AwsKeys> {
            Box::pin(std::future::ready(Err(format!("nobody in {region}"))))
        }

        fn token<'a>(&'a self, wanted: Wanted<'a>) -> Given<'a, Redacted<String>> {
            let token = match wanted {
                Wanted::Vault("https://vault.test") => Ok(Redacted::new("right".to_owned())),
                other => Err(format!("nobody for {other:?}")),
            };
            Box::pin(std::future::ready(token))
        }
    }

    #[test]
    fn a_key_far_away_is_asked_between_two_tries() {
        let key = Redacted::new(vec![7; 32]);
        let vault = |address: &str| json!({"vault_address": address, "engine_path": "sops", "key_name": "k", "created_at": "2026-01-01T00:00:00Z", "enc": "vault:v1:x"});
        let document = |vaults: &[&str]| {
            let keys: Vec<_> = vaults.iter().map(|address| vault(address)).collect();
            json!({"a": seal(b"plain", &key, "a:", "str"), "sops": {"hc_vault": keys,
                "lastmodified": "2026-01-01T00:00:00Z", "mac": "x", "version": "3.13.3"}})
            .to_string()
        };
        let now = "2026-01-01T00:00:00Z".parse().expect("a moment");
        let environment = Environment::default();
        let asking = Asking { http: &Vault, environment: &environment, now };
        let ring = KeyRing::default();
        // Decrypts with the answers so far; what is missing is asked, and then it is tried again.
        let step = |text: &str, answers: &mut Answers| {
            let mut object = serde_json::from_str(text).expect("JSON");
            let mut run = BuildDecryption::new(&ring, answers, OnBrokenMac::Report);
            let needs = match run.object(&mut object) {
                Err(Undecrypted::Needs(needs)) => needs,
                done => return Some(done.map(|()| object)),
            };
            for need in needs {
                let Need::DataKey(key) = need else { panic!("{need:?} is no data key") };
                let answer = at_once(ring.ask(&key, &asking, &Known));
                assert!(answers.data_keys.insert(key, answer).is_none(), "asked once");
            }
            None
        };
        let text = document(&["https://other.test", "https://vault.test"]);
        let mut answers = Answers::default();
        // One key after the other: the second is not asked where the first is enough.
        assert_eq!(step(&text, &mut answers), None);
        assert_eq!(answers.data_keys.len(), 1);
        assert_eq!(step(&text, &mut answers), None);
        let plain = step(&text, &mut answers).expect("all is answered").expect("it is decrypted");
        assert_eq!(plain["a"], "plain");

        let text = document(&["https://other.test"]);
        let mut answers = Answers::default();
        assert_eq!(step(&text, &mut answers), None);
        let Some(Err(Undecrypted::Failed(error))) = step(&text, &mut answers) else {
            panic!("the Vault is not known");
        };
        assert!(error.contains("- | nobody for Vault(\"https://other.test\")"), "{error}");
    }
}
