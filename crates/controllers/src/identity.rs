//! Who a service account is to clouds, vaults and other clusters: a token of this cluster, and what it is
//! exchanged for there. See fluxcd/pkg/auth, whose annotations and words these are.

mod own;

use std::sync::Arc;

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::api::{Api, PostParams};
use kube::{Client, ResourceExt as _};
use serde_json::Value;
use sluice_runtime::key::Key;
use sluice_secrets::flux::{Given, Identity, Wanted};
use sluice_secrets::{AwsKeys, Http, Redacted, azure_token, gcp_token, vault_token};

use crate::client::api_message;

pub use own::{OwnIdentity, ReadFile};

/// Where a machine of Google Cloud tells about itself.
const GOOGLE_METADATA: &str = "http://169.254.169.254/computeMetadata/v1/";

/// A service account of this cluster.
#[derive(Clone)]
pub struct Account {
    /// The cluster.
    pub client: Client,
    /// How tokens are exchanged.
    pub web: Arc<dyn Http>,
    /// The service account.
    pub key: Key,
    /// Whether objects may name service accounts: `ObjectLevelWorkloadIdentity`.
    pub allowed: bool,
    /// Whether nobody named it and the operator's flag did.
    pub is_default: bool,
    /// `--sops-vault-configmap`: which Vaults are trusted, and where to log in there.
    pub vaults: Option<Key>,
}

impl Account {
    /// A token of this cluster for audiences; those of the API server where there are none.
    async fn cluster_token(&self, audiences: &[String]) -> Result<String, String> {
        if !self.allowed {
            return Err("ObjectLevelWorkloadIdentity feature gate is not enabled".to_owned());
        }
        let api: Api<ServiceAccount> = Api::namespaced(self.client.clone(), &self.key.namespace);
        let spec =
            TokenRequestSpec { audiences: audiences.to_vec(), ..TokenRequestSpec::default() };
        let request = TokenRequest { spec, ..TokenRequest::default() };
        let params = PostParams::default();
        let answer = api.create_token_request(&self.key.name, &params, &request);
        let answer = answer.await.map_err(|error| {
            let message = api_message(&error);
            format!(
                "failed to create kubernetes token for service account '{}': {message}",
                self.key
            )
        })?;
        Ok(answer.status.map(|status| status.token).unwrap_or_default())
    }

    async fn account(&self) -> Result<ServiceAccount, String> {
        let api: Api<ServiceAccount> = Api::namespaced(self.client.clone(), &self.key.namespace);
        api.get(&self.key.name).await.map_err(|error| {
            let missing = matches!(&error, kube::Error::Api(status) if status.code == 404);
            let message = if missing && self.is_default {
                "the specified default service account does not exist in the object namespace. your cluster is subject to multi-tenant workload identity lockdown, reach out to your cluster administrator for help".to_owned()
            } else {
                api_message(&error)
            };
            format!("failed to get service account '{}': {message}", self.key)
        })
    }

    fn identity_error(&self, problem: &str) -> String {
        format!(
            "failed to get provider identity from service account '{}' annotations: {problem}",
            self.key
        )
    }

    fn exchange_error(&self, problem: &str) -> String {
        format!(
            "failed to create provider access token for service account '{}': {problem}",
            self.key
        )
    }

    async fn aws(&self, region: &str) -> Result<AwsKeys, String> {
        let account = self.account().await?;
        let role = account.annotations().get("eks.amazonaws.com/role-arn").cloned();
        let role = role.unwrap_or_default();
        let is_role =
            role.starts_with("arn:aws") && role.contains(":iam::") && role.contains(":role/");
        if !is_role {
            return Err(self.identity_error(&format!(
                r"invalid eks.amazonaws.com/role-arn annotation: '{role}'. must match ^arn:aws[\w-]*:iam::[0-9]{{1,30}}:role/.{{1,200}}$"
            )));
        }
        let token = self.cluster_token(&["sts.amazonaws.com".to_owned()]).await?;
        let session = format!("{}.{}.{region}.fluxcd.io", self.key.name, self.key.namespace);
        AwsKeys::with_web_identity(&*self.web, region, &role, &session, &token)
            .await
            .map_err(|problem| self.exchange_error(&problem))
    }

    async fn azure(&self, scope: &str) -> Result<Redacted<String>, String> {
        let account = self.account().await?;
        let annotation = |key: &str, what: &str| {
            account.annotations().get(key).cloned().ok_or_else(|| {
                let problem =
                    format!("azure {what} ID is not set in the service account annotation {key}");
                self.identity_error(&problem)
            })
        };
        let tenant = annotation("azure.workload.identity/tenant-id", "tenant")?;
        let client = annotation("azure.workload.identity/client-id", "client")?;
        let token = self.cluster_token(&["api://AzureADTokenExchange".to_owned()]).await?;
        azure_token((&tenant, &client), scope, &token, &*self.web)
            .await
            .map_err(|problem| self.exchange_error(&problem))
    }

    async fn gcp(&self) -> Result<Redacted<String>, String> {
        let account = self.account().await?;
        let annotation = |key: &str| account.annotations().get(key).cloned().unwrap_or_default();
        let email = annotation("iam.gke.io/gcp-service-account");
        let provider = annotation("gcp.auth.fluxcd.io/workload-identity-provider");
        if !email.is_empty() && !email.ends_with(".iam.gserviceaccount.com") {
            return Err(self.identity_error(&format!(
                r"invalid iam.gke.io/gcp-service-account annotation: '{email}'. must match ^[a-zA-Z0-9-]{{1,100}}@[a-zA-Z0-9-]{{1,100}}\.iam\.gserviceaccount\.com$"
            )));
        }
        // Outside of GKE the provider is the audience of both tokens; in it, the pool of the project is.
        let (audience, pool) = if provider.is_empty() {
            let about = |what: &'static str, path: &'static str| async move {
                metadata(&*self.web, path).await.map_err(|problem| {
                    format!("failed to get provider audience: failed to get GKE cluster {what} from the metadata service: {problem}")
                })
            };
            let project = about("project ID", "project/project-id").await?;
            let location = about("location", "instance/attributes/cluster-location").await?;
            let name = about("name", "instance/attributes/cluster-name").await?;
            let pool = format!("{project}.svc.id.goog");
            let cluster = format!(
                "https://container.googleapis.com/v1/projects/{project}/locations/{location}/clusters/{name}"
            );
            (format!("identitynamespace:{pool}:{cluster}"), pool)
        } else {
            let audience = format!("//iam.googleapis.com/{provider}");
            (audience.clone(), audience)
        };
        let token = self.cluster_token(&[pool]).await?;
        gcp_token(&audience, &email, &token, &*self.web)
            .await
            .map_err(|problem| self.exchange_error(&problem))
    }

    async fn vault(&self, address: &str) -> Result<Redacted<String>, String> {
        let path = login_path(&self.client, self.vaults.as_ref(), address).await?;
        let issue = |problem| {
            format!("failed to issue Kubernetes token for Vault authentication: {problem}")
        };
        self.account().await.map_err(issue)?;
        let token = self.cluster_token(&[address.to_owned()]).await.map_err(issue)?;
        let role = format!("{}_{}", self.key.namespace, self.key.name);
        vault_token(address, &path, &role, &token, &*self.web).await
    }
}

/// Where to log in at a Vault, if the operator trusts it.
pub async fn login_path(
    client: &Client,
    config: Option<&Key>,
    address: &str,
) -> Result<String, String> {
    let Some(config) = config else {
        return Err(format!("there is no token for Vault '{address}'"));
    };
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), &config.namespace);
    let map = api.get(&config.name).await.map_err(|error| {
        format!("failed to get Vault ConfigMap '{config}': {}", api_message(&error))
    })?;
    let text =
        map.data.unwrap_or_default().remove("config.yaml").ok_or_else(|| {
            format!("Vault ConfigMap '{config}' is missing the 'config.yaml' key")
        })?;
    let value = sluice_yaml::to_json(text.as_bytes(), sluice_yaml::Duplicates::LastWins);
    let value = value.map_err(|error| {
        format!("failed to parse 'config.yaml' in Vault ConfigMap '{config}': {error}")
    })?;
    let instances =
        value.as_ref().and_then(|value| value.get("instances")).and_then(Value::as_array);
    let path = instances.into_iter().flatten().rev().find_map(|instance| {
        (instance.get("address")?.as_str()? == address).then(|| instance.get("loginPath")?.as_str())
    });
    path.flatten().filter(|path| !path.is_empty()).map(str::to_owned).ok_or_else(|| {
        format!("no Vault login path configured for address '{address}' in ConfigMap '{config}'")
    })
}

/// What a machine of Google Cloud says about itself.
async fn metadata(web: &dyn Http, path: &str) -> Result<String, String> {
    let request = http::Request::get(format!("{GOOGLE_METADATA}{path}"))
        .header("Metadata-Flavor", "Google")
        .body(Vec::new())
        .map_err(|error| error.to_string())?;
    let response = web.send(request).await?;
    let value = String::from_utf8_lossy(response.body()).trim().to_owned();
    match (response.status().is_success(), value.is_empty()) {
        (true, false) => Ok(value),
        (true, true) => Err("empty value".to_owned()),
        (false, _) => Err(response.status().to_string()),
    }
}

impl Identity for Account {
    fn aws_keys<'a>(&'a self, region: &'a str) -> Given<'a, AwsKeys> {
        Box::pin(self.aws(region))
    }

    fn token<'a>(&'a self, wanted: Wanted<'a>) -> Given<'a, Redacted<String>> {
        Box::pin(async move {
            match wanted {
                Wanted::Azure(scope) => self.azure(scope).await,
                Wanted::Gcp => self.gcp().await,
                Wanted::Vault(address) => self.vault(address).await,
                Wanted::Cluster(audiences) => {
                    self.account().await?;
                    self.cluster_token(audiences).await.map(Redacted::new)
                }
            }
        })
    }
}
