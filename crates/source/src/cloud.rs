//! Credentials that the surroundings offer: what a pod or a machine of a cloud is given without being told.
//!
//! The environment is handed in by name and value; only what it names is read or asked.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, AwsCredential};
use reqwest::Client;
use serde::Deserialize;

use crate::bucket::wire::{Wire, settings};
use crate::git::AwsCredentials;
use crate::http::HttpError;

/// Where machines of Azure ask who they are.
const AZURE_MACHINE: &str = "http://169.254.169.254";
const AZURE_AUTHORITY: &str = "https://login.microsoftonline.com";
/// How long a service for tokens may take.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The variables of the environment that clouds look at.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Surroundings(pub BTreeMap<String, String>);

/// Names, never values.
impl fmt::Debug for Surroundings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

/// Why there are no credentials.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CloudError(String);

impl From<reqwest::Error> for CloudError {
    fn from(error: reqwest::Error) -> Self {
        Self(HttpError::from(error).to_string())
    }
}

#[derive(Deserialize)]
struct Token {
    access_token: String,
}

impl Surroundings {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Credentials of AWS: keys of the environment, a token of a service account, a pod or a machine.
    pub async fn aws(&self, client: &Client, region: &str) -> Result<AwsCredentials, CloudError> {
        let found = ambient_aws(&self.0, &Wire::new(client.clone()), region, "").await;
        let found = found.map_err(|error| CloudError(crate::http::chain(&error)))?;
        Ok(AwsCredentials {
            access_key: found.key_id.clone(),
            secret_key: found.secret_key.clone(),
            session_token: found.token.clone().unwrap_or_default(),
        })
    }

    /// A token of Azure for a scope: of an application with its secret, of a service account, or of the
    /// machine.
    pub async fn azure_token(&self, client: &Client, scope: &str) -> Result<String, CloudError> {
        let id = self.get("AZURE_CLIENT_ID");
        let application = self.get("AZURE_TENANT_ID").zip(id);
        let secret = self.get("AZURE_CLIENT_SECRET");
        let file = self.get("AZURE_FEDERATED_TOKEN_FILE");
        let Some((tenant, id)) = application.filter(|_| secret.is_some() || file.is_some()) else {
            return self.machine_token(client, scope).await;
        };
        let mut form =
            vec![("client_id", id), ("grant_type", "client_credentials"), ("scope", scope)];
        let assertion;
        match (secret, file) {
            (Some(secret), _) => form.push(("client_secret", secret)),
            (None, Some(file)) => {
                let read = tokio::fs::read_to_string(file).await;
                assertion = read.map_err(|error| CloudError(format!("{file}: {error}")))?;
                let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
                form.push(("client_assertion_type", kind));
                form.push(("client_assertion", assertion.trim()));
            }
            (None, None) => {}
        }
        let body = crate::bucket::query(&form);
        let authority = self.get("AZURE_AUTHORITY_HOST").unwrap_or(AZURE_AUTHORITY);
        let url = format!("{}/{tenant}/oauth2/v2.0/token", authority.trim_end_matches('/'));
        let request = client
            .post(url)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body)
            .timeout(TIMEOUT);
        token(request).await
    }

    /// A token that the machine is given.
    async fn machine_token(&self, client: &Client, scope: &str) -> Result<String, CloudError> {
        let host = self.get("AZURE_POD_IDENTITY_AUTHORITY_HOST").unwrap_or(AZURE_MACHINE);
        let resource = scope.strip_suffix("/.default").unwrap_or(scope);
        let query = crate::bucket::query(&[
            ("api-version", "2018-02-01"),
            ("client_id", self.get("AZURE_CLIENT_ID").unwrap_or_default()),
            ("resource", resource),
        ]);
        let url = format!("{}/metadata/identity/oauth2/token?{query}", host.trim_end_matches('/'));
        token(client.get(url).header("metadata", "true").timeout(TIMEOUT)).await
    }
}

async fn token(request: reqwest::RequestBuilder) -> Result<String, CloudError> {
    let answer = request.send().await?;
    let status = answer.status();
    if !status.is_success() {
        return Err(CloudError(format!("the service for tokens answered {status}")));
    }
    let body = answer.bytes().await?;
    let token: Token = serde_json::from_slice(&body).map_err(|_| {
        CloudError("the service for tokens answered with something else".to_owned())
    })?;
    Ok(token.access_token)
}

/// What a pod or a machine of Amazon's is given.
pub(crate) async fn ambient_aws(
    environment: &BTreeMap<String, String>,
    wire: &Wire,
    region: &str,
    sts_endpoint: &str,
) -> Result<Arc<AwsCredential>, object_store::Error> {
    let mut builder = AmazonS3Builder::new();
    for (key, value) in settings::<AmazonS3ConfigKey>(environment, "AWS_") {
        builder = builder.with_config(key, value);
    }
    if !region.is_empty() {
        builder = builder.with_region(region);
    }
    if !sts_endpoint.is_empty()
        && let Ok(key) = "aws_endpoint_url_sts".parse()
    {
        builder = builder.with_config(key, sts_endpoint);
    }
    let store = builder
        // The library asks for a bucket; credentials do not depend on it.
        .with_bucket_name("any")
        .with_allow_http(true)
        .with_retry(Wire::retry())
        .with_http_connector(wire.clone())
        .build()?;
    store.credentials().get_credential().await
}
