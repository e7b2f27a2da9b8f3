//! Service accounts of this cluster, and who they are to clouds and vaults: what `sluice-cloud` and
//! `sluice-secrets` leave to whoever knows Kubernetes.

mod allowed;
pub mod table;

use std::collections::BTreeMap;

use k8s_openapi::api::authentication::v1::{
    TokenRequest, TokenRequestSpec, TokenReview, TokenReviewSpec,
};
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::api::{Api, PostParams};
use kube::{Client, ResourceExt as _};
use serde_json::Value;
use sluice_cloud::aws::AwsKeys;
use sluice_cloud::{
    AccountError, AccountName, Accounts, Answering, CloudError, CloudIdentity, CloudService,
};
use sluice_runtime::key::Key;
use sluice_secrets::flux::{AzureVault, Given, Identity, Wanted};
use sluice_secrets::{Redacted, vault_token};

use crate::client::api_message;

pub use allowed::{Allowed, ControllerIdentity, Purpose};

/// The service accounts that an API server knows.
pub struct ClusterAccounts(pub Client);

impl ClusterAccounts {
    fn api(&self, account: &AccountName) -> Api<ServiceAccount> {
        Api::namespaced(self.0.clone(), &account.namespace)
    }
}

impl Accounts for ClusterAccounts {
    fn annotations<'a>(
        &'a self,
        account: &'a AccountName,
    ) -> Answering<'a, BTreeMap<String, String>, AccountError> {
        Box::pin(async move {
            let found = self.api(account).get(&account.name).await;
            found.map(|found| found.annotations().clone()).map_err(|error| {
                let is_missing = matches!(&error, kube::Error::Api(status) if status.code == 404);
                // Upstream asks its cache, which names the kind where an API server names the resource.
                let missing = format!("ServiceAccount \"{}\" not found", account.name);
                let message = if is_missing { missing } else { api_message(&error) };
                AccountError { is_missing, message }
            })
        })
    }

    fn token<'a>(
        &'a self,
        account: &'a AccountName,
        audiences: &'a [String],
    ) -> Answering<'a, Redacted<String>, String> {
        Box::pin(async move {
            let spec =
                TokenRequestSpec { audiences: audiences.to_vec(), ..TokenRequestSpec::default() };
            let request = TokenRequest { spec, ..TokenRequest::default() };
            let api = self.api(account);
            let params = PostParams::default();
            let answer = api.create_token_request(&account.name, &params, &request).await;
            let answer = answer.map_err(|error| api_message(&error))?;
            Ok(answer.status.map(|status| status.token).unwrap_or_default().into())
        })
    }

    fn is_taken<'a>(&'a self, token: &'a str) -> Answering<'a, bool, String> {
        Box::pin(async move {
            let spec =
                TokenReviewSpec { token: Some(token.to_owned()), ..TokenReviewSpec::default() };
            let review = TokenReview { spec, ..TokenReview::default() };
            let api: Api<TokenReview> = Api::all(self.0.clone());
            let answer = api.create(&PostParams::default(), &review).await;
            let answer = answer.map_err(|error| api_message(&error))?;
            Ok(answer.status.and_then(|status| status.authenticated).unwrap_or(false))
        })
    }
}

/// Somebody who decrypts: whom clouds may know, and vaults that the operator trusts.
pub(crate) struct Decrypting {
    pub(crate) cloud: CloudIdentity,
    /// The cluster with the operator's list of vaults.
    pub(crate) client: Client,
    /// `--sops-vault-configmap`: which Vaults are trusted, and where to log in there.
    pub(crate) vaults: Option<Key>,
}

impl Decrypting {
    fn check_vault(&self, vault: AzureVault<'_>) -> Result<(), CloudError> {
        let service = CloudService::AzureKeyVault;
        self.cloud.check_host(service, "https", vault.host, vault.port)
    }

    async fn vault(&self, address: &str) -> Result<Redacted<String>, String> {
        let path = self.login_path(address).await?;
        let identity = self.cloud.clone().for_audiences(vec![address.to_owned()]);
        let (token, account) = identity.cluster_token().await.map_err(|problem| {
            format!("failed to issue Kubernetes token for Vault authentication: {problem}")
        })?;
        let role = format!("{}_{}", account.namespace, account.name);
        let http = self.cloud.asking().http;
        vault_token(address, &path, &role, token.value.expose(), http).await
    }

    /// Where to log in at a Vault, if the operator trusts it.
    async fn login_path(&self, address: &str) -> Result<String, String> {
        let Some(config) = &self.vaults else {
            return Err(format!("there is no token for Vault '{address}'"));
        };
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), &config.namespace);
        let map = api.get(&config.name).await.map_err(|error| {
            format!("failed to get Vault ConfigMap '{config}': {}", api_message(&error))
        })?;
        let text = map.data.unwrap_or_default().remove("config.yaml").ok_or_else(|| {
            format!("Vault ConfigMap '{config}' is missing the 'config.yaml' key")
        })?;
        let value = sluice_yaml::to_json(text.as_bytes(), sluice_yaml::Duplicates::LastWins);
        let value = value.map_err(|error| {
            format!("failed to parse 'config.yaml' in Vault ConfigMap '{config}': {error}")
        })?;
        let instances =
            value.as_ref().and_then(|value| value.get("instances")).and_then(Value::as_array);
        let path = instances.into_iter().flatten().rev().find_map(|instance| {
            let is_meant = instance.get("address")?.as_str()? == address;
            is_meant.then(|| instance.get("loginPath")?.as_str())
        });
        path.flatten().filter(|path| !path.is_empty()).map(str::to_owned).ok_or_else(|| {
            format!(
                "no Vault login path configured for address '{address}' in ConfigMap '{config}'"
            )
        })
    }
}

impl Identity for Decrypting {
    fn aws_keys<'a>(&'a self, region: &'a str) -> Given<'a, AwsKeys> {
        Box::pin(async move { Ok(self.cloud.aws(region, "").await?.value) })
    }

    fn token<'a>(&'a self, wanted: Wanted<'a>) -> Given<'a, Redacted<String>> {
        Box::pin(async move {
            match wanted {
                Wanted::Azure(vault) => {
                    self.check_vault(vault)?;
                    Ok(self.cloud.azure(vault.scope).await?.value)
                }
                Wanted::AzureMachine(client, vault) => {
                    self.check_vault(vault)?;
                    Ok(self.cloud.azure_machine(client, vault.scope).await?.value)
                }
                Wanted::Gcp => Ok(self.cloud.gcp().await?.value),
                Wanted::Vault(address) => self.vault(address).await,
            }
        })
    }
}
